"""Lemmas E1 to E3: one neighbour. Any multipliers certify, and what is left out is left out soundly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.certificates import NeighborProblem, exact_1nn
from tests.certificates.brute_force import votes
from tests.certificates.lemmas.code import Rounding, certified_radius, out_of_reach, ruled_out, safe_radius
from tests.certificates.lemmas.oracles import least_move

NO_ROUNDING = Rounding(0.0, 1.0, 0.0, 0.0)


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["random", "optimal and off", "dependent", "huge"]))
def test_e2_any_multipliers_certify(seed, kind):
    """However the solver went wrong: multipliers at random, rows that depend on each other, enormous ones."""
    rng = np.random.default_rng(seed)
    s = 4
    A, c = rng.normal(size=(s, s)), rng.normal(size=s) + 0.5
    if kind == "dependent":
        A[2], A[3] = A[0] + A[1], A[0] * (1 + 1e-12)
    truth = least_move(A, c, "l2")
    multipliers = rng.random(s) * (rng.random(s) < 0.7)
    if kind == "optimal and off":
        multipliers = np.maximum(np.linalg.lstsq(A @ A.T, np.maximum(c, 0), rcond=None)[0], 0)
    elif kind == "huge":
        multipliers *= 10.0 ** rng.uniform(-30, 30, s)
    assert certified_radius(A, c, multipliers, NO_ROUNDING) <= truth * (1 + 1e-9) + 1e-12


def test_e2_the_right_multipliers_certify_all():
    A, c = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([3.0, 8.0])
    multipliers = np.linalg.solve(A @ A.T, c)
    assert certified_radius(A, c, multipliers, NO_ROUNDING) == pytest.approx(5.0, rel=1e-12)


def enumerated(problem, u, y) -> float:
    """``min_l ρ_l`` with every l and every row."""
    U, P = problem.points, problem.points[problem.labels == y]
    best = np.inf
    for l in U[problem.labels != y]:
        A, c = (l - P) @ problem.T, 0.5 * np.einsum("ij,ij->i", l - P, l + P - 2 * u)
        if np.max(c / np.linalg.norm(A, axis=1)) < best:  # only to save time: one row is a relaxation of all
            best = min(best, least_move(A, c, "l2"))
    return best


@pytest.mark.parametrize("kind", ["clusters", "lattice", "far impostors", "rank 2"])
def test_e3_screening_loses_no_impostor(kind):
    """Cases in which the nearest impostor is not the one that counts."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        U, labels = rng.normal(size=(80, 4)), rng.integers(3, size=80)
        T = rng.normal(size=(4, 4))
        if kind == "clusters":
            U += 3 * labels[:, None]
        elif kind == "lattice":
            U = np.round(2 * U) + 1e-3 * rng.normal(size=U.shape)
        elif kind == "far impostors":
            U[labels != 0] *= 10.0 ** rng.uniform(0, 2, size=(np.sum(labels != 0), 1))
        elif kind == "rank 2":  # moves reach two directions only: near impostors may be out of reach
            T = rng.normal(size=(4, 2)) @ rng.normal(size=(2, 4))
        problem = NeighborProblem(U, labels, T)
        queries = U[:3] + 0.1 * rng.normal(size=(3, 4))
        y = votes(problem, queries)
        lower = exact_1nn(problem, queries, y, n_jobs=1).lower
        for u, label, radius in zip(queries, y, lower, strict=True):
            exact = enumerated(problem, u, label)
            if exact < 1e3:
                assert radius == pytest.approx(exact, rel=1e-7)
            assert radius <= exact * (1 + 1e-9)


@given(seed=st.integers(0, 10**6), kappa=st.sampled_from([0.0, 1e-13, 1e-3]), size=st.sampled_from([1e-40, 1.0, 1e40]))
def test_e3_what_is_ruled_out_has_a_bound_beyond_the_best(seed, kappa, size):
    """The two tests that need no bound agree with the bounds, and rule out nearly as many."""
    rng = np.random.default_rng(seed)
    rounding = Rounding(kappa, size * 10.0 ** rng.uniform(0, 2), rng.random(), kappa * size * rng.random())
    lipschitz, nearest = 10.0 ** rng.uniform(-2, 2), (size * rng.random()) ** 2
    best = size * 10.0 ** rng.uniform(-3, 3)

    def by_distance(d2):
        slope = lipschitz * (np.sqrt(d2) + np.sqrt(nearest))
        return safe_radius(0.5 * (d2 - nearest), slope, rounding)

    far = out_of_reach(lipschitz, nearest, rounding, best)
    assert by_distance(far) >= best
    assert by_distance(far * (1 - 1e-6)) < best

    V, D = size * rng.normal(size=(4, 3)), size**2 * np.append(5.0 * rng.random(), np.sort(rng.random(3)))
    lengths = np.linalg.norm(V[0] - V[1:], axis=1)
    bound = max(safe_radius(0.5 * (D[0] - d2), a, rounding) for d2, a in zip(D[1:], lengths, strict=True))
    for part in (0.5, 1 - 1e-6, 1 + 1e-6, 2.0):
        if bound > 0:
            assert ruled_out(V, D, rounding, part * bound) == (part < 1)


def test_e3_points_beyond_float64_are_not_ruled_out():
    none = Rounding(0.0, 0.0, 0.0, 0.0)
    assert not ruled_out(np.zeros((2, 2)), np.zeros(2), none, 1.0)
    assert not ruled_out(np.full((2, 2), 1e-170), np.array([1e-320, 0.0]), none, 1.0)
