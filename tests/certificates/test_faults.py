"""The faults of other certificates, each as a test, and the corners of this one."""

import numpy as np
import pytest

from holdfast.certificates import (
    L1,
    L2,
    Ellipsoid,
    LInf,
    NeighborProblem,
    exact_1nn,
    exact_knn,
    knn_lower,
)
from tests.certificates.brute_force import NORMS, engines, exact_radius, make_problem, random_problem, votes

ALL = [L2(), LInf(), L1(), Ellipsoid(np.eye(2))]


def bounds(engine, problem, *queries, **options):
    queries = np.array(queries, dtype=float)
    return engine(problem, queries, votes(problem, queries), n_jobs=1, **options)


def each(problem):
    return [engine for engine in engines.values() if engine.handles(problem)]


def test_even_k():
    # The order-statistic bound of odd k, ⌈k/2⌉-th smallest with ⌈k/2⌉ − 1 excused, fails here: a tie is enough.
    points = [[0.0], [1.0], [1.5], [9.0]]
    problem = make_problem(points, [1, 0, 1, 0], np.eye(1), n_neighbors=2, ties="lowest")
    u = np.array([0.4])  # neighbours 0 and 1, one of each class: the lowest code wins
    assert votes(problem, u[None])[0] == 0
    exact = exact_radius(problem, u, 0)
    for engine in (knn_lower, exact_knn):
        assert bounds(engine, problem, u).lower[0] <= exact + 1e-12
    for seed in range(40):
        for k in (2, 4):
            problem, queries, _, prediction = random_problem(np.random.default_rng([seed, 9]), k, 2, d=2)
            exact = [exact_radius(problem, u, y) for u, y in zip(queries, prediction, strict=True)]
            assert np.all(knn_lower(problem, queries, prediction, n_jobs=1).lower <= np.array(exact) + 1e-12)


def test_euclidean_screen_of_a_mahalanobis_metric():
    # The l that is nearest in the plain distance is not the one that binds under a stretched metric.
    for seed in range(30):
        rng = np.random.default_rng([seed, 10])
        T = np.diag([1.0, 8.0]) @ np.linalg.qr(rng.normal(size=(2, 2)))[0]
        X, labels = rng.normal(size=(40, 2)), rng.integers(2, size=40)
        problem = make_problem(X @ T.T, labels, T)
        u = rng.normal(size=(1, 2)) @ T.T
        y = votes(problem, u)
        lower, upper, _ = exact_1nn(problem, u, y, n_jobs=1)
        small = make_problem(problem.points, labels, T)
        directions = np.linspace(0, 2 * np.pi, 721)[:, None]
        ring = np.hstack([np.cos(directions), np.sin(directions)])
        assert (votes(small, u + (lower * (1 - 1e-9)) * ring @ T.T) == y).all()
        assert upper[0] == pytest.approx(lower[0], rel=1e-7)


@pytest.mark.parametrize("norm", ALL)
def test_co_located_points_of_two_classes(norm):
    problem = make_problem([[1.0, 0.0], [1.0, 0.0], [3.0, 0.0]], [0, 1, 0], np.eye(2), norm=norm)
    for engine in each(problem):
        lower, upper, _ = bounds(engine, problem, [0.9, 0.1])
        assert lower[0] == 0
        assert not np.isnan(upper[0])


@pytest.mark.parametrize("name", ["exact_knn", "knn_lower"])
def test_co_located_points_far_away_do_not_matter(name):
    points = [[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [5.0, 0.0], [5.0, 0.0], [5.0, 0.0], [5.0, 0.0]]
    problem = make_problem(points, [0, 0, 0, 1, 1, 0, 1], np.eye(2), n_neighbors=3)
    lower, upper, _ = bounds(engines[name], problem, [0.0, 0.0])
    assert 2.0 < lower[0] <= upper[0]


@pytest.mark.parametrize("norm", NORMS)
def test_rank_deficient_metric(norm):
    T = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]])
    X = np.array([[0.0, 0.0, 5.0], [2.0, 0.0, -7.0], [-4.0, 0.0, 1.0]])
    problem = make_problem(X @ T.T, [0, 1, 1], T, norm=NORMS[norm](3))
    u = np.zeros((1, 2))
    for engine in each(problem):
        lower, upper, delta = engine(problem, u, np.array([0]), n_jobs=1)
        exact = exact_radius(problem, u[0], 0)
        assert lower[0] <= exact * (1 + 1e-9)
        assert np.isfinite(lower[0])
        if engine is not knn_lower:
            assert upper[0] == pytest.approx(exact, rel=1e-6)
            assert np.isfinite(delta).all()


@pytest.mark.parametrize("norm", ALL)
def test_nothing_moves(norm):
    points = [[0.0], [1.0], [1.0], [3.0]]
    problem = make_problem(points, [0, 1, 0, 1], np.zeros((1, 2)), norm=norm)
    for engine in each(problem):
        lower, upper, delta = bounds(engine, problem, [0.1])
        assert lower[0] == np.inf
        assert upper[0] == np.inf
        assert np.isnan(delta).all()
        assert bounds(engine, problem, [1.0]).lower[0] == 0  # tied: rounding may decide


@pytest.mark.parametrize("name", ["exact_knn", "knn_lower"])
@pytest.mark.parametrize("k", [3, 5, 7])
def test_fewer_than_k_points_in_a_class(name, k):
    for seed in range(10):
        rng = np.random.default_rng([seed, 12])
        labels = np.array([0, 0, 1, 2, 2, 2, 2, 2])
        problem = make_problem(rng.normal(size=(8, 2)), labels, np.eye(2), n_neighbors=k)
        queries = rng.normal(size=(3, 2))
        prediction = votes(problem, queries)
        lower, upper, _ = engines[name](problem, queries, prediction, n_jobs=1)
        exact = [exact_radius(problem, u, y) for u, y in zip(queries, prediction, strict=True)]
        assert np.all(lower <= np.array(exact) + 1e-12)
        assert np.all(upper >= np.array(exact) - 1e-9)


@pytest.mark.parametrize("norm", [L2(), LInf()])
def test_one_class_only(norm):
    problem = make_problem([[0.0], [1.0]], [1, 1], np.eye(1), norm=norm, n_classes=3)
    for engine in each(problem):
        lower, upper, _ = bounds(engine, problem, [0.3])
        assert lower[0] == np.inf
        assert upper[0] == np.inf


@pytest.mark.parametrize("name", ["exact_knn", "knn_lower"])
def test_a_class_missing_from_the_reference(name):
    # Codes 0 … 4, of which 1 and 3 have no points: they get no votes.
    for seed in range(10):
        rng = np.random.default_rng([seed, 13])
        labels = rng.choice([0, 2, 4], size=9)
        labels[:3] = [0, 2, 4]
        problem = make_problem(rng.normal(size=(9, 2)), labels, np.eye(2), n_neighbors=3, n_classes=5)
        queries = rng.normal(size=(3, 2))
        prediction = votes(problem, queries)
        exact = [exact_radius(problem, u, y) for u, y in zip(queries, prediction, strict=True)]
        lower, upper, _ = engines[name](problem, queries, prediction, n_jobs=1)
        assert np.all(lower <= np.array(exact) + 1e-12)
        assert np.all(upper >= np.array(exact) - 1e-9)


@pytest.mark.parametrize("name", ["exact_knn", "knn_lower"])
def test_a_plurality_winner_without_a_majority(name):
    # 2 votes of 5 for class 0 at the start; a majority of another class is not needed to lose.
    points = [[0.0, 0.1], [0.1, 0.0], [0.3, 0.0], [0.0, 0.3], [-0.3, 0.0], [0.5, 0.0], [0.0, -2.0]]
    problem = make_problem(points, [0, 0, 1, 2, 3, 1, 0], np.eye(2), n_neighbors=5)
    u = np.zeros((1, 2))
    assert votes(problem, u)[0] == 0
    exact = exact_radius(problem, u[0], 0)
    lower, upper, _ = engines[name](problem, u, np.array([0]), n_jobs=1)
    assert lower[0] <= exact * (1 + 1e-12)
    assert (lower[0] > 0) == (name == "exact_knn")
    assert upper[0] >= exact * (1 - 1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_every_witness_is_looked_at_again(norm):
    for k in (1, 2, 3):
        problem, queries, x, prediction = random_problem(np.random.default_rng(k), k, 3, "random", norm, n=12)
        for engine in each(problem):
            upper, delta = engine(problem, queries, prediction, n_jobs=1)[1:]
            found = np.isfinite(upper)
            moved = queries[found] + delta[found] @ problem.T.T
            assert (votes(problem, moved) != prediction[found]).all()


def test_an_engine_refuses_what_it_does_not_handle():
    problem = make_problem([[0.0], [1.0]], [0, 1], np.eye(1), n_neighbors=2)
    with pytest.raises(ValueError, match="exact_1nn does not take"):
        exact_1nn(problem, np.zeros((1, 1)), np.array([0]))


def test_a_box_needs_inputs():
    problem = make_problem([[0.0], [1.0]], [0, 1], np.eye(1), lower=0.0, upper=1.0)
    with pytest.raises(ValueError, match="inputs"):
        exact_1nn(problem, np.zeros((1, 1)), np.array([0]))


def test_a_box_that_cannot_be_left():
    problem = make_problem([[0.0], [10.0]], [0, 1], np.eye(1), lower=-1.0, upper=1.0)
    x = np.array([[0.2]])
    for engine in each(problem):
        lower, upper, _ = engine(problem, x, np.array([0]), inputs=x, n_jobs=1)
        assert lower[0] > 4.0  # unboxed it is 4.8
        assert upper[0] == np.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"T": np.eye(2)}, "rows"), ({"labels": [0]}, "labels"), ({"n_neighbors": 3}, "n_neighbors"),
        ({"ties": "random"}, "ties"), ({"labels": [0, -1]}, "codes"),
    ],
)  # fmt: skip
def test_problems_that_are_refused(change, message):
    given = {"points": [[0.0], [1.0]], "labels": [0, 1], "T": np.eye(1)} | change
    with pytest.raises(ValueError, match=message):
        NeighborProblem(**given)
