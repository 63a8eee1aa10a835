"""Approximate nearest neighbours by class, with faiss; no other file imports it."""

import warnings

import numpy as np

from holdfast.constraints.search import nearest_by_class
from holdfast.numerics.threads import n_threads

_POINTS_PER_CELL = 39  # minimum; with fewer, faiss warns that k-means cannot place a cell


def approximate_nearest_by_class(
    X: np.ndarray,
    y: np.ndarray,
    n_same: int,
    n_other: int,
    anchors: np.ndarray,
    effort: float,
    seed: int,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours of each anchor in its own class, and in the other classes, among the points of the nearest cells.

    K-means puts the points into about ``4√n`` cells, in single precision; an anchor is compared with the
    points of the cells nearest to it. Where these hold too few neighbours, the anchor is searched exactly.

    Parameters
    ----------
    X, y, n_same, n_other, anchors, n_jobs
        As for :func:`~holdfast.constraints.search.nearest_by_class`.
    effort : float
        Fraction of the cells to search, in (0, 1].
    seed : int
        Seed of k-means. The same seed gives the same neighbours, on any number of threads.

    Returns
    -------
    same, other : int32 ndarrays of shapes (n_anchors, n_same) and (n_anchors, n_other)
        Nearest first; -1 where there are no more.
    """
    faiss = _faiss()
    n = X.shape[0]
    order = np.argsort(y, kind="stable")  # a class is then a range of indices
    starts = np.searchsorted(y[order], np.arange(y.max() + 2))
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    points = (X - X.mean(axis=0)).astype(np.float32)[order]
    same, other = (np.full((anchors.size, k), -1, np.int32) for k in (n_same, n_other))
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n_threads(n_jobs))
    try:
        index, n_probes = _cells(faiss, points, effort, seed)
        for c in np.unique(y[anchors]):
            rows = np.flatnonzero(y[anchors] == c)
            own = place[anchors[rows]]
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
    """Indices of points from places in the order of classes; -1 stays -1."""
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
