"""Triplets from labelled data: each point with its nearest points of the same class and of other classes."""

import warnings

import numpy as np
from sklearn.utils import check_X_y

from holdfast.constraints.neighbor_search import NeighborSearch, as_search
from holdfast.constraints.triplets import Triplets
from holdfast.parameters import check_count


def knn_triplets(
    X,
    y,
    n_neighbors: int = 3,
    n_impostors: int | None = 10,
    n_jobs: int | None = None,
    neighbors: str | NeighborSearch = "exact",
) -> Triplets:
    """Every point with its nearest targets, each with the point's nearest impostors.

    ``S = {(i, j) : j among the n_neighbors nearest points of i's class}``,
    ``R = {(i, j, l) : (i, j) in S, l among the n_impostors nearest points of other classes}``,
    nearest in the Euclidean sense.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    n_neighbors : int
        Targets per point. In a class with fewer other members, all of them; a point that is alone in its
        class is not an anchor, but can be an impostor of others.
    n_impostors : int or None
        Impostors per point; None takes every point of the other classes, as in the paper's definition
        of R (its experiments take 10).
    n_jobs : int or None
        Threads of the neighbour search.
    neighbors : {"exact", "approximate"} or NeighborSearch
        How neighbours are searched for, and for how many points.

    Returns
    -------
    Triplets

    References
    ----------
    Weinberger and Saul, "Distance metric learning for large margin nearest neighbor
    classification", JMLR 10, 2009, section 3.

    Examples
    --------
    >>> from holdfast.constraints import knn_triplets
    >>> X = [[0.0], [1.0], [5.0], [6.0]]
    >>> knn_triplets(X, [0, 0, 1, 1], n_neighbors=1, n_impostors=1).rows.tolist()
    [[0, 1, 2], [1, 0, 2], [2, 3, 1], [3, 2, 1]]
    """
    X, y = check_X_y(X, y, dtype=np.float64, order="C")
    check_count("knn_triplets", "n_neighbors", n_neighbors)
    if n_impostors is not None:
        check_count("knn_triplets", "n_impostors", n_impostors)
    search = as_search(neighbors)
    labels, y = np.unique(y, return_inverse=True)
    if labels.size < 2:
        raise ValueError(
            f"The target has only one class ({labels[0]!r}), so there are no impostors to push "
            "away: metric learning needs at least two classes."
        )
    sizes = np.bincount(y)
    warn_small_classes(labels, sizes, n_neighbors)
    n = X.shape[0]
    n_impostors = n if n_impostors is None else n_impostors
    every = n_impostors >= n - sizes.min()  # all points of other classes are impostors: none to search for
    anchors = search.anchors(y)
    # Arrays (n_anchors, n_neighbors) and (n_anchors, n_impostors); -1 where there are no more.
    targets, impostors = search.nearest(X, y, n_neighbors, 1 if every else n_impostors, anchors, n_jobs)

    if every:
        parts = []
        for c in np.flatnonzero(sizes > 1):
            members = np.flatnonzero(y[anchors] == c)
            j = targets[members, : min(n_neighbors, sizes[c] - 1)]
            parts.append(cross(anchors[members].astype(np.int32), j, np.flatnonzero(y != c)[None].astype(np.int32)))
        i, j, l = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    else:
        i, j, l = cross(anchors.astype(np.int32), targets, impostors)
        if targets.min() < 0 or impostors.min() < 0:
            there = (j >= 0) & (l >= 0)
            i, j, l = i[there], j[there], l[there]
    return Triplets.from_columns(i, j, l, n)


def cross(anchors: np.ndarray, targets: np.ndarray, impostors: np.ndarray) -> list[np.ndarray]:
    """Columns i, j, l: every anchor with each combination of its targets and its impostors."""
    shape = (*targets.shape, impostors.shape[1])  # anchors × targets × impostors
    columns = (anchors[:, None, None], targets[:, :, None], impostors[:, None, :])
    return [np.broadcast_to(column, shape).reshape(-1) for column in columns]


def warn_small_classes(labels: np.ndarray, sizes: np.ndarray, n_neighbors: int) -> None:
    """Warn of classes with fewer than n_neighbors + 1 members; raise ``ValueError`` if none has two."""
    if sizes.max() < 2:
        raise ValueError(
            "Every class has a single member, so no point has a target neighbour: metric learning "
            "needs a class with at least two members."
        )
    small = np.flatnonzero(sizes <= n_neighbors)
    if small.size:
        shown = ", ".join(f"{labels[c]!s} ({sizes[c]})" for c in small[:5])
        more = f" and {small.size - 5} more" if small.size > 5 else ""
        warnings.warn(
            f"n_neighbors={n_neighbors} targets per point need classes of at least "
            f"{n_neighbors + 1} members; smaller classes use the targets they have: {shown}{more}.",
            UserWarning,
            stacklevel=4,
        )
