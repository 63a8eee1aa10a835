"""What a metric is learned from: triplets (i, j, l), made from labels by a search for neighbours; and class proxies.

Point i should be nearer to its target j than to its impostor l.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, check_X_y

from holdfast._core.geometry import count_keys, drop_reversed, fill_distinct, fill_pairs_of_anchors, mark, order_keys
from holdfast.base.blocks import n_threads
from holdfast.base.inputs import check_count, check_number
from holdfast.base.neighbors import nearest_by_class

_METHODS = ("exact", "approximate")
_POINTS_PER_CELL = 39  # minimum; with fewer, faiss warns that k-means cannot place a cell
# K-means runs on a sample of at most this many points, or this many per centre: the centres need not be exact.
_MAX_SAMPLE, _MAX_SAMPLE_PER_CENTRE = 5000, 50


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct index pairs, int32, sorted by their first point."""

    first: np.ndarray
    second: np.ndarray
    n_samples: int

    def __len__(self) -> int:
        return self.first.size

    @cached_property
    def indptr(self) -> np.ndarray:
        """Offsets: the pairs with first point i are ``indptr[i]`` to ``indptr[i + 1]``."""
        return ranges(self.first, self.n_samples)


class Triplets:
    """Triplets ``R = {(i, j, l)}``: point i should be nearer to target j than to impostor l.

    Triplets are sorted by their anchor i; those of one anchor keep the order in which they were given. Their index
    pairs are de-duplicated, and each triplet refers to its pairs by position, so that a distance which many triplets
    share is computed once. Distances need the pairs (i, j) and (i, l), which are sorted by anchor too, so that the data
    of one anchor are contiguous. The slope h needs the unordered pair {j, l}; these pairs are made on first use.

    Parameters
    ----------
    rows : array-like of shape (n_triplets, 3)
        Indices (i, j, l) of points.
    n_samples : int
        Number of points.

    Examples
    --------
    >>> from holdfast.learn import Triplets
    >>> triplets = Triplets([[1, 0, 2], [0, 1, 2], [0, 1, 3]], n_samples=4)
    >>> triplets.rows.tolist()
    [[0, 1, 2], [0, 1, 3], [1, 0, 2]]
    >>> len(triplets), len(triplets.pairs)      # (0,1), (0,2), (0,3), (1,0), (1,2)
    (3, 5)
    """

    def __init__(self, rows, n_samples: int):
        i, j, l = _check_rows(rows, n_samples).T
        self._set(i, j, l, n_samples)

    @classmethod
    def from_columns(cls, i: np.ndarray, j: np.ndarray, l: np.ndarray, n_samples: int) -> "Triplets":
        """Triplets from three int32 arrays, without the checks of the constructor."""
        self = cls.__new__(cls)
        self._set(i, j, l, n_samples)
        return self

    def _set(self, i: np.ndarray, j: np.ndarray, l: np.ndarray, n_samples: int) -> None:
        self.n_samples = int(n_samples)
        if (i[1:] < i[:-1]).any():
            _, order = group(i, self.n_samples)
            i, j, l = i[order], j[order], l[order]
        self.i, self.j, self.l = (np.ascontiguousarray(column) for column in (i, j, l))

    def __len__(self) -> int:
        return self.i.size

    def __repr__(self) -> str:
        return f"<{len(self)} triplets over {self.n_samples} points>"

    @property
    def rows(self) -> np.ndarray:
        """The triplets as an array of shape (n_triplets, 3)."""
        return np.column_stack([self.i, self.j, self.l])

    def take(self, rows) -> "Triplets":
        """The triplets at some positions of ``rows`` (indices, slice or mask), over the same points."""
        return self.from_columns(self.i[rows], self.j[rows], self.l[rows], self.n_samples)

    @cached_property
    def anchors(self) -> np.ndarray:
        """The distinct points i, by growing index."""
        return np.flatnonzero(self._mask_of(self.i))

    def of_anchors(self, anchors: np.ndarray) -> tuple[np.ndarray, "Triplets"]:
        """The points that the triplets of some anchors refer to, and these triplets renumbered over them.

        Examples
        --------
        >>> points, few = Triplets([[0, 1, 2], [7, 5, 2], [7, 5, 3]], n_samples=9).of_anchors([7])
        >>> points.tolist(), few.rows.tolist()
        ([2, 3, 5, 7], [[3, 2, 0], [3, 2, 1]])
        """
        wanted = np.zeros(self.n_samples, bool)
        wanted[anchors] = True
        part = self.take(np.flatnonzero(wanted[self.i]))
        position = np.cumsum(part.named, dtype=np.int32) - np.int32(1)
        points = np.flatnonzero(part.named)
        return points, self.from_columns(position[part.i], position[part.j], position[part.l], points.size)

    def renumbered(self, order: np.ndarray) -> "Triplets":
        """The same triplets after the points have been reordered: point ``order[r]`` becomes r.

        Examples
        --------
        >>> Triplets([[0, 1, 2], [1, 2, 0]], n_samples=3).renumbered([2, 1, 0]).rows.tolist()
        [[1, 0, 2], [2, 1, 0]]
        """
        position = np.empty(self.n_samples, np.int32)
        position[order] = np.arange(self.n_samples, dtype=np.int32)
        return self.from_columns(position[self.i], position[self.j], position[self.l], self.n_samples)

    @property
    def named(self) -> np.ndarray:
        """Mask of the points that occur in some triplet."""
        return self._mask_of(self.i, self.j, self.l)

    def _mask_of(self, *columns: np.ndarray) -> np.ndarray:
        mask = np.zeros(self.n_samples, bool)
        for column in columns:
            mark(mask, column)
        return mask

    @cached_property
    def indptr(self) -> np.ndarray:
        """Offsets: the triplets of anchor i are ``indptr[i]`` to ``indptr[i + 1]``."""
        return ranges(self.i, self.n_samples)

    @cached_property
    def _distances(self) -> tuple[Pairs, np.ndarray, np.ndarray, np.ndarray]:
        first, second, ij, il, targets = _pairs_of_anchors(self.i, self.j, self.l, self.n_samples)
        return Pairs(first, second, self.n_samples), ij, il, targets

    @property
    def targets(self) -> np.ndarray:
        """``S``, the distinct pairs (i, j): for each, the position of its first triplet."""
        return self._distances[3]

    @property
    def pairs(self) -> Pairs:
        """The distinct pairs among all (i, j) and (i, l)."""
        return self._distances[0]

    @property
    def ij(self) -> np.ndarray:
        """Position of (i, j) among ``pairs``, per triplet."""
        return self._distances[1]

    @property
    def il(self) -> np.ndarray:
        """Position of (i, l) among ``pairs``, per triplet."""
        return self._distances[2]

    @cached_property
    def _slopes(self) -> tuple[Pairs, np.ndarray]:
        first, second, position = unique_unordered(self.j, self.l, self.n_samples)
        return Pairs(first, second, self.n_samples), position

    @property
    def slope_pairs(self) -> Pairs:
        """The distinct pairs among all {j, l}."""
        return self._slopes[0]

    @property
    def jl(self) -> np.ndarray:
        """Position of {j, l} among ``slope_pairs``, per triplet."""
        return self._slopes[1]


def _check_rows(rows, n_samples: int) -> np.ndarray:
    """``rows`` as int32; ``ValueError`` if they are not triplets of distinct points below ``n_samples``."""
    rows = np.asarray(rows)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise ValueError(f"triplets must have shape (n_triplets, 3), one row (i, j, l) each; got {rows.shape}.")
    if rows.shape[0] == 0:
        raise ValueError("There are no triplets: at least one row (i, j, l) is needed.")
    if not np.issubdtype(rows.dtype, np.integer):
        raise ValueError(f"triplets must be integer indices of points; got dtype {rows.dtype}.")
    if rows.min() < 0 or rows.max() >= n_samples:
        raise ValueError(
            f"triplets name point {int(rows.min()) if rows.min() < 0 else int(rows.max())}, "
            f"but the points are 0 to {n_samples - 1}."
        )
    i, j, l = rows.T
    bad = np.flatnonzero((i == j) | (i == l) | (j == l))
    if bad.size:
        raise ValueError(
            f"Triplet {int(bad[0])} is {tuple(rows[bad[0]].tolist())}: the three points of a triplet must differ."
        )
    return rows.astype(np.int32)


# -- index pairs without duplicates -----------------------------------------------------------------


def ranges(keys: np.ndarray, n_groups: int) -> np.ndarray:
    """Range of each group among the sorted keys: key g is at ``indptr[g]`` to ``indptr[g + 1]``.

    >>> ranges(np.array([2, 0, 2], np.int32), 4).tolist()
    [0, 1, 1, 3, 3]
    """
    indptr = np.zeros(n_groups + 1, np.int64)
    count_keys(keys, indptr[1:])
    return np.cumsum(indptr, out=indptr)


def group(keys: np.ndarray, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of every key, grouped by a stable counting sort: those of g are ``order[indptr[g]:indptr[g + 1]]``.

    >>> indptr, order = group(np.array([2, 0, 2], np.int32), 4)
    >>> order.tolist()
    [1, 0, 2]
    """
    indptr = ranges(keys, n_groups)
    order = np.empty(keys.size, np.int32)
    order_keys(keys, indptr[:-1].copy(), order)
    return indptr, order


def _pairs_of_anchors(i: np.ndarray, j: np.ndarray, l: np.ndarray, n: int) -> tuple[np.ndarray, ...]:
    """Distinct pairs (i, j) and (i, l) of triplets that are sorted by i, in linear time: first and second point of
    each, the positions ij and il of each triplet's pairs, and of each distinct (i, j) the first triplet that has it.
    """
    size = i.size
    most = min(2 * size, n * n)  # pairs, at most
    first, second = np.empty(most, np.int32), np.empty(most, np.int32)
    ij, il, targets = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int64)
    met_under, target_of = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    count, n_targets = fill_pairs_of_anchors(
        i, j, l, met_under, np.empty(n, np.int32), target_of, first, second, ij, il, targets
    )
    return first[:count].copy(), second[:count].copy(), ij, il, targets[:n_targets].copy()


def unique_unordered(i: np.ndarray, j: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct unordered pairs {i, j}, and each input's position among them, in linear time. A pair is listed under the
    point that was named first in it (the smaller, if each was), in the order of these points.

    >>> i, j = np.array([3, 1, 3], np.int32), np.array([1, 3, 2], np.int32)
    >>> first, second, position = unique_unordered(i, j, 4)
    >>> first.tolist(), second.tolist(), position.tolist()
    ([1, 3], [3, 2], [0, 0, 1])
    """
    first, second, position = np.empty_like(i), np.empty_like(j), np.empty(i.size, np.int32)
    met_at = np.empty(n, np.int32)
    count = fill_distinct(*group(i, n), j, np.full(n, -1, np.int32), met_at, first, second, position)
    first, second = first[:count], second[:count]
    new, twin = np.empty(count, np.int32), np.full(count, -1, np.int32)
    count = drop_reversed(first, second, position, *group(second, n), np.full(n, -1, np.int32), met_at, new, twin)
    return first[:count].copy(), second[:count].copy(), position


# -- targets and impostors --------------------------------------------------------------------------


class NeighborSearch(BaseEstimator):
    """The points that become anchors, and the method that finds their neighbours.

    ``LMNN(neighbors=NeighborSearch(...))``; the strings ``"exact"`` and ``"approximate"`` stand for
    ``NeighborSearch("exact")`` and ``NeighborSearch("approximate")``. An exact search costs
    ``anchors × points × features``, in blocks: memory does not grow with that product.

    Parameters
    ----------
    method : {"exact", "approximate"}, default="exact"
        "approximate" searches only the cells of points nearest to an anchor, with faiss
        (``pip install "holdfast[approximate]"``).
    n_anchors : int or None, default=None
        Number of points that become anchors i of triplets: a random sample, stratified by class, with at least
        one of every class. Their targets and impostors are searched for among *all* points. None takes every
        point.
    effort : float, default=0.1
        For "approximate": the fraction of the cells that is searched for each anchor, in (0, 1]. A larger one
        finds more of the true neighbours and takes longer; 1 finds all, up to rounding to single precision.
    random_state : int, RandomState or None, default=None
        Draws the anchors, and seeds the k-means of the cells, for which None is 0.

    References
    ----------
    Douze et al., "The faiss library", 2024, for the approximate search.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from holdfast import LMNN
    >>> from holdfast.learn import NeighborSearch, knn_triplets
    >>> X, y = load_digits(return_X_y=True)
    >>> len(knn_triplets(X, y, n_neighbors=3, n_impostors=10, neighbors=NeighborSearch(n_anchors=200, random_state=0)))
    6000
    """

    def __init__(self, method: str = "exact", n_anchors: int | None = None, effort: float = 0.1, random_state=None):
        self.method = method
        self.n_anchors = n_anchors
        self.effort = effort
        self.random_state = random_state

    def check(self) -> None:
        """Raise ``ValueError`` if a parameter is out of range."""
        if self.method not in _METHODS:
            raise ValueError(f"NeighborSearch: method must be 'exact' or 'approximate'; got {self.method!r}.")
        if self.n_anchors is not None:
            check_count("NeighborSearch", "n_anchors", self.n_anchors)
        check_number("NeighborSearch", "effort", self.effort, above=0)
        if self.effort > 1:
            raise ValueError(f"NeighborSearch: effort is a fraction, at most 1; got {self.effort!r}.")

    def anchors(self, y: np.ndarray) -> np.ndarray:
        """The points that become anchors, by growing index; points alone in their class are left out.

        Parameters
        ----------
        y : int ndarray of shape (n_samples,)
            Class codes.
        """
        sizes = np.bincount(y)
        able = np.flatnonzero(sizes[y] > 1)
        if self.n_anchors is None or self.n_anchors >= able.size:
            return able
        rng = check_random_state(self.random_state)
        shuffled = able[rng.permutation(able.size)]
        # From every class the first of its shuffled members: its share, rounded down, but at least one. What
        # rounding leaves over is taken from the rest, in shuffled order.
        shares = np.maximum(1, np.floor(self.n_anchors * sizes / able.size).astype(int))
        order = np.argsort(y[shuffled], kind="stable")
        codes = y[shuffled[order]]
        rank = np.arange(order.size) - np.searchsorted(codes, codes)  # of each within its class
        first = rank < shares[codes]
        chosen, rest = shuffled[order[first]], shuffled[np.sort(order[~first])]
        return np.sort(np.concatenate([chosen, rest[: max(0, self.n_anchors - chosen.size)]]))

    def nearest(
        self, X: np.ndarray, y: np.ndarray, n_same: int, n_other: int, anchors: np.ndarray, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Targets and impostors of the anchors; as :func:`~holdfast.base.neighbors.nearest_by_class`."""
        if self.method == "exact":
            return nearest_by_class(X, y, n_same, n_other, n_jobs, anchors=anchors)
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        return _approximate_nearest_by_class(X, y, n_same, n_other, anchors, self.effort, seed, n_jobs)


def as_search(neighbors) -> NeighborSearch:
    """The checked NeighborSearch that a ``neighbors=`` parameter stands for."""
    if isinstance(neighbors, str) and neighbors in _METHODS:
        return NeighborSearch(neighbors)
    if not isinstance(neighbors, NeighborSearch):
        raise ValueError(
            "neighbors must be 'exact', 'approximate' or a holdfast.learn.NeighborSearch, for example "
            f"NeighborSearch(n_anchors=100_000, random_state=0); got {neighbors!r}."
        )
    neighbors.check()
    return neighbors


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
    >>> from holdfast.learn import knn_triplets
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
    sizes = np.bincount(y)
    check_class_sizes(labels, sizes, n_neighbors)
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


def check_class_sizes(labels: np.ndarray, sizes: np.ndarray, n_neighbors: int) -> None:
    """Raise ``ValueError`` if there is one class, or none has two members; warn of n_neighbors members or fewer."""
    if labels.size < 2:
        raise ValueError(
            f"The target has only one class ({labels[0]!r}), so there are no impostors to push "
            "away: metric learning needs at least two classes."
        )
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


def _approximate_nearest_by_class(
    X: np.ndarray,
    y: np.ndarray,
    n_same: int,
    n_other: int,
    anchors: np.ndarray,
    effort: float,
    seed: int,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours of each anchor in its own class and in the others, among the points of the nearest of about ``4√n``
    cells of K-means in single precision; an anchor whose cells hold too few is searched exactly.
    """
    faiss = _faiss()
    n = X.shape[0]
    order = np.argsort(y, kind="stable")  # a class is then a range of indices
    starts = np.searchsorted(y[order], np.arange(y.max() + 2))
    position = np.empty(n, np.int64)
    position[order] = np.arange(n)
    points = (X - X.mean(axis=0)).astype(np.float32)[order]
    same, other = (np.full((anchors.size, k), -1, np.int32) for k in (n_same, n_other))
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n_threads(n_jobs))
    try:
        index, n_probes = _cells(faiss, points, effort, seed)
        for c in np.unique(y[anchors]):
            rows = np.flatnonzero(y[anchors] == c)
            own = position[anchors[rows]]
            members = faiss.IDSelectorRange(int(starts[c]), int(starts[c + 1]))
            found = _search(faiss, index, points[own], n_same + 1, n_probes, members)
            # The anchor itself, if it was found, is sorted to the end, and the end is dropped.
            found = np.take_along_axis(found, np.argsort(found == own[:, None], axis=1, kind="stable"), axis=1)
            same[rows] = _original_indices(order, found[:, :n_same])
            found = _search(faiss, index, points[own], n_other, n_probes, faiss.IDSelectorNot(members))
            other[rows] = _original_indices(order, found)
    finally:
        faiss.omp_set_num_threads(threads)
    sizes = np.diff(starts)[y[anchors]]
    few = ((same >= 0).sum(axis=1) < np.minimum(n_same, sizes - 1)) | (
        (other >= 0).sum(axis=1) < np.minimum(n_other, n - sizes)
    )
    if few.any():
        same[few], other[few] = nearest_by_class(X, y, n_same, n_other, n_jobs, anchors=anchors[few])
    return same, other


def _cells(faiss, points: np.ndarray, effort: float, seed: int):
    """An index of the points by cells, and the number of cells to search per anchor."""
    n, p = points.shape
    n_cells = max(1, min(int(4 * np.sqrt(n)), n // _POINTS_PER_CELL))  # 4√n: the rule of thumb of faiss
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(p), p, n_cells)
    index.cp.seed, index.cp.niter, index.cp.min_points_per_centroid = seed % 2**31, 8, 1
    index.cp.max_points_per_centroid = 2 * _POINTS_PER_CELL
    index.train(points)
    index.add(points)
    return index, int(np.ceil(effort * n_cells))


def _search(faiss, index, queries: np.ndarray, k: int, n_probes: int, among) -> np.ndarray:
    """The k nearest to each query among the points that the selector ``among`` admits; -1 where there are no more."""
    return index.search(queries, k, params=faiss.SearchParametersIVF(sel=among, nprobe=n_probes))[1]


def _original_indices(order: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Indices of points from positions in the order of classes; -1 stays -1."""
    return np.where(found < 0, -1, order[found])


def _faiss():
    """The module faiss; ``ImportError`` with the extra that installs it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of its bindings, on some versions of Python
            import faiss
    except ImportError as missing:
        raise ImportError(
            'neighbors="approximate" needs faiss: pip install "holdfast[approximate]", or take neighbors="exact", '
            "for a sample of the points if there are many: NeighborSearch(n_anchors=100_000)."
        ) from missing
    return faiss


# -- class proxies ----------------------------------------------------------------------------------


def centres(points: np.ndarray, count: int, rng) -> np.ndarray:
    """``count`` centres of k-means; the distinct points themselves if there are at most ``count`` of them."""
    most = max(_MAX_SAMPLE, _MAX_SAMPLE_PER_CENTRE * count)
    if points.shape[0] > most:
        points = points[rng.choice(points.shape[0], most, replace=False)]
    distinct = np.unique(points, axis=0)
    if distinct.shape[0] <= count:
        return distinct
    from sklearn.cluster import KMeans  # here, because only SCML needs it and it is slow to import

    means = KMeans(count, n_init=1, max_iter=20, tol=1e-2, random_state=rng.randint(2**31 - 1))
    return means.fit(points).cluster_centers_


def class_proxies(X: np.ndarray, y: np.ndarray, n_proxies: int, random_state=None) -> tuple[np.ndarray, np.ndarray]:
    """The centres of k-means within each class, ``n_proxies`` per class, or its distinct points if there are fewer;
    with their class codes.

    >>> import numpy as np
    >>> from holdfast.learn.supervision import class_proxies
    >>> class_proxies(np.array([[0.0], [2.0], [7.0]]), np.array([0, 0, 1]), n_proxies=1)[0].tolist()
    [[1.0], [7.0]]
    """
    rng = check_random_state(random_state)
    found = [centres(X[y == c], n_proxies, rng) for c in np.unique(y)]
    labels = np.repeat(np.unique(y), [len(part) for part in found])
    return np.vstack(found), labels
