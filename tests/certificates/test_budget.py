"""Budgets of work: bounds hold at every one, more of it loosens nothing, and a row takes no more than it was given."""

import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import Threat, certify
from holdfast.certificates import L1, L2, Budget, LInf, Moves, NeighborProblem, choose, exact_1nn
from holdfast.certificates.engines import solve
from tests.certificates.brute_force import engines, exact_radius, random_problem

WORK = (0, 1, 2, 5, 20, 100, 1_000, 40_000)
NORMS = {"l2": L2(), "linf": LInf(), "l1": L1()}


@pytest.mark.parametrize("norm", ["l2", "linf", "l1", "ellipsoid"])
@pytest.mark.parametrize(("k", "C"), [(1, 3), (3, 2), (4, 3)])
def test_bounds_hold_at_every_budget_and_more_of_it_never_loosens(norm, k, C):
    for seed in range(2):
        rng = np.random.default_rng([seed, k, C])
        problem, queries, x, prediction = random_problem(rng, k, C, "random", norm, n=8)
        queries, x, prediction = queries[:2], x[:2], prediction[:2]
        exact = np.array([exact_radius(problem, u, y) for u, y in zip(queries, prediction, strict=True)])
        finite = np.where(np.isfinite(exact), exact, 0)
        for engine in (each for each in engines.values() if each.handles(problem)):
            before = np.zeros(len(queries))
            for work in WORK:
                found = engine(problem, queries, prediction, inputs=x, n_jobs=1, budget=Budget(work))
                assert np.all(found.lower <= exact + 1e-9 * (1 + finite))
                assert np.all(exact <= found.upper + 1e-7 * (1 + finite))
                assert np.all(found.lower >= before * (1 - 1e-9)), (engine.name, work)
                before = found.lower


def blobs(n: int, d: int = 8):
    """Two classes that overlap, and rows between them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n) > 1).astype(int)
    return X, y, rng.normal(size=(4, d))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("k", [1, 15])
def test_the_work_of_a_row_is_bounded_whatever_the_number_of_points(norm, k):
    work = 5_000
    for n in (2_000, 100_000):
        X, y, queries = blobs(n)
        problem = NeighborProblem(X, y, np.eye(X.shape[1]), k, Moves(NORMS[norm]))
        prediction = problem.vote(queries)
        options = {"fast": False, "n_jobs": 1, "memory": 64.0}
        solve(problem, queries[:1], prediction[:1], None, budget=Budget(1), **options)  # compiles
        budget = Budget(work).metered(len(queries))
        start = time.process_time()
        solve(problem, queries, prediction, None, budget=budget, **options)
        seconds = time.process_time() - start
        # The last step may pass the budget, by less than a pass over the points that are in reach.
        assert (budget.spent <= 2 * work).all(), budget.spent
        assert seconds < 4 * (20e-6 * work + 5e-6 * n), seconds  # twentyfold room for slow and busy machines


def test_one_neighbour_stops_too():
    X, y, queries = blobs(3_000, 30)
    problem = NeighborProblem(X, y, np.eye(30), 1)
    prediction = problem.vote(queries)
    few, all_ = Budget(1).metered(4), Budget().metered(4)
    some = exact_1nn(problem, queries, prediction, n_jobs=1, budget=few)
    whole = exact_1nn(problem, queries, prediction, n_jobs=1, budget=all_)
    assert few.ended.all()
    assert not all_.ended.any()
    assert (some.lower <= whole.lower).all()
    assert (some.lower > 0).all()  # what the distances alone certify
    np.testing.assert_allclose(whole.lower, whole.upper, rtol=1e-9)


@pytest.mark.parametrize("norm", [2, np.inf])
@pytest.mark.parametrize("work", [0, 3, 50, 40_000])
def test_a_certificate_depends_on_the_budget_alone(norm, work):
    X, y, rows = blobs(400)
    rows = np.vstack([rows, X[:6] + 0.1])
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(9)).fit(X, y)
    threat = Threat(norm, frozen=[7])
    options = {"threat": threat, "reference": (X, y), "budget": work}
    one, two = (certify(model, rows, n_jobs=jobs, **options) for jobs in (1, 2))
    back = certify(model, rows[::-1], n_jobs=1, **options)
    alone = [certify(model, rows[t : t + 1], n_jobs=1, **options) for t in range(len(rows))]
    for found in (two, replace(back, radius=back.radius[::-1], budget_ended=back.budget_ended[::-1])):
        np.testing.assert_array_equal(one.radius, found.radius)
        np.testing.assert_array_equal(one.budget_ended, found.budget_ended)
    np.testing.assert_array_equal(one.radius, [each.radius[0] for each in alone])


def test_rows_whose_budget_ended_say_so():
    X, y, rows = blobs(400)
    model = KNeighborsClassifier(15).fit(X, y)
    few, many = (certify(model, rows, budget=budget) for budget in (5, 2_000_000))
    assert few.budget_ended.all()
    assert few.to_frame()["budget_ended"].all()
    assert "4 ended by the budget" in repr(few)
    assert not many.budget_ended.any()
    assert "budget" not in repr(many)
    assert many.exact.all()
    assert (few.radius <= many.radius).all()


def test_choices_of_a_row_share_its_budget():
    """Whole numbers and categories make many rows of one, which together take what one may take."""
    X, y, rows = blobs(300, 5)
    X[:, :2], rows[:, :2] = np.round(2 * X[:, :2]), np.round(2 * rows[:, :2])
    model = KNeighborsClassifier(9).fit(X, y)
    threat = Threat(integer=[0], categories={1: [-2.0, -1.0, 0.0, 1.0, 2.0]})
    certify(model, rows[:1], threat=threat, budget=1)
    start = time.process_time()
    found = certify(model, rows, threat=threat, budget=2_000, n_jobs=1)
    seconds = time.process_time() - start
    assert seconds < 2.0  # of 8 ms in the searches: places have passes over the points as well
    wide = certify(model, rows, threat=threat, budget=1_000_000)
    assert (found.radius <= wide.upper).all()
    assert (wide.radius <= found.upper).all()


def test_budget_shares():
    budget = Budget(1000).metered(3)
    budget.spent[1] = 400
    np.testing.assert_array_equal(budget.shared(np.array([0])), [1000])
    np.testing.assert_array_equal(budget.shared(np.array([0, 0, 1, 2])), [256, 256, 512, 1000])
    np.testing.assert_array_equal(budget.left().work, 1000)
    assert choose(NeighborProblem(np.eye(3), np.arange(3), np.eye(3))).name == "exact_1nn"
