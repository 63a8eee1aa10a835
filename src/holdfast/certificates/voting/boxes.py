"""Bounding boxes of a KD tree: if each contains the points below its node, the tree misses no near point."""

from typing import Any

import numpy as np
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import KDTree

_EUCLIDEAN = type(DistanceMetric.get_metric("euclidean"))


def boxes_hold(tree: Any, points: np.ndarray) -> bool:
    """True if a ``KDTree`` over these very points can be read, and every box contains all points below its node.

    A search skips a node only if its box is too far away, so such a tree misses no point, whatever the query. That is
    a stronger check than a search for every point. False for another kind of tree, and where this version of
    scikit-learn stores it in another way: then the tree must be checked by searches.
    """
    if type(tree) not in (KDTree,):
        return False
    data, order, nodes, boxes = (np.asarray(array) for array in tree.get_arrays())
    fields, n = ("idx_start", "idx_end", "is_leaf"), len(points)
    known = set(fields) <= set(nodes.dtype.names or ()) and boxes.shape == (2, len(nodes), points.shape[1])
    if not (known and np.array_equal(data, points) and np.array_equal(np.sort(order), np.arange(n))):
        return False
    (start, end, leaf), (low, high) = (nodes[name] for name in fields), boxes
    if not (len(nodes) and start[0] == 0 and end[0] == n and (start < end).all()):
        return False
    # The children of node i are 2i + 1 and 2i + 2. Each has a part of its points and a box inside its own.
    above = np.flatnonzero(leaf == 0)
    left, right = 2 * above + 1, 2 * above + 2
    if above.size and right.max() >= len(nodes):
        return False
    parts = (start[left] == start[above]) & (end[left] == start[right]) & (end[right] == end[above])
    inside = [(low[above] <= low[child]).all() and (high[child] <= high[above]).all() for child in (left, right)]
    if not (parts.all() and all(inside)):
        return False
    # The leaves, from left to right, have all points, each in the box of its leaf.
    leaves = np.flatnonzero(leaf != 0)
    leaves = leaves[np.argsort(start[leaves])]
    if not (leaves.size and np.array_equal(end[leaves][:-1], start[leaves][1:])):
        return False
    rows = data[order]
    least, most = (reduce.reduceat(rows, start[leaves], axis=0) for reduce in (np.minimum, np.maximum))
    return bool((low[leaves] <= least).all() and (most <= high[leaves]).all())


def measures_euclidean(tree: Any) -> bool:
    """True if the metric that a ``KDTree`` keeps, by which it searches, is known to be the Euclidean distance."""
    return type(tree) in (KDTree,) and [
        type(part) for part in tree.__getstate__() if isinstance(part, DistanceMetric)
    ] == [_EUCLIDEAN]
