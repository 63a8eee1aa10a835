"""Lemmas E1 to E3: one neighbour. Any multipliers certify, and what is left out is left out soundly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.certificates import NeighborProblem, exact_1nn
from tests.certificates.brute_force import votes
from tests.certificates.lemmas.code import Rounding, certified_radius
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
