"""Lemmas P1 to P3: any multipliers certify in L1 and L∞, the ball has the facets it should, few points suffice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from holdfast.certificates import Budget, exact_knn
from tests.certificates.brute_force import exact_radius, random_problem
from tests.certificates.lemmas.code import DUAL, Rounding, certified_by_sum, facet_of

EXACT = Rounding(0.0, 1.0, 1.0, 0.0)


def shortest(A, c, norm):
    """``min ‖δ‖ : A δ ≥ c`` by a linear program."""
    d = A.shape[1]
    if norm == "linf":
        one = np.ones((d, 1))
        rows = np.vstack([np.hstack([-A, 0 * A[:, :1]]), *(np.hstack([s * np.eye(d), -one]) for s in (1, -1))])
        cost, levels = np.r_[np.zeros(d), 1.0], np.r_[-c, np.zeros(2 * d)]
    else:
        rows = np.vstack([np.hstack([-A, 0 * A]), *(np.hstack([s * np.eye(d), -np.eye(d)]) for s in (1, -1))])
        cost, levels = np.r_[np.zeros(d), np.ones(d)], np.r_[-c, np.zeros(2 * d)]
    solved = linprog(cost, A_ub=rows, b_ub=levels, bounds=(None, None), method="highs")
    return solved.fun if solved.status == 0 else np.inf


@pytest.mark.parametrize("norm", ["linf", "l1"])
@given(seed=st.integers(0, 10**6), sigma=st.sampled_from([2.0**-4, 2.0**-12, 2.0**-20]), huge=st.booleans())
def test_p1_any_multipliers_certify(norm, seed, sigma, huge):
    rng = np.random.default_rng(seed)
    A, c = rng.normal(size=(4, 5)), rng.normal(size=4)
    weights = rng.exponential(size=4) * (rng.random(4) < 0.7) * (10.0 ** rng.integers(-9, 9, 4) if huge else 1.0)
    value = certified_by_sum(A, c, weights, DUAL[norm], sigma, EXACT)
    assert value <= shortest(A, c, norm) * (1 + 1e-9)
    total = weights.sum()
    if total > 0 and weights @ c > 0:  # and no less than their own halfspace, but for rounding
        row = weights @ A
        dual = np.abs(row).sum() if norm == "linf" else np.abs(row).max()
        np.testing.assert_allclose(value, weights @ c / dual, rtol=1e-6)


@pytest.mark.parametrize("norm", ["linf", "l1"])
@given(delta=st.lists(st.integers(-9, 9), min_size=4, max_size=4), top=st.integers(0, 40))
def test_p1_a_facet_is_passed_if_and_only_if_the_move_is_longer(norm, delta, top):
    sigma, delta = 2.0**-10, np.array(delta, float)
    z = np.r_[sigma * delta, float(top)]
    code, row, named = facet_of(z, DUAL[norm], sigma)
    size = np.abs(delta).max() if norm == "linf" else np.abs(delta).sum()
    assert (code != -2) == (size > top)
    if code != -2:
        np.testing.assert_array_equal(row, named)
        np.testing.assert_allclose(row @ z, top - size)


@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_p1_rounding_that_is_as_large_as_the_data_is_taken_off(norm):
    """With κ so large that ``½κ(S + gR)²`` matters, the certificate is short of the program by it."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        A, c = rng.normal(size=(3, 4)), rng.uniform(0.5, 1.5, 3)
        weights = rng.exponential(size=3)
        row, level = weights @ A / weights.sum(), weights @ c / weights.sum()
        dual = np.abs(row).sum() if norm == "linf" else np.abs(row).max()
        value = certified_by_sum(A, c, weights, DUAL[norm], 2.0**-10, Rounding(0.1, 1.0, 1.0, 0.05))
        assert dual * value <= level - 0.05 * (1 + value) ** 2 - 0.05 * value + 1e-9


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
def test_p3_a_verdict_needs_only_the_points_in_reach(norm):
    """Far points, and points of other classes that bring a majority for y with them, change no verdict."""
    for seed in range(8):
        problem, queries, _, y = random_problem(np.random.default_rng([seed, 5]), 3, 3, norm=norm, n=9)
        for t in range(2):
            exact = exact_radius(problem, queries[t], y[t])
            if not 0 < exact < 30:
                continue
            for share in (0.2, 0.9, 0.999, 1.001, 2.0):
                budget = Budget(at=share * exact)
                found = exact_knn(problem, queries[t : t + 1], y[t : t + 1], n_jobs=1, budget=budget)
                assert (found.lower[0] > share * exact) == (share < 1)
                assert (found.upper[0] <= share * exact) == (share > 1)
