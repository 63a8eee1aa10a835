"""Contract of the searches for targets and impostors, exact and approximate alike."""

import importlib.util
import os
import sys

import numpy as np
import pytest
from sklearn.base import clone

from holdfast import LMNN, SCML, load, save
from holdfast.base.neighbors import nearest_by_class
from holdfast.learn import NeighborSearch, knn_triplets
from tests.single_precision import single_precision_first  # noqa: F401

missing = importlib.util.find_spec("faiss") is None and not os.environ.get("CI")  # there it must be installed
approximate = pytest.param(
    NeighborSearch("approximate", random_state=0),
    marks=pytest.mark.skipif(missing, reason="the extra holdfast[approximate] is not installed"),
    id="approximate",
)
every_search = pytest.mark.parametrize("search", [pytest.param(NeighborSearch(), id="exact"), approximate])


def clustered(n, p=20, n_classes=5, per_class=8, seed=0):
    """Several clusters a class, far from the origin."""
    rng = np.random.default_rng(seed)
    centres = 1e3 + rng.normal(scale=3.0, size=(n_classes * per_class, p))
    cluster = rng.integers(0, len(centres), n)
    return centres[cluster] + rng.normal(size=(n, p)), cluster % n_classes


def brute(X, y, i, n_same, n_other):
    d = np.linalg.norm(X - X[i], axis=1)
    d[i] = np.inf
    by_distance = np.argsort(d)
    return by_distance[y[by_distance] == y[i]][:n_same], by_distance[y[by_distance] != y[i]][:n_other]


@every_search
def test_finds_most_true_neighbours_of_the_right_classes(search):
    X, y = clustered(6000)
    anchors = np.sort(np.random.default_rng(1).choice(6000, 300, replace=False))
    same, other = search.nearest(X, y, 3, 10, anchors)
    assert same.dtype == other.dtype == np.int32
    assert (y[same] == y[anchors, None]).all()
    assert (y[other] != y[anchors, None]).all()
    assert (same != anchors[:, None]).all()
    for found in (same, other):
        assert all(np.unique(row).size == row.size for row in found)
        d = np.linalg.norm(X[found] - X[anchors, None], axis=2)
        assert (np.diff(d, axis=1) > -1e-3).all()  # nearest first
    truth = [brute(X, y, i, 3, 10) for i in anchors]
    hits = [
        np.mean([np.isin(t, row).mean() for t, row in zip(true, found, strict=True)])
        for true, found in zip(zip(*truth, strict=True), (same, other), strict=True)
    ]
    assert min(hits) >= (1.0 if search.method == "exact" else 0.9)


@every_search
def test_small_classes_get_all_they_have(search):
    X, y = clustered(3000)
    y[:3], y[3], y[4:6] = 5, 6, 7  # classes of three, one and two members
    anchors = np.arange(3000)
    same, other = search.nearest(X, y, 3, 10, anchors)
    for i in range(6):
        members = np.setdiff1d(np.flatnonzero(y == y[i]), i)
        assert set(same[i][same[i] >= 0]) == set(members)
    assert (same[6:] >= 0).all()
    assert (other >= 0).all()
    with pytest.warns(UserWarning, match="smaller classes use the targets they have"):
        rows = knn_triplets(X, y, neighbors=search).rows
    assert rows.min() >= 0
    assert 3 not in rows[:, 0]


@every_search
def test_fewer_others_than_asked_for(search):
    X, y = clustered(2000)
    y = (np.arange(2000) < 4).astype(int)
    _, other = search.nearest(X, y, 2, 10, np.arange(2000))
    assert (np.sort(other[4:], axis=1)[:, -4:] == np.arange(4)).all()
    assert (other[4:] >= 0).sum(axis=1).tolist() == [4] * 1996


@every_search
def test_duplicates_are_neighbours_but_nobody_is_their_own(search):
    X, y = clustered(1000)
    X[500:] = X[:500]
    y[500:] = y[:500]
    same, _ = search.nearest(X, y, 1, 1, np.arange(1000))
    np.testing.assert_array_equal(same[:, 0], np.r_[500:1000, 0:500])


@every_search
def test_the_same_seed_gives_the_same_neighbours_on_any_number_of_threads(search):
    X, y = clustered(4000)
    first = search.nearest(X, y, 3, 5, np.arange(4000), n_jobs=1)
    for again in (
        search.nearest(X, y, 3, 5, np.arange(4000), n_jobs=2),
        clone(search).nearest(X, y, 3, 5, np.arange(4000)),
    ):
        for a, b in zip(first, again, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.skipif(missing, reason="the extra holdfast[approximate] is not installed")
def test_full_effort_finds_all_and_the_users_threads_are_given_back():
    import faiss

    X, y = clustered(2000)
    faiss.omp_set_num_threads(1)
    search = NeighborSearch("approximate", effort=1.0)
    for found, exact in zip(search.nearest(X, y, 3, 5, np.arange(2000), 2), nearest_by_class(X, y, 3, 5), strict=True):
        assert np.mean(found == exact) > 0.999
    assert faiss.omp_get_max_threads() == 1


def test_without_faiss_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    X, y = clustered(100)
    with pytest.raises(ImportError, match=r"pip install \"holdfast\[approximate\]\""):
        LMNN(neighbors="approximate").fit(X, y)


def test_anchors_are_a_proportional_sample_with_every_class():
    y = np.repeat([0, 1, 2, 3], [5000, 4000, 990, 10])
    y = np.append(y, 4)  # alone: never an anchor
    search = NeighborSearch(n_anchors=100, random_state=0)
    anchors = search.anchors(y)
    assert anchors.size == 100
    assert (np.diff(anchors) > 0).all()
    counts = np.bincount(y[anchors], minlength=5)
    assert counts[3] >= 1
    assert counts[4] == 0
    assert np.abs(counts[:3] - [50, 40, 9.9]).max() <= 1
    np.testing.assert_array_equal(search.anchors(y), anchors)
    assert not np.array_equal(NeighborSearch(n_anchors=100, random_state=1).anchors(y), anchors)
    np.testing.assert_array_equal(NeighborSearch(n_anchors=10**6).anchors(y), np.arange(10_000))


def test_sampled_anchors_have_the_triplets_they_would_have_among_all():
    X, y = clustered(800)
    every = knn_triplets(X, y, n_neighbors=2, n_impostors=4)
    search = NeighborSearch(n_anchors=60, random_state=3)
    some = knn_triplets(X, y, n_neighbors=2, n_impostors=4, neighbors=search)
    anchors = search.anchors(y)
    np.testing.assert_array_equal(some.rows, every.rows[np.isin(every.i, anchors)])
    assert set(some.anchors) == set(anchors)


def test_a_fit_to_few_anchors_is_that_to_the_points_they_name():
    X, y = clustered(2000)
    search = NeighborSearch(n_anchors=30, random_state=0)
    triplets = knn_triplets(X, y, neighbors=search)
    points = np.unique(triplets.rows)
    np.testing.assert_array_equal(np.flatnonzero(triplets.named), points)
    assert points.size < 0.8 * len(X)
    sampled = LMNN(perturbation=None, neighbors=search, n_jobs=1).fit(X, y)  # the scale of "auto" is that of all rows
    alone = LMNN(perturbation=None, n_jobs=1).fit(X[points], triplets=np.searchsorted(points, triplets.rows))
    np.testing.assert_allclose(sampled.objective_, alone.objective_, rtol=1e-9)
    np.testing.assert_allclose(sampled.components_, alone.components_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("neighbors", "message"),
    [
        ("annoy", "neighbors must be 'exact', 'approximate'"),
        (NeighborSearch("tree"), "method must be"),
        (NeighborSearch(n_anchors=0), "n_anchors must be"),
        (NeighborSearch(effort=0.0), "effort must be"),
        (NeighborSearch(effort=1.5), "at most 1"),
    ],
)
def test_bad_searches_are_refused_by_name(neighbors, message):
    X, y = clustered(50)
    with pytest.raises(ValueError, match=message):
        knn_triplets(X, y, neighbors=neighbors)


def test_learners_take_a_search_tune_it_and_keep_it_in_a_file(tmp_path):
    X, y = clustered(300)
    learner = SCML(n_basis=20, neighbors=NeighborSearch(n_anchors=50), random_state=0)
    learner.set_params(neighbors__n_anchors=40, neighbors__random_state=0).fit(X, y)
    again = load(save(learner, tmp_path / "m.holdfast"))
    assert again.neighbors.n_anchors == 40
    np.testing.assert_array_equal(again.components_, learner.components_)
