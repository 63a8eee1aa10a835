"""Exact neighbours, in one pass over the points for both kinds: same class and other classes."""

import numpy as np
from numba import njit

from holdfast.threads import Workers, n_threads, single_threaded_blas

_ROWS, _COLUMNS = 256, 1024  # one tile of distances: 2 MB a thread
_MORE = 4  # neighbours found beyond those wanted, because tiles of distances round
_CHUNK = 16  # columns that are passed over together if none of them is near enough


def nearest_by_class(
    X: np.ndarray,
    y: np.ndarray,
    n_same: int,
    n_other: int,
    n_jobs: int | None = None,
    queries: tuple[np.ndarray, np.ndarray] | None = None,
    anchors: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest points of each point's own class, and of the other classes.

    Distances are made tile by tile, as ``‖x‖² − 2 xᵀz + ‖z‖²`` of centred points; memory does not grow
    with the square of the number of points. Points are first put in the order of their classes: a row's own
    class is then one range of columns, and all the rest is others.

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
    anchors : int ndarray of shape (n_queries,), optional
        Rows of X to search for, in place of all of them.

    Returns
    -------
    same, other : int32 ndarrays of shapes (n_queries, n_same) and (n_queries, n_other)
        Nearest first, of equals the one with the smaller index; -1 where there are no more.
    """
    n, centre = X.shape[0], X.mean(axis=0)
    order = np.argsort(y, kind="stable").astype(np.int32)
    place = np.empty(n, np.int64)  # of each point among the columns
    place[order] = np.arange(n)
    columns = (X if (y[1:] >= y[:-1]).all() else X[order]) - centre  # in order already: one copy less
    if queries is not None:
        Q, labels = queries[0] - centre, queries[1]
        own = np.full(len(Q), -1)  # the column of a query's own point, if it is one
    elif anchors is not None:
        Q, labels, own = X[anchors] - centre, y[anchors], place[anchors]
    else:
        Q, labels, own = X - centre, y, place
    m = Q.shape[0]
    first, last = (np.searchsorted(y[order], labels, side) for side in ("left", "right"))
    squares = np.einsum("np,np->n", columns, columns)
    found = [np.full((m, k), -1, np.int32) for k in (n_same, n_other)]

    def block(rows: slice) -> None:
        size = rows.stop - rows.start
        same, other = ((np.full((size, k), np.inf), out[rows]) for k, out in zip((n_same, n_other), found, strict=True))
        for start in range(0, n, _COLUMNS):
            part = slice(start, min(start + _COLUMNS, n))
            tile = Q[rows] @ columns[part].T
            ranges = (first[rows] - start, last[rows] - start, own[rows] - start)
            _scan(tile, squares[part], order[part], *ranges, *same, *other)

    parts = [slice(start, min(start + _ROWS, m)) for start in range(0, m, _ROWS)]
    with single_threaded_blas(), Workers(min(n_threads(n_jobs), len(parts))) as workers:
        workers.map(block, parts)
    return found[0], found[1]


def ranked_by_class(
    X: np.ndarray,
    y: np.ndarray,
    n_same: int,
    n_other: int,
    n_jobs: int | None = None,
    queries: tuple[np.ndarray, np.ndarray] | None = None,
    anchors: np.ndarray | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """As :func:`nearest_by_class`, ranked by ``Σ (x − z)²``: what is equal does not depend on rounding in a tile.

    Returns
    -------
    same, other : tuples (d², indices)
        Infinity and -1 where there are no more.
    """
    wanted = (n_same, n_other)
    found = nearest_by_class(X, y, n_same + _MORE, n_other + _MORE, n_jobs, queries, anchors)
    Q = queries[0] if queries is not None else X if anchors is None else X[anchors]
    distances = [np.empty(index.shape) for index in found]

    def block(rows: slice) -> None:
        for index, d in zip(found, distances, strict=True):
            _rank_rows(X, Q[rows], index[rows], d[rows])

    with Workers(n_threads(n_jobs) if len(Q) > 4 * _ROWS else 1) as workers:
        workers.map(block, [slice(start, start + _ROWS) for start in range(0, len(Q), _ROWS)])
    return [(d[:, :k], index[:, :k]) for d, index, k in zip(distances, found, wanted, strict=True)]


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
    _rank_rows(points, queries, found, np.empty(found.shape))
    return np.ascontiguousarray(found[:, :k])


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})  # one order of sums for all, in vectors
def _rank_rows(points, queries, found, distances):
    """The distances of all found, and both sorted: nearest first, of equals the smaller index; -1 is far away."""
    last = found.shape[1]
    for q in range(queries.shape[0]):
        for c in range(last):
            j, total = found[q, c], 0.0
            if j < 0:
                total = np.inf
            else:
                for i in range(points.shape[1]):
                    total += (queries[q, i] - points[j, i]) ** 2
            k = c  # inserted among those before it
            while k > 0 and (distances[q, k - 1] > total or (distances[q, k - 1] == total and found[q, k - 1] > j)):
                distances[q, k], found[q, k] = distances[q, k - 1], found[q, k - 1]
                k -= 1
            distances[q, k], found[q, k] = total, j


@njit(nogil=True, cache=True)
def _scan(tile, squares, index, first, last, own, same, found_same, other, found_other):
    """Insert the points of a tile into each row's sorted lists; columns first to last are of the row's class."""
    width = tile.shape[1]
    for r in range(tile.shape[0]):
        a, b = min(max(first[r], 0), width), min(max(last[r], 0), width)
        _insert(tile[r], squares, index, 0, a, -1, other[r], found_other[r])
        _insert(tile[r], squares, index, a, b, own[r], same[r], found_same[r])
        _insert(tile[r], squares, index, b, width, -1, other[r], found_other[r])


@njit(nogil=True, cache=True)
def _insert(products, squares, index, start, stop, own, distances, found):
    """Insert the columns start to stop, but for a row's own point, where they are nearer than what is there.

    ``‖x‖²`` of the row itself is left out: it orders nothing. Of equals the smaller index is nearer.
    """
    end = distances.size - 1
    for head in range(start, stop, _CHUNK):
        tail = min(head + _CHUNK, stop)
        limit = distances[end]
        if tail - head == _CHUNK:  # a loop of fixed length, without branches: one comparison for all of them
            near = 0
            for c in range(_CHUNK):
                near += squares[head + c] - 2.0 * products[head + c] <= limit
            if near == 0:
                continue
        for c in range(head, tail):
            d, j = squares[c] - 2.0 * products[c], index[c]
            if c == own or not (d < distances[end] or (d == distances[end] and j < found[end])):
                continue
            k = end
            while k > 0 and (distances[k - 1] > d or (distances[k - 1] == d and found[k - 1] > j)):
                distances[k] = distances[k - 1]
                found[k] = found[k - 1]
                k -= 1
            distances[k] = d
            found[k] = j
