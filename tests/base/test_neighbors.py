"""Exact nearest neighbours: their definition, in either precision, whatever the tiles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from holdfast.base.neighbors import nearest_by_class, ranked_by_class
from tests.single_precision import single_precision_first  # noqa: F401


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_search_agrees_with_scikit_learn(n_jobs):
    rng = np.random.default_rng(0)
    X, y = 1e4 + rng.normal(size=(700, 7)), rng.integers(0, 3, 700)  # far from the origin
    same, other = nearest_by_class(X, y, 3, 5, n_jobs)
    for c in range(3):
        members, others = np.flatnonzero(y == c), np.flatnonzero(y != c)
        near = NearestNeighbors(n_neighbors=3, algorithm="kd_tree").fit(X[members]).kneighbors(return_distance=False)
        far = (
            NearestNeighbors(n_neighbors=5, algorithm="kd_tree")
            .fit(X[others])
            .kneighbors(X[members], return_distance=False)
        )
        np.testing.assert_array_equal(same[members], members[near])
        np.testing.assert_array_equal(other[members], others[far])


def test_search_crosses_tiles(monkeypatch):
    from holdfast.base import neighbors as search

    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(100, 4)), rng.integers(0, 2, 100)
    whole = nearest_by_class(X, y, 2, 3)
    monkeypatch.setattr(search, "_TILE_ROWS", 7)
    monkeypatch.setattr(search, "_TILE_COLUMNS", 11)
    for cut, uncut in zip(nearest_by_class(X, y, 2, 3), whole, strict=True):
        np.testing.assert_array_equal(cut, uncut)


@pytest.mark.parametrize("few", [0, 1 << 20])
def test_either_precision_finds_the_same(monkeypatch, few):
    """Few points are searched in double precision at once; the neighbours and their order are those of many."""
    from holdfast.base import neighbors as search

    rng = np.random.default_rng(2)
    X, y = np.round(3 * rng.normal(size=(150, 3))), rng.integers(0, 3, 150)  # whole numbers: many are equally far
    monkeypatch.setattr(search, "_FEW", few)
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2) + np.where(np.eye(150), np.inf, 0.0)
    same, other = nearest_by_class(X, y, 4, 6)
    for found, mask in ((same, y[:, None] == y), (other, y[:, None] != y)):
        order = np.argsort(np.where(mask, D, np.inf), axis=1, kind="stable")[:, : found.shape[1]]
        np.testing.assert_array_equal(found, order)


@given(st.data())
def test_ranked_search_is_the_definition(data):
    """Whole numbers: many ties, outliers that make single precision coarse, and clusters far from each other."""
    n, p = data.draw(st.integers(2, 60)), data.draw(st.integers(1, 3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    spread, far = data.draw(st.sampled_from([(3, 0), (40, 0), (3, 10**6), (40, 10**7), (10**5, 10**4)]))
    X = rng.integers(-spread, spread + 1, (n, p)) + far * rng.integers(0, 2, (n, 1))
    y, unit = rng.integers(0, 3, n), data.draw(st.sampled_from([1.0, 2.0**-40, 2.0**200]))
    for queries, labels, own in ((X, y, np.arange(n)), (X[::2] + 1, y[::2], np.full(n, -1))):
        given = None if queries is X else (unit * queries.astype(float), labels)
        found = ranked_by_class(unit * X.astype(float), y, 2, 3, 1, given)
        for (d, index), k, same in zip(found, (2, 3), (True, False), strict=True):
            expected = _by_definition(X, y, queries, labels, own, k, same)
            np.testing.assert_array_equal(index, expected)
            there = expected >= 0
            exact = ((X[expected[there]] - queries[np.nonzero(there)[0]]) ** 2).sum(axis=1)
            np.testing.assert_allclose(d[there] / unit**2, exact)
            assert np.isinf(d[~there]).all()


def test_single_precision_is_not_trusted_beyond_its_digits():
    """Spacings of 1e-6 among points of size 1: squares that single precision cannot tell apart."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(300, 4)), 1.0 + 1e-6 * rng.normal(size=(300, 4))])
    y = np.arange(600) % 2
    (_, same), (_, other) = ranked_by_class(X, y, 3, 5, 1)
    for found, kin in ((same, True), (other, False)):
        for i in range(300, 600):
            able = np.flatnonzero((y == y[i]) == kin)
            able = able[able != i]
            order = np.argsort(((X[able] - X[i]) ** 2).sum(axis=1), kind="stable")
            np.testing.assert_array_equal(found[i], able[order[: found.shape[1]]])


def test_of_many_equals_the_first_are_taken():
    """All at the same distance from the query: rounding in a product of matrices must not choose among them."""
    p = 120
    X = np.vstack([np.eye(p), -np.eye(p)]) + 1 / 3
    y = np.arange(2 * p) % 2
    (d, same), (_, other) = ranked_by_class(X, y, 3, 5, 1, (np.full((1, p), 1 / 3), np.array([0])))
    np.testing.assert_array_equal(same, [[0, 2, 4]])
    np.testing.assert_array_equal(other, [[1, 3, 5, 7, 9]])
    np.testing.assert_allclose(d, 1.0)


def _by_definition(X, y, queries, labels, own, k, same):
    """Nearest first by exact d² (whole numbers), of equals the smaller index; -1 where there are no more."""
    found = np.full((len(queries), k), -1)
    for q, (x, c) in enumerate(zip(queries, labels, strict=True)):
        able = [j for j in range(len(X)) if (y[j] == c) == same and j != own[q]]
        able.sort(key=lambda j, x=x: (sum(int(d) ** 2 for d in (X[j] - x)), j))
        found[q, : min(k, len(able))] = able[:k]
    return found
