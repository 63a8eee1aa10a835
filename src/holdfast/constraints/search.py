"""Exact neighbours, in one pass over the points for both kinds: same class and other classes."""

import numpy as np
from numba import njit

from holdfast.threads import Workers, n_threads, single_threaded_blas

_ROWS, _COLUMNS = 256, 4096  # one tile of distances: 8 MB a thread


def nearest_by_class(
    X: np.ndarray,
    y: np.ndarray,
    n_same: int,
    n_other: int,
    n_jobs: int | None = None,
    queries: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest points of each point's own class, and of the other classes.

    Distances are made tile by tile, as ``‖x‖² − 2 xᵀz + ‖z‖²`` of centred points; memory does not grow
    with the square of the number of points.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : int ndarray of shape (n_samples,)
        Class codes.
    n_same, n_other : int
        How many of each kind.
    n_jobs : int or None
        Threads.
    queries : tuple (Q, labels), optional
        Points to search for, with their class codes; by default the points of X themselves, none of
        which is its own neighbour.

    Returns
    -------
    same, other : int32 ndarrays of shapes (n_queries, n_same) and (n_queries, n_other)
        Nearest first, of equals the one with the smaller index; -1 where there are no more.
    """
    centre = X.mean(axis=0)
    X = X - centre
    Q, labels = (X, y) if queries is None else (queries[0] - centre, queries[1])
    n, m = X.shape[0], Q.shape[0]
    squares = np.einsum("np,np->n", X, X)
    found = [np.full((m, k), -1, np.int32) for k in (n_same, n_other)]

    def block(rows: slice) -> None:
        size = rows.stop - rows.start
        distances = [np.full((size, k), np.inf) for k in (n_same, n_other)]
        own = rows.start if queries is None else -n - m  # the index of a row's own point, if it is one
        for start in range(0, n, _COLUMNS):
            tile = Q[rows] @ X[start : start + _COLUMNS].T
            for kind, same in enumerate((True, False)):
                _scan(tile, squares, y, labels[rows], same, own, start, distances[kind], found[kind][rows])

    parts = [slice(start, min(start + _ROWS, m)) for start in range(0, m, _ROWS)]
    with single_threaded_blas(), Workers(min(n_threads(n_jobs), len(parts))) as workers:
        workers.map(block, parts)
    return found[0], found[1]


def nearest(points: np.ndarray, queries: np.ndarray, k: int, n_jobs: int | None = None) -> np.ndarray:
    """The k nearest points of each query, nearest first, of equals the one that comes first.

    A few more than k are found tile by tile, and ranked by ``Σ (u − z)²``, which does not cancel.

    Returns
    -------
    int32 ndarray of shape (n_queries, k)
    """
    n, m = points.shape[0], queries.shape[0]
    some = min(n, 2 * k + 8)
    one_class = (queries, np.zeros(m, np.int64))
    found, _ = nearest_by_class(points, np.zeros(n, np.int64), some, 1, n_jobs, one_class)
    out = np.empty((m, k), np.int32)
    _rank(points, queries, np.sort(found, axis=1), out)
    return out


@njit(nogil=True, cache=True)
def _rank(points, queries, found, out):
    """Of the points found (in the order of their index), the nearest by exact differences."""
    distances = np.empty(found.shape[1])
    for q in range(queries.shape[0]):
        for c in range(found.shape[1]):
            total = 0.0
            for i in range(points.shape[1]):
                total += (queries[q, i] - points[found[q, c], i]) ** 2
            distances[c] = total
        order = np.argsort(distances, kind="mergesort")
        for c in range(out.shape[1]):
            out[q, c] = found[q, order[c]]


@njit(nogil=True, cache=True)
def _scan(tile, squares, y, labels, same, own, column, distances, found):
    """Insert the points of a tile that are (not) of a row's class into the row's sorted list."""
    for r in range(tile.shape[0]):
        limit = distances[r, -1]
        for c in range(tile.shape[1]):
            d = squares[column + c] - 2.0 * tile[r, c]
            if d < limit:
                j = column + c
                if (y[j] == labels[r]) == same and j != own + r:
                    k = distances.shape[1] - 1
                    while k > 0 and distances[r, k - 1] > d:
                        distances[r, k] = distances[r, k - 1]
                        found[r, k] = found[r, k - 1]
                        k -= 1
                    distances[r, k] = d
                    found[r, k] = j
                    limit = distances[r, -1]
