"""Boxes of a search tree: those that scikit-learn makes hold the points, and any other is not believed."""

import numpy as np
import pytest
from sklearn.neighbors import BallTree, KDTree, KNeighborsClassifier

from holdfast import certify
from holdfast.certificates.scikit_neighbors import boxes_hold, measures_euclidean


class Stored:
    """The arrays of a tree, changed."""

    def __init__(self, tree, number: int, change):
        self._arrays = [np.asarray(array).copy() for array in tree.get_arrays()]
        self._arrays[number] = change(self._arrays[number])

    def get_arrays(self):
        """Points, their order, nodes and boxes."""
        return self._arrays


@pytest.mark.parametrize("leaf_size", [1, 2, 7, 30, 1000])
@pytest.mark.parametrize("n", [1, 2, 3, 100, 257])
def test_trees_of_scikit_learn(n, leaf_size):
    rng = np.random.default_rng(n)
    for points in (rng.normal(size=(n, 3)), rng.integers(2, size=(n, 1)).astype(float)):
        assert boxes_hold(KDTree(points, leaf_size=leaf_size), points)


def test_other_trees_and_other_points_are_not_believed():
    points = np.random.default_rng(0).normal(size=(50, 2))
    other = points.copy()
    other[7, 1] = np.nextafter(other[7, 1], 9.0)
    assert not boxes_hold(KDTree(points), other)
    assert not boxes_hold(KDTree(points), points[:-1])
    assert not boxes_hold(BallTree(points), points)
    assert not boxes_hold(None, points)


def moved(number, at, by):
    """A change of one number."""

    def change(array):
        array[at] += by
        return array

    return number, change


def without_leaves(nodes):
    """Every node has children, the last ones too."""
    nodes["is_leaf"] = 0
    return nodes


def cut_short(nodes):
    """A leaf that lacks its last point."""
    nodes["idx_end"][-1] -= 1
    return nodes


@pytest.mark.parametrize(
    ("number", "change"),
    [
        moved(1, 3, 1),  # a point twice, another not at all
        moved(3, (0, 5, 0), 1e-9),  # boxes that begin too late, or end too early
        moved(3, (1, 5, 1), -1e-9),
        moved(3, (0, 0, 0), 1e-9),
        moved(3, (1, 2, 1), np.nan),
        (2, without_leaves),
        (2, cut_short),
        (2, lambda nodes: nodes[:-1]),
        (3, lambda boxes: boxes[:1]),
        (2, lambda nodes: np.zeros(len(nodes))),
    ],
)
def test_a_tree_with_another_number_in_it_is_not_believed(number, change, monkeypatch):
    points = np.random.default_rng(0).normal(size=(60, 2))
    monkeypatch.setattr("holdfast.certificates.scikit_neighbors.KDTree", Stored)
    tree = KDTree(points, leaf_size=5)
    assert boxes_hold(Stored(tree, 0, lambda data: data), points)
    assert not boxes_hold(Stored(tree, number, change), points)


def test_a_point_that_left_its_box_after_fit_is_refused():
    rng = np.random.default_rng(0)
    points, y = rng.normal(size=(200, 2)), rng.integers(2, size=200)
    model = KNeighborsClassifier(1, algorithm="kd_tree", leaf_size=2).fit(points, y)
    before = certify(model, points[:5]).radius
    points[17] += [4.0, 0.0]  # scikit-learn does not copy them
    assert not boxes_hold(model._tree, model._fit_X)
    with pytest.raises(ValueError, match=r"rows|distances"):
        certify(model, points[:5])
    points[17] -= [4.0, 0.0]
    np.testing.assert_allclose(certify(model, points[:5]).radius, before, rtol=1e-6)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "minkowski"])
def test_only_a_tree_of_the_euclidean_distance_is_taken_for_one(metric):
    points = np.random.default_rng(0).normal(size=(60, 2))
    assert measures_euclidean(KDTree(points))
    options = {"p": 3} if metric == "minkowski" else {}
    assert not measures_euclidean(KDTree(points, metric=metric, **options))
    assert not measures_euclidean(BallTree(points))
    assert not measures_euclidean(None)


def test_a_tree_of_another_metric_behind_a_euclidean_name_is_refused():
    rng = np.random.default_rng(0)
    points, y = rng.normal(size=(200, 3)), rng.integers(2, size=200)
    model = KNeighborsClassifier(1, p=1, algorithm="kd_tree").fit(points, y).set_params(p=2)
    model.effective_metric_ = "euclidean"
    with pytest.raises(ValueError, match="distances"):
        certify(model, points[:5])
