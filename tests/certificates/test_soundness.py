"""A certificate is a promise: nothing inside the ball changes the vote, in float64 or in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsClassifier

from holdfast.certificates import (
    L1,
    L2,
    Ellipsoid,
    LInf,
    choose,
    exact_1nn,
    knn_lower,
)
from tests.certificates.brute_force import NORMS, engines, make_problem, random_problem, votes


def elect(distances, labels, k, C, ties):
    """The vote from distances (floats or fractions), by sorting."""
    nearest = sorted(range(len(labels)), key=lambda i: (distances[i], i))[:k]
    tally = [sum(labels[i] == c for i in nearest) for c in range(C)]
    tied = [c for c in range(C) if tally[c] == max(tally)]
    return tied[0] if ties == "lowest" else next(labels[i] for i in nearest if labels[i] in tied)


def exact_line_radius(problem, u, y) -> Fraction | None:
    """The exact radius on a line (d = 1), in fractions: the vote between and at all crossings of distances."""
    U = [[Fraction(v) for v in row] for row in problem.points.tolist()]
    t = [Fraction(v) for v in problem.T[:, 0].tolist()]
    q = [Fraction(v) for v in u.tolist()]
    n, labels = len(U), problem.labels.tolist()

    def wins(step):
        moved = [a + b * step for a, b in zip(q, t, strict=True)]
        squares = [sum((a - b) ** 2 for a, b in zip(row, moved, strict=True)) for row in U]
        return elect(squares, labels, problem.n_neighbors, problem.n_classes, problem.ties) == y

    crossings = set()
    for l in range(n):
        for j in range(l):
            slope = sum((a - b) * c for a, b, c in zip(U[l], U[j], t, strict=True))
            if slope != 0:
                level = sum((a - b) * (a + b - 2 * c) for a, b, c in zip(U[l], U[j], q, strict=True)) / 2
                crossings.add(level / slope)
    radii = sorted({abs(c) for c in crossings})
    edges = [Fraction(0), *radii]
    for near, far in zip(edges, [*radii, edges[-1] + 2], strict=True):
        if not (wins(near) and wins(-near)):
            return near
        middle = (near + far) / 2
        if not (wins(middle) and wins(-middle)):
            return near
    return None


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 5),
    C=st.sampled_from([2, 3]),
    trouble=st.sampled_from(["none", "duplicates", "near-ties", "offset", "grid"]),
    ties=st.sampled_from(["nearest", "lowest"]),
)
def test_against_rational_arithmetic(seed, k, C, trouble, ties):
    rng = np.random.default_rng(seed)
    n, r = k + 4, int(rng.integers(1, 3))
    U, labels = rng.normal(size=(n, r)), rng.integers(C, size=n)
    labels[:C] = range(C)
    u = rng.normal(size=(1, r))
    if trouble == "duplicates":
        U[n // 2 :] = U[: n - n // 2]
    elif trouble == "near-ties":
        U = u + np.where(rng.random(size=(n, r)) < 0.5, -1.0, 1.0) * (1 + rng.integers(-3, 4, size=(n, r)) * 2.0**-52)
    elif trouble == "offset":
        U, u = U + 1e6, u + 1e6
    elif trouble == "grid":
        U, u = np.round(U), np.round(u)
    problem = make_problem(U, labels, rng.normal(size=(r, 1)), n_neighbors=k, n_classes=C, ties=ties)
    y = votes(problem, u)
    exact = exact_line_radius(problem, u[0], y[0])
    for name in ("exact_knn", "knn_lower", *(["exact_1nn"] if k == 1 else [])):
        lower, upper, _ = engines[name](problem, u, y, n_jobs=1)
        assert not np.isnan(lower[0])
        if exact is not None:
            assert Fraction(lower[0]) <= exact
            assert np.isinf(upper[0]) or Fraction(upper[0]) >= exact * (1 - Fraction(1, 10**12))
        else:
            assert np.isinf(upper[0])


def shipped(problem, X, L, how):
    """Predictions of inputs X, as a classifier may compute them in float64."""
    U, labels, k, C = problem.points, problem.labels.tolist(), problem.n_neighbors, problem.n_classes
    moved = X @ L.T
    if how == "sklearn":
        return KNeighborsClassifier(k, algorithm="brute").fit(U, problem.labels).predict(moved)
    if how == "gemm":
        D = (moved**2).sum(1)[:, None] - 2 * moved @ U.T + (U**2).sum(1)
    elif how == "pairwise":
        D = euclidean_distances(moved, U)
    else:
        return votes(problem, moved)
    return np.array([elect(row, labels, k, C, problem.ties) for row in D])


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6, 1e12])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("norm", NORMS)
def test_no_float64_evaluation_breaks_a_certificate(norm, k, condition):
    broken = 0
    for seed in range(3):
        rng = np.random.default_rng([seed, k])
        d = 4
        values = np.geomspace(1.0, 1.0 / np.sqrt(condition), d)
        L = values[:, None] * np.linalg.qr(rng.normal(size=(d, d)))[0]
        X, labels = rng.normal(size=(40, d)), rng.integers(3, size=40)
        X[20:30] = X[:10] + 1e-9 * rng.normal(size=(10, d))  # nearly equal points
        problem = make_problem(X @ L.T, labels, L, n_neighbors=k, norm=NORMS[norm](d), ties="lowest")
        x = np.vstack([rng.normal(size=(4, d)), X[:2] + 1e-8])
        y = votes(problem, x @ L.T)
        for engine in (choose(problem), knn_lower):
            lower, upper, delta = engine(problem, x @ L.T, y, inputs=x, n_jobs=1)
            finite = np.isfinite(lower) & (lower > 0)
            reached = np.isfinite(upper) & finite
            # Towards the witness, and anywhere, to a hair inside the certified ball.
            aim = np.where(reached[:, None], delta, 0.0) * (lower / np.where(reached, upper, 1.0))[:, None]
            step = rng.normal(size=(10, *x.shape)) * rng.choice([1e-3, 1.0, 1e3], size=d)
            step /= problem.norm.lengths(step.reshape(-1, d)).reshape(10, -1, 1)
            step = np.concatenate([aim[None], step * np.where(finite, lower, 0.0)[:, None]]) * (1 - 1e-15)
            for how in ("gemm", "sklearn", "pairwise", "direct"):
                got = shipped(problem, (x + step).reshape(-1, d), L, how).reshape(11, -1)
                broken += np.sum((got != y) & finite)
    assert broken == 0


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("k", "C"), [(1, 2), (3, 2), (2, 3), (4, 3), (5, 5), (9, 3)])
def test_attacks_inside_the_ball_change_nothing(norm, k, C):
    rng = np.random.default_rng([k, C])
    problem, *_ = random_problem(rng, k, C, "random", norm, n=60)
    x = rng.normal(size=(6, 3))
    queries = x @ problem.T.T
    y = votes(problem, queries)
    for engine in (choose(problem), knn_lower):
        lower = engine(problem, queries, y, inputs=x, n_jobs=1).lower
        steps = rng.normal(size=(6, 400, 3))
        # Half of them at random, half towards points of other classes.
        for i in range(6):
            others = problem.points[problem.labels != y[i]]
            aim = others[rng.integers(len(others), size=200)] - queries[i]
            steps[i, :200] = aim @ np.linalg.pinv(problem.T).T
        lengths = problem.norm.lengths(steps.reshape(-1, 3)).reshape(6, 400, 1)
        steps *= lower[:, None, None] * (1 - 1e-12) / lengths
        moved = queries[:, None] + steps @ problem.T.T
        assert (votes(problem, moved.reshape(-1, 3)).reshape(6, 400) == y[:, None]).all()


@pytest.mark.parametrize("norm", [L2(), LInf(), L1(), Ellipsoid(np.array([[2.0, 0.5], [0.5, 1.0]]))])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_dense_grid_in_the_plane(norm, k):
    rng = np.random.default_rng(k)
    T = rng.normal(size=(2, 2))
    problem = make_problem(rng.normal(size=(25, 2)) @ T.T, rng.integers(3, size=25), T, n_neighbors=k, norm=norm)
    x = rng.normal(size=(2, 2)) * 0.5
    y = votes(problem, x @ T.T)
    lower, upper, _ = choose(problem)(problem, x @ T.T, y, n_jobs=1)
    below = knn_lower(problem, x @ T.T, y, n_jobs=1).lower
    side = np.linspace(-1, 1, 401)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for i in range(2):
        steps = grid * 1.6 * (upper[i] if np.isfinite(upper[i]) else 3.0)
        lost = votes(problem, (x[i] + steps) @ T.T) != y[i]
        seen = norm.lengths(steps[lost]).min() if lost.any() else np.inf
        assert below[i] <= lower[i] * (1 + 1e-12)
        assert lower[i] <= seen
        if norm.quadratic or k == 1:
            assert lower[i] >= upper[i] * (1 - 1e-6)
            assert seen <= upper[i] * 1.05


def test_digits_exact_radii_equal_an_independent_solver():
    from quadprog import solve_qp
    from sklearn.datasets import load_digits

    X, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    L = np.linalg.qr(rng.normal(size=(64, 64)))[0] * np.linspace(0.5, 2, 64)
    U, codes = X[:300] @ L.T, labels[:300]
    problem = make_problem(U, codes, L)
    queries = X[300:310] @ L.T
    y = votes(problem, queries)
    lower, upper, _ = exact_1nn(problem, queries, y, n_jobs=1)
    for t, u in enumerate(queries):
        P, best = U[codes == y[t]], np.inf
        for l in U[codes != y[t]]:
            A, c = (l - P) @ L, 0.5 * np.einsum("ij,ij->i", l - P, l + P - 2 * u)
            if np.max(c / np.linalg.norm(A, axis=1)) < best:
                try:
                    best = min(best, np.sqrt(2 * solve_qp(np.eye(64), np.zeros(64), A.T.copy(), c)[1]))
                except ValueError:  # no such point
                    continue
        assert lower[t] == pytest.approx(best, rel=1e-9)
        assert upper[t] == pytest.approx(best, rel=1e-8)
