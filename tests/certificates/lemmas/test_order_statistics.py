"""Lemmas B1 to B3: the order-statistic bound, against votes in rational numbers and any tie rule."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.certificates import NeighborProblem, exact_knn, knn_lower
from tests.certificates.brute_force import NORMS, random_problem, votes
from tests.certificates.lemmas.oracles import order_bound


def surely(distances, labels, k, y) -> bool:
    """Whether y has the most votes, alone, in every set of k points none of which is farther than one outside."""
    for B in combinations(range(len(labels)), k):
        if max(distances[i] for i in B) > min((distances[i] for i in range(len(labels)) if i not in B), default=0):
            continue
        tally = [sum(labels[i] == c for i in B) for c in set(labels)]
        own = sum(labels[i] == y for i in B)
        if own < max(tally) or tally.count(own) > 1:
            return False
    return True


def line_radius(points, labels, k, y):
    """The exact radius at 0 on a line, for votes that have to be sure; None if there is none."""
    crossings = {abs(Fraction(a + b, 2)) for a, b in combinations(points, 2) if a != b}
    edges = [Fraction(0), *sorted(crossings)]
    for near, far in zip(edges, [*edges[1:], edges[-1] + 2], strict=True):
        for step in (near, -near, (near + far) / 2, -(near + far) / 2):
            if not surely([abs(p - step) for p in points], labels, k, y):
                return near
    return None


def line_bound(points, labels, k, y, **options):
    epsilon = {
        l: [max(Fraction(abs(p) - abs(t)), Fraction(0)) * _slope(p, t) for t in _of(points, labels, y)]
        for l, p in enumerate(points)
        if labels[l] != y
    }
    return order_bound(epsilon, k, labels, **options)


def _of(points, labels, y):
    return [p for p, label in zip(points, labels, strict=True) if label == y]


def _slope(l, j):
    """``c / |a|`` is ``(l² − j²)/2 / |l − j|``; without the factor ``|l| − |j|``."""
    return Fraction(abs(l) + abs(j), 2 * abs(l - j)) if l != j else Fraction(0)


lines = st.integers(5, 7).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(-6, 6), min_size=n, max_size=n), st.lists(st.integers(0, 2), min_size=n, max_size=n)
    )
)


@given(line=lines, k=st.integers(1, 5))
def test_b1_below_every_vote_that_is_not_sure(line, k):
    points, labels = line
    if len(set(labels)) == 1:
        return
    for y in set(labels):
        exact = line_radius(points, labels, k, y)
        assert exact is None or line_bound(points, labels, k, y) <= exact


def test_b1_the_pigeonhole_term_cannot_be_larger():
    """One more than ``b_q`` is broken by some vote: the term is as large as it can be, and the test has teeth."""
    broken = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        points, labels = rng.integers(-6, 7, 7).tolist(), rng.integers(0, 3, 7).tolist()
        for y in set(labels) if len(set(labels)) > 1 else ():
            more = line_bound(points, labels, 3, y, rank=lambda q, k, C1: max(q, -(-(k - q) // C1), 1) + 1)
            exact = line_radius(points, labels, 3, y)
            broken += exact is not None and more > exact
    assert broken > 0


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("k", "C"), [(1, 2), (2, 2), (3, 3), (4, 3), (5, 4), (7, 2)])
def test_b1_the_code_computes_the_definition(norm, k, C):
    dual = {
        "l2": lambda a, d: np.linalg.norm(a),
        "linf": lambda a, d: np.abs(a).sum(),
        "l1": lambda a, d: np.abs(a).max(),
        "ellipsoid": lambda a, d: np.sqrt(a @ np.linalg.solve(NORMS["ellipsoid"](d).A0, a)),
    }[norm]
    problem, queries, _, prediction = random_problem(np.random.default_rng([k, C]), k, C, norm=norm, n=40)
    U, T, labels = problem.points, problem.T, problem.labels
    got = knn_lower(problem, queries, prediction, n_jobs=1).lower
    for u, y, bound in zip(queries, prediction, got, strict=True):
        epsilon = {
            l: [
                max(0.5 * (U[l] - U[j]) @ (U[l] + U[j] - 2 * u), 0) / dual((U[l] - U[j]) @ T, T.shape[1])
                for j in np.flatnonzero(labels == y)
            ]
            for l in np.flatnonzero(labels != y)
        }
        expected = order_bound(epsilon, k, labels)
        assert bound == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("k", [1, 3, 6])
def test_b2_shortcuts_only_lower_the_bound(k):
    """More targets than are looked at, and far more impostors than survive."""
    rng = np.random.default_rng(k)
    U = rng.normal(size=(900, 2))
    labels = (rng.random(900) < 0.4) + (rng.random(900) < 0.2)
    problem = NeighborProblem(U, labels, np.eye(2), n_neighbors=k)
    queries = rng.normal(size=(6, 2))
    y = votes(problem, queries)
    got = knn_lower(problem, queries, y, n_jobs=1).lower
    for u, label, bound in zip(queries, y, got, strict=True):
        P, N = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
        difference = U[N][:, None] - U[P][None]
        c = 0.5 * np.einsum("ljr,ljr->lj", difference, U[N][:, None] + U[P][None] - 2 * u)
        E = np.maximum(c, 0) / np.maximum(np.linalg.norm(difference, axis=2), 1e-300)
        expected = order_bound({l: row.tolist() for l, row in zip(N, E, strict=True)}, k, labels)
        assert bound <= expected * (1 + 1e-12)
        assert bound >= expected * (1 - 1e-9)  # here the nearest targets are enough


def test_b3_the_known_bound_is_unsound_for_even_k():
    """Two points of the class at −1 and −1.2, others at 2 and 100, k = 2: the vote falls at 0.4 or 0.5."""
    points, labels = np.array([[-1.0], [-1.2], [2.0], [100.0]]), np.array([1, 1, 0, 0])
    epsilon = np.array([[0.5, 0.4], [49.5, 49.4]])  # l by j: (l + j) / 2
    query = np.zeros((1, 1))
    for ties, radius in (("nearest", 0.5), ("lowest", 0.4)):
        problem = NeighborProblem(points, labels, np.eye(1), n_neighbors=2, ties=ties)
        y = votes(problem, query)
        assert y[0] == 1
        assert votes(problem, query + radius + 0.01)[0] == 0
        assert exact_knn(problem, query, y, n_jobs=1).lower[0] == pytest.approx(radius)
        assert knn_lower(problem, query, y, n_jobs=1).lower[0] == pytest.approx(0.4)
    # The known bound: the s-th smallest over l of the s-th largest over j.
    rounded_up, rounded_down = np.sort(np.sort(epsilon, axis=1)[:, ::-1][:, 1])[1], epsilon.max(axis=1).min()
    assert rounded_up == 49.4  # s = 2, above both radii
    assert rounded_down == 0.5  # s = 1, above the radius 0.4 of the rule "lowest"
