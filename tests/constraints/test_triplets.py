import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from holdfast.constraints import Pairs, Triplets, knn_triplets
from holdfast.constraints.search import nearest_by_class, ranked_by_class

index = st.integers(0, 8)
triplet_rows = st.lists(st.tuples(index, index, index).filter(lambda t: len(set(t)) == 3), min_size=1, max_size=60)


@given(triplet_rows)
def test_triplets_stand_in_the_order_of_their_anchors(rows):
    triplets = Triplets(rows, 9)
    assert triplets.rows.tolist() == [list(row) for row in sorted(rows, key=lambda row: row[0])]  # a stable sort
    for i in range(9):
        mine = triplets.rows[triplets.indptr[i] : triplets.indptr[i + 1]]
        assert mine.tolist() == [list(row) for row in rows if row[0] == i]


@given(triplet_rows)
def test_triplets_refer_to_distinct_pairs(rows):
    triplets = Triplets(rows, 9)
    for pairs, place, ends, unordered in (
        (triplets.pairs, triplets.ij, [0, 1], False),
        (triplets.pairs, triplets.il, [0, 2], False),
        (triplets.slope_pairs, triplets.jl, [1, 2], True),
    ):
        named = triplets.rows[:, ends]
        listed = np.column_stack([pairs.first, pairs.second])
        assert len({frozenset(pair) if unordered else tuple(pair) for pair in listed.tolist()}) == len(pairs)
        if unordered:
            listed, named = np.sort(listed, axis=1), np.sort(named, axis=1)
        np.testing.assert_array_equal(listed[place], named)
        assert set(place.tolist()) <= set(range(len(pairs)))
        assert (np.diff(pairs.first) >= 0).all()
    assert set(triplets.ij.tolist()) | set(triplets.il.tolist()) == set(range(len(triplets.pairs)))
    found = triplets.rows[triplets.targets][:, :2].tolist()
    assert sorted(map(tuple, found)) == sorted({(i, j) for i, j, _ in rows})
    assert (np.diff(triplets.targets) > 0).all()


@given(triplet_rows)
def test_ranges_name_every_pair(rows):
    triplets = Triplets(rows, 9)
    pairs: Pairs = triplets.pairs
    met = [(r, t) for r in range(9) for t in range(pairs.indptr[r], pairs.indptr[r + 1])]
    assert met == list(zip(pairs.first, range(len(pairs)), strict=True))


def test_take_keeps_points_and_order():
    triplets = Triplets([[0, 1, 2], [3, 4, 5], [1, 0, 5]], 6)
    assert triplets.take([2, 0]).rows.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert triplets.take(slice(1, None)).rows.tolist() == [[1, 0, 5], [3, 4, 5]]
    assert triplets.take(np.array([True, False, False])).n_samples == 6


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0, 1]], "shape"),
        (np.empty((0, 3), int), "no triplets"),
        ([[0.0, 1.0, 2.0]], "integer"),
        ([[0, 1, 9]], "point 9"),
        ([[0, 1, -1]], "point -1"),
        ([[0, 1, 2], [3, 3, 2]], r"Triplet 1 is \(3, 3, 2\)"),
    ],
)
def test_bad_triplets_are_named(rows, message):
    with pytest.raises(ValueError, match=message):
        Triplets(rows, 9)


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
    from holdfast.constraints import search

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
    from holdfast.constraints import search

    rng = np.random.default_rng(2)
    X, y = np.round(3 * rng.normal(size=(150, 3))), rng.integers(0, 3, 150)  # whole numbers: many are equally far
    monkeypatch.setattr(search, "_FEW", few)
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2) + np.where(np.eye(150), np.inf, 0.0)
    same, other = nearest_by_class(X, y, 4, 6)
    for found, mask in ((same, y[:, None] == y), (other, y[:, None] != y)):
        order = np.argsort(np.where(mask, D, np.inf), axis=1, kind="stable")[:, : found.shape[1]]
        np.testing.assert_array_equal(found, order)


def test_knn_triplets_are_the_definition():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    rows = {tuple(r) for r in knn_triplets(X, y, n_neighbors=2, n_impostors=4).rows.tolist()}
    D = np.linalg.norm(X[:, None] - X[None], axis=2) + np.where(np.eye(40), np.inf, 0)
    expected = set()
    for i in range(40):
        near = [j for j in np.argsort(D[i]) if y[j] == y[i]][:2]
        far = [l for l in np.argsort(D[i]) if y[l] != y[i]][:4]
        expected |= {(i, int(j), int(l)) for j in near for l in far}
    assert rows == expected


def test_every_impostor_on_request():
    X = np.arange(7.0)[:, None]
    y = np.array([0, 0, 0, 0, 1, 1, 1])
    rows = knn_triplets(X, y, n_neighbors=1, n_impostors=None).rows
    assert len(rows) == 4 * 3 + 3 * 4
    assert (y[rows[:, 2]] != y[rows[:, 0]]).all()
    np.testing.assert_array_equal(knn_triplets(X, y, n_neighbors=1, n_impostors=99).rows, rows)


def test_fewer_impostors_than_asked_for():
    X = np.arange(8.0)[:, None]
    y = np.array([0, 0, 0, 0, 0, 0, 1, 1])
    rows = knn_triplets(X, y, n_neighbors=1, n_impostors=3).rows
    assert {(0, 1, 6), (0, 1, 7), (6, 7, 5), (6, 7, 4), (6, 7, 3)} <= {tuple(r) for r in rows.tolist()}
    assert rows.min() >= 0


def test_small_classes_use_what_they_have_and_say_so():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [20.0]])
    y = np.array(["a", "a", "a", "b", "b", "c"])
    with pytest.warns(UserWarning, match=r"smaller classes use the targets they have: a \(3\), b \(2\), c \(1\)"):
        rows = knn_triplets(X, y, n_neighbors=3).rows
    anchors, counts = np.unique(rows[:, 0], return_counts=True)
    assert anchors.tolist() == [0, 1, 2, 3, 4]  # the single c is no anchor ...
    assert 5 in rows[:, 2]  # ... but an impostor
    assert counts.tolist() == [6, 6, 6, 4, 4]


@pytest.mark.parametrize(
    ("X", "y", "settings", "message"),
    [
        ([[0.0], [1.0]], [1, 1], {}, "only one class"),
        ([[0.0], [1.0]], [0, 1], {}, "single member"),
        ([[0.0], [1.0], [2.0]], [0, 0, 1], {"n_neighbors": 0}, "n_neighbors must be"),
        ([[0.0], [1.0], [2.0]], [0, 0, 1], {"n_impostors": 1.5}, "n_impostors must be"),
    ],
)
def test_what_cannot_give_triplets_is_said(X, y, settings, message):
    with pytest.raises(ValueError, match=message):
        knn_triplets(X, y, **settings)


def _by_definition(X, y, queries, labels, own, k, same):
    """Nearest first by exact d² (whole numbers), of equals the smaller index; -1 where there are no more."""
    found = np.full((len(queries), k), -1)
    for q, (x, c) in enumerate(zip(queries, labels, strict=True)):
        able = [j for j in range(len(X)) if (y[j] == c) == same and j != own[q]]
        able.sort(key=lambda j, x=x: (sum(int(d) ** 2 for d in (X[j] - x)), j))
        found[q, : min(k, len(able))] = able[:k]
    return found


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
