"""The objective: the sum of its terms, whatever the order of the points in memory."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from holdfast import LMNN, Perturbation
from holdfast.learn import LogDet, Pull, Push, geometry, knn_triplets
from holdfast.learn.objective import Objective
from holdfast.learn.solvers import StochasticLBFGS
from tests.naive import three_numbers

PL = Perturbation(tau=0.8, weight=0.7)
TERMS = [(0.3, Pull()), (0.7, Push()), (PL.weight, PL), (0.1, LogDet())]


@pytest.fixture(scope="module")
def data():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture
def reordered(monkeypatch):
    """Make the rows too many for the cache, so that they are reordered."""
    monkeypatch.setattr(geometry, "_FITS", 0)
    monkeypatch.setattr(geometry, "_CELL", 5)


def _metric(p: int) -> np.ndarray:
    L = np.random.default_rng(0).normal(size=(p, p)) / p
    return L.T @ L + 0.01 * np.eye(p)


def test_the_value_is_the_sum_of_its_terms(data):
    X, y = data
    triplets, M = knn_triplets(X, y), _metric(13)
    a, b, h = three_numbers(M, X, triplets.rows)
    expected = (
        0.3 * a[triplets.targets].mean()
        + 0.7 * np.maximum(0, 1 + a - b).mean()
        + 0.7 * np.where(b > a, np.maximum(0, 0.8**2 - (b - a) ** 2 / (4 * (h + 1e-10))), 0.8**2).mean()
        + 0.1 * (np.trace(M) - np.linalg.slogdet(M)[1] - 13)
    )
    with Objective(X, triplets, TERMS) as objective:
        assert objective(M)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_and_lanes_add_up_to_the_whole(data, monkeypatch, n_jobs):
    X, y = data
    triplets, M = knn_triplets(X, y), _metric(13)
    with Objective(X, triplets, TERMS) as whole:
        expected = whole(M)
        scatters = whole.scatters
    monkeypatch.setattr(geometry, "_TRIPLETS_PER_BLOCK", 100)
    monkeypatch.setattr(geometry, "_WORTH_THREADS", 0)
    with Objective(X, triplets, TERMS, n_jobs=n_jobs) as parts:
        assert len(parts.geometry.blocks) > 20
        for _ in range(2):  # a second call does not add to the first
            value, G = parts(M)
            assert value == pytest.approx(expected[0], rel=1e-12)
            np.testing.assert_allclose(G, expected[1], rtol=1e-10, atol=1e-12)
        for mine, theirs in zip(parts.scatters, scatters, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)


def test_the_order_in_memory_changes_nothing(data, reordered):
    X, y = data
    triplets, M = knn_triplets(X, y), _metric(13)
    with Objective(X, triplets, TERMS) as objective:
        assert not np.array_equal(objective.triplets.j, triplets.j)
        value, G = objective(M)
    geometry._FITS = 2**30
    with Objective(X, triplets, TERMS) as objective:
        np.testing.assert_array_equal(objective.triplets.j, triplets.j)
        expected = objective(M)
    assert value == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(G, expected[1], rtol=1e-11, atol=1e-13)


def test_samples_of_reordered_anchors(data, reordered):
    X, y = data
    sampled = LMNN(solver=StochasticLBFGS(sample_size=40), perturbation=PL).fit(X, y)
    whole = LMNN(perturbation=PL).fit(X, y)
    assert sampled.objective_[-1] == pytest.approx(whole.objective_[-1], rel=0.02)


@pytest.mark.parametrize("shape", [(2000, 3), (2500, 1), (1300, 900)])
def test_a_cache_friendly_order_holds_every_row_once(shape, monkeypatch):
    monkeypatch.setattr(geometry, "_FITS", 0)
    X = np.random.default_rng(0).normal(size=shape)
    for rows in (X, np.zeros(shape), X[:1]):
        np.testing.assert_array_equal(np.sort(geometry.cache_friendly_order(rows)), np.arange(len(rows)))
