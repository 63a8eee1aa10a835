"""Neighbours that are likely the nearest, by faiss: the only file that knows it."""

import warnings

import numpy as np

from holdfast.constraints.search import nearest_by_class
from holdfast.threads import n_threads

_POINTS_PER_CELL = 39  # at least; faiss asks for as many to place a cell


def likely_by_class(
    X: np.ndarray,
    y: np.ndarray,
    n_same: int,
    n_other: int,
    anchors: np.ndarray,
    effort: float,
    seed: int,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Near points of each anchor's own class, and of the other classes: of those in the nearest cells.

    The points are cut into about ``4√n`` cells by k-means, in single precision; the cells nearest to an
    anchor are looked through. An anchor that finds fewer than it should there is searched for exactly.

    Parameters
    ----------
    X, y, n_same, n_other, anchors, n_jobs
        As for :func:`~holdfast.constraints.search.nearest_by_class`.
    effort : float
        Share of the cells that is looked through, in (0, 1].
    seed : int
        Of k-means. The same seed gives the same neighbours, on any number of threads.

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
            # The anchor itself, if it is there, goes to the end, and the end is cut off.
            found = np.take_along_axis(found, np.argsort(found == own[:, None], axis=1, kind="stable"), axis=1)
            same[rows] = _named(order, found[:, :n_same])
            found = _search(faiss, index, points[own], n_other, n_probes, faiss.IDSelectorNot(members))
            other[rows] = _named(order, found)
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
    """The points in their cells, and how many cells an anchor looks through."""
    n, p = points.shape
    n_cells = max(1, min(int(4 * np.sqrt(n)), n // _POINTS_PER_CELL))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(p), p, n_cells)
    index.cp.seed, index.cp.niter, index.cp.min_points_per_centroid = seed % 2**31, 8, 1
    index.cp.max_points_per_centroid = 2 * _POINTS_PER_CELL
    index.train(points)
    index.add(points)
    return index, int(np.ceil(effort * n_cells))


def _search(faiss, index, queries: np.ndarray, k: int, n_probes: int, among) -> np.ndarray:
    return index.search(queries, k, params=faiss.SearchParametersIVF(sel=among, nprobe=n_probes))[1]


def _named(order: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Places in the order of classes, as indices of points; -1 stays."""
    return np.where(found < 0, -1, order[found])


def _faiss():
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
