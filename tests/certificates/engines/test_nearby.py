"""Certificates from the points in reach, and walks that rarely ask the model: the same answers as without."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast import CertifiedKNeighborsClassifier, FixedMetric, certify
from holdfast._core.halfspace import Rounding
from holdfast.certificates import L2, Budget, Ellipsoid, LInf, Moves, exact_1nn, exact_knn, knn_lower
from holdfast.certificates.engines import neighbors as nearby
from holdfast.certificates.engines.neighbors import from_nearby
from holdfast.certificates.readers import voter_for
from holdfast.certificates.witnesses import _opponents_in_input, segment, walk
from tests.certificates.brute_force import make_problem, votes


def data(n=600, r=4, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=2.0, size=(9, r))
    cluster = rng.integers(0, 9, n + 25)
    X = centres[cluster] + rng.normal(size=(n + 25, r))
    return X[:n], cluster[:n] % n_classes, X[n:]


def problem_of(X, y, k, norm=None, **limits):
    T = np.random.default_rng(5).normal(size=(X.shape[1], X.shape[1]))
    return make_problem(X @ T.T, y, T, k, norm or L2(), **limits)


@pytest.fixture
def few(monkeypatch):
    """Reduce from the first point on, in small steps."""
    monkeypatch.setattr(nearby, "_WORTHWHILE", 0)
    monkeypatch.setattr(nearby, "_NEAREST", 20)
    monkeypatch.setattr(nearby, "_MORE", 2)


@pytest.mark.parametrize(
    ("engine", "k", "norm"),
    [
        (knn_lower, 3, None),
        (knn_lower, 4, LInf()),
        (knn_lower, 3, Ellipsoid(np.diag([1.0, 2.0, 3.0, 4.0]))),
        (exact_1nn, 1, None),
        (exact_knn, 1, LInf()),
        (exact_knn, 3, None),
    ],
)
def test_the_nearest_points_tell_what_all_would(few, engine, k, norm):
    X, y, x = data()
    problem = problem_of(X, y, k, norm)
    queries = x @ problem.T.T
    prediction = votes(problem, queries)
    options = {"budget": Budget(10**6)} if engine is exact_knn else {}
    whole = engine(problem, queries, prediction, inputs=x, n_jobs=1, **options)
    for memory in (1e-9, 256.0):
        part = from_nearby(engine, problem, queries, prediction, x, 2, memory, **options)
        np.testing.assert_allclose(part.lower, whole.lower, rtol=1e-6)
        np.testing.assert_allclose(part.upper, whole.upper, rtol=1e-6)


def test_the_reduction_is_used_and_never_reaches_beyond_its_horizon(few):
    X, y, x = data()
    problem = problem_of(X, y, 1)
    sizes, claimed = [], []

    def boastful(part, queries, prediction, *, inputs, n_jobs, budget):
        """An engine that promises the world, as one might that sees no other class."""
        sizes.append(len(part.points))
        found = exact_1nn(part, queries, prediction, inputs=inputs, n_jobs=n_jobs)
        claimed.append(found.lower[0])
        return found if len(part.points) == len(X) else type(found)(found.lower + np.inf, found.upper, found.delta)

    queries = x @ problem.T.T
    prediction = votes(problem, queries)
    bounds = from_nearby(boastful, problem, queries, prediction, x, 1, 256.0)
    assert max(sizes) == len(X)  # it was not believed: all points were asked in the end
    np.testing.assert_allclose(bounds.lower, exact_1nn(problem, queries, prediction, inputs=x).lower)
    sizes.clear()
    from_nearby(
        lambda part, *args, **kw: sizes.append(len(part.points)) or exact_1nn(part, *args, **kw),
        problem, queries, prediction, x, 1, 256.0,
    )  # fmt: skip
    assert np.median(sizes) < len(X) / 2


def test_no_vote_inside_the_horizon_asks_a_point_left_out(few):
    X, y, x = data(n=300)
    problem = problem_of(X, y, 3)
    rng = np.random.default_rng(0)
    for row in x:
        u = problem.T @ row
        d = np.linalg.norm(problem.points - u, axis=1)
        order = np.argsort(d)
        rounding = Rounding(1e-12, problem.largest, problem.coordinates.growth, 0.0)
        H = nearby._horizon(problem, d[order[2]], d[order[40]] ** 2, rounding)
        assert H > 0
        moves = rng.normal(size=(200, 4))
        moves *= H / np.linalg.norm(moves, axis=1, keepdims=True)
        asked = u + moves @ problem.T.T
        nearest = np.argsort(np.linalg.norm(problem.points[None] - asked[:, None], axis=2), axis=1)[:, :3]
        assert np.isin(nearest, order[:40]).all()


def test_a_box_and_frozen_features_pass_through(few):
    X, y, x = data()
    low, high = x.min() - 0.1, x.max() + 0.1
    problem = problem_of(X, y, 1, lower=low, upper=high, frozen=[True, False, False, False])
    queries = x @ problem.T.T
    prediction = votes(problem, queries)
    whole = exact_1nn(problem, queries, prediction, inputs=x)
    part = from_nearby(exact_1nn, problem, queries, prediction, x, 1, 256.0)
    np.testing.assert_allclose(part.lower, whole.lower, rtol=1e-6)


@pytest.mark.parametrize("k", [1, 3, 4])
def test_walking_by_local_votes_finds_what_asking_the_model_finds(k):
    X, y, x = data(n=2000)
    model = CertifiedKNeighborsClassifier(FixedMetric(np.diag([1.0, 2.0, 0.5, 1.0])), n_neighbors=k).fit(X, y)
    voter = voter_for(model)
    codes = voter.predict(x)
    ends = list(_opponents_in_input(voter, Moves(), x, codes, 1))  # points of other classes that are near
    ends[1][3] = np.nan
    asked = []
    lengths = L2().lengths
    found = walk(replace(voter, model=_Counting(model, asked)), x, codes, ends, lengths, 1)
    expected = segment(voter.predict, x, codes, ends, lengths)
    np.testing.assert_array_equal(np.isnan(found[:, 0]), np.isnan(expected[:, 0]))
    there = ~np.isnan(found[:, 0])
    assert there.mean() > 0.5
    assert (voter.predict(found[there]) != codes[there]).all()
    ours, theirs = (lengths(move[there] - x[there]) for move in (found, expected))
    assert np.mean(ours <= theirs * (1 + 1e-6)) > 0.9  # along a way the vote may change more than once
    assert ours.mean() <= 1.01 * theirs.mean()
    assert len(asked) <= 2 * len(ends)


class _Counting:
    """The model, counting how often it is asked."""

    def __init__(self, model, asked):
        self._model, self._asked = model, asked

    def predict(self, rows):
        self._asked.append(len(rows))
        return self._model.predict(rows)


def test_certificates_of_a_large_reference_are_sound_and_exact():
    X, y, x = data(n=25_000, r=6)
    model = CertifiedKNeighborsClassifier(n_neighbors=1).fit(X, y)
    certificate = certify(model, x, memory=8.0)
    voter = voter_for(model)
    problem = voter.chain.question(voter.problem, Moves())
    everything = exact_1nn(problem, x, np.searchsorted(model.classes_, model.predict(x)), inputs=x)
    np.testing.assert_allclose(certificate.radius, everything.lower, rtol=1e-6)
    assert certificate.exact.all()
    with pytest.raises(ValueError, match="certify: memory must be"):
        certify(model, x, memory=0)
