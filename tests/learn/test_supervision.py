import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.learn import Triplets, knn_triplets
from holdfast.learn.supervision import Pairs
from tests.single_precision import single_precision_first  # noqa: F401

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
