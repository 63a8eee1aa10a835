"""Every engine: ``lower ≤ exact ≤ upper``, whatever the norm, the metric, k and the classes."""

import numpy as np
import pytest

from holdfast.certificates import Budget, choose
from tests.certificates.brute_force import NORMS, engines, exact_radius, random_problem, votes
from tests.sizes import every_pair

METRICS = ["identity", "random", "rank-deficient", "zero"]
SIZES = [(1, 2), (1, 3), (1, 5), (2, 3), (3, 2), (3, 3), (4, 2), (5, 3)]  # k and the number of classes


def each(problem):
    return [name for name, engine in engines.items() if engine.handles(problem)]


def check(problem, queries, x, prediction, name, exact, **options):
    lower, upper, delta = engines[name](problem, queries, prediction, inputs=x, n_jobs=1, **options)
    assert not np.isnan(lower).any()
    assert (lower >= 0).all()
    assert (lower <= upper).all()
    assert np.all(lower <= exact + 1e-9 * (1 + np.where(np.isfinite(exact), exact, 0)) * np.isfinite(exact))
    assert np.all(exact <= upper + 1e-7 * (1 + np.where(np.isfinite(upper), upper, 0)))
    found = np.isfinite(upper)
    assert np.isnan(delta[~found]).all()
    assert (votes(problem, queries[found] + delta[found] @ problem.T.T) != prediction[found]).all()
    np.testing.assert_allclose(problem.norm.lengths(delta[found]), upper[found], rtol=1e-12)
    return lower, upper


def meets(lower, upper, exact):
    """Equal to 1e-9; moves much longer than the data lose digits, and no finite bound is above rounding."""
    near = exact < 30
    np.testing.assert_allclose(lower[near], exact[near], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(upper[near], exact[near], rtol=1e-8, atol=1e-9)
    far = np.isfinite(exact) & ~near
    np.testing.assert_allclose(lower[far], exact[far], rtol=1e-6)
    assert np.all(lower[~np.isfinite(exact)] > 1e4)
    assert np.all(np.isinf(upper[~np.isfinite(exact)]))


@pytest.mark.parametrize(("k", "kind", "C"), every_pair(range(1, 10), METRICS, [2, 3, 5]))
def test_bounds_enclose_the_exact_radius_quadratic(k, C, kind):
    for seed, norm in enumerate(("l2", "ellipsoid")):
        rng = np.random.default_rng([seed, k, C])
        n = max(k + 3, 8) if k < 8 else k + 2
        problem, queries, x, prediction = random_problem(rng, k, C, kind, norm, n=n)
        queries, x, prediction = queries[:2], x[:2], prediction[:2]
        exact = np.array([exact_radius(problem, u, y) for u, y in zip(queries, prediction, strict=True)])
        for name in each(problem):
            lower, upper = check(problem, queries, x, prediction, name, exact)
            if engines[name].tight and kind != "zero":
                meets(lower, upper, exact)


@pytest.mark.parametrize(
    ("k", "C", "kind", "norm"), [(*size, *rest) for size, *rest in every_pair(SIZES, METRICS, ["linf", "l1"])]
)
def test_bounds_enclose_the_exact_radius_linear(k, C, kind, norm):
    rng = np.random.default_rng([k, C])
    problem, queries, x, prediction = random_problem(rng, k, C, kind, norm, n=k + 4)
    queries, x, prediction = queries[:1], x[:1], prediction[:1]
    exact = np.array([exact_radius(problem, queries[0], prediction[0])])
    for name in each(problem):
        lower, upper = check(problem, queries, x, prediction, name, exact)
        if engines[name].tight and kind != "zero":
            np.testing.assert_allclose(lower, exact, rtol=1e-7)
            np.testing.assert_allclose(upper, exact, rtol=1e-6)


@pytest.mark.parametrize("ties", ["nearest", "lowest"])
@pytest.mark.parametrize(("k", "C"), [(2, 2), (3, 3), (4, 2), (4, 3), (5, 3), (6, 3)])
def test_exact_for_both_tie_rules(k, C, ties):
    for seed in range(6):
        rng = np.random.default_rng([seed, 77])
        problem, queries, x, prediction = random_problem(rng, k, C, d=2, ties=ties)
        exact = np.array([exact_radius(problem, u, y) for u, y in zip(queries, prediction, strict=True)])
        lower, upper = check(problem, queries, x, prediction, "exact_knn", exact)
        meets(lower, upper, exact)
        check(problem, queries, x, prediction, "knn_lower", exact)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("k", "C"), [(1, 2), (1, 3), (3, 2)])
def test_box(norm, k, C):
    for seed in range(3):
        rng = np.random.default_rng([seed, 5])
        problem, queries, x, prediction = random_problem(
            rng, k, C, "random", norm, lower=np.full(3, -1.5), upper=[1.0, 2.5, np.inf]
        )
        x = np.clip(x, -1.4, 0.9)
        queries = x @ problem.T.T
        prediction = votes(problem, queries)
        exact = np.array([exact_radius(problem, u, y, z) for u, y, z in zip(queries, prediction, x, strict=True)])
        for name in each(problem):
            lower, upper, delta = engines[name](problem, queries, prediction, inputs=x, n_jobs=1)
            check(problem, queries, x, prediction, name, exact)
            moved = (x + delta)[np.isfinite(upper)]
            assert np.all(moved >= -1.5 - 1e-12)
            assert np.all(moved[:, :2] <= np.array([1.0, 2.5]) + 1e-12)
            if engines[name].tight:
                closed = np.isfinite(exact)
                np.testing.assert_allclose(lower[closed], exact[closed], rtol=1e-6)


@pytest.mark.parametrize("norm", NORMS)
def test_frozen_inputs(norm):
    frozen = np.array([False, True, False])
    for k in (1, 3):
        rng = np.random.default_rng(8)
        problem, queries, x, prediction = random_problem(rng, k, 3, "random", norm, frozen=frozen, n=8)
        exact = np.array([exact_radius(problem, u, y) for u, y in zip(queries, prediction, strict=True)])
        for name in each(problem):
            _, upper = check(problem, queries, x, prediction, name, exact)
            delta = engines[name](problem, queries, prediction, n_jobs=1).delta
            assert np.all(delta[np.isfinite(upper), 1] == 0)


def test_a_search_that_is_cut_short_is_still_a_sandwich():
    for seed in range(4):
        rng = np.random.default_rng([seed, 3])
        problem, queries, x, prediction = random_problem(rng, 5, 3, n=11)
        exact = np.array([exact_radius(problem, u, y) for u, y in zip(queries, prediction, strict=True)])
        for work in (0, 1, 3, 10, 40):
            check(problem, queries, x, prediction, "exact_knn", exact, budget=Budget(work))


def test_a_budget_is_kept_and_more_of_it_never_loosens():
    problem, queries, x, prediction = random_problem(np.random.default_rng(0), 5, 3, n=60)
    engine = choose(problem)
    lower = [engine(problem, queries, prediction, budget=Budget(work), n_jobs=1).lower for work in (0, 3, 400)]
    assert (lower[0] <= lower[1]).all()
    assert (lower[1] <= lower[2]).all()
    assert (lower[0] < lower[2]).any()  # without work there is no search


def test_threads_change_nothing():
    rng = np.random.default_rng(4)
    problem, *_ = random_problem(rng, 1, 3, n=40)
    queries = rng.normal(size=(50, 3)) @ problem.T.T
    prediction = votes(problem, queries)
    for name in each(problem):
        one, two = (engines[name](problem, queries, prediction, n_jobs=jobs) for jobs in (1, 2))
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_prediction_that_is_not_the_vote_has_no_radius():
    problem, queries, x, prediction = random_problem(np.random.default_rng(4), 1, 3)
    for name in each(problem):
        engine = engines[name]
        lower, upper, delta = engine(problem, queries, (prediction + 1) % 3, n_jobs=1)
        assert (lower == 0).all()
        assert (upper == 0).all()
        assert (delta == 0).all()
