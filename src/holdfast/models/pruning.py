"""Drop the fewest rows so that rows of different classes are far apart: a vertex cover."""

import heapq
import warnings
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching


def bipartite_cover(edges: np.ndarray, n: int) -> np.ndarray:
    """A minimum vertex cover, ascending, of edges (left, right).

    Parameters
    ----------
    edges : int ndarray of shape (n_edges, 2)
        No vertex is on the left of one edge and on the right of another.
    n : int
        Number of vertices, all with numbers below it.

    Examples
    --------
    >>> bipartite_cover(np.array([[0, 3], [0, 4], [1, 5], [2, 5]]), 6).tolist()
    [0, 5]
    """
    lefts, left = np.unique(edges[:, 0], return_inverse=True)
    rights, right = np.unique(edges[:, 1], return_inverse=True)
    in_left, in_right = _koenig(left, right, len(lefts), len(rights))
    return np.sort(np.concatenate([lefts[in_left], rights[in_right]]))


def general_cover(edges: np.ndarray, n: int) -> np.ndarray:
    """A vertex cover of at most twice the least size, ascending; of the least size if the relaxation is whole.

    Edges between vertices of value ½ are covered greedily, by the vertex with the most uncovered edges. At worst all of
    these vertices are taken, which is twice their cost in the relaxation.

    Examples
    --------
    >>> general_cover(np.array([[0, 1], [1, 2], [0, 2], [2, 3]]), 4).tolist()
    [0, 2]
    """
    both = np.concatenate([edges, edges[:, ::-1]])
    in_left, in_right = _koenig(both[:, 0], both[:, 1], n, n)
    value = in_left.astype(int) + in_right  # twice the relaxed one
    half = value == 1
    inside = edges[half[edges[:, 0]] & half[edges[:, 1]]]
    return np.union1d(np.flatnonzero(value == 2), _greedy(inside, n))


def _koenig(left: np.ndarray, right: np.ndarray, n_left: int, n_right: int) -> tuple[np.ndarray, np.ndarray]:
    """Masks of the left and of the right vertices in a minimum cover.

    By Kőnig's theorem these are the left vertices that no alternating path from an unmatched left vertex reaches, and
    the right vertices that one does reach.
    """
    graph = csr_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=(n_left, n_right))
    graph.indptr, graph.indices = graph.indptr.astype(np.int32), graph.indices.astype(np.int32)  # scipy before 1.15
    partner = maximum_bipartite_matching(graph, perm_type="column")  # of each left vertex; -1 without
    back = np.full(n_right, -1)
    back[partner[partner >= 0]] = np.flatnonzero(partner >= 0)
    reached, crossed = partner < 0, np.zeros(n_right, dtype=bool)
    frontier = np.flatnonzero(reached)
    while frontier.size:
        ahead = np.unique(_neighbours(graph, frontier))
        ahead = ahead[~crossed[ahead]]
        crossed[ahead] = True
        frontier = np.unique(back[ahead])  # matched, all of them: else the matching could grow
        frontier = frontier[~reached[frontier]]
        reached[frontier] = True
    return ~reached, crossed


def _greedy(edges: np.ndarray, n: int) -> np.ndarray:
    """Vertices with the most uncovered edges first; of equals the one with the smaller number."""
    both = np.concatenate([edges, edges[:, ::-1]])
    graph = csr_array((np.ones(len(both), dtype=np.int8), (both[:, 0], both[:, 1])), shape=(n, n))
    degree = np.diff(graph.indptr).astype(np.int64)
    taken = np.zeros(n, dtype=bool)
    waiting = [(-int(degree[v]), int(v)) for v in np.flatnonzero(degree)]
    heapq.heapify(waiting)
    while waiting:
        claimed, v = heapq.heappop(waiting)
        if degree[v] != -claimed:  # degrees only fall: back into the queue with the present one
            if degree[v]:
                heapq.heappush(waiting, (-int(degree[v]), v))
            continue
        taken[v] = True
        around = graph.indices[graph.indptr[v] : graph.indptr[v + 1]]
        degree[around[~taken[around]]] -= 1
        degree[v] = 0
    return np.flatnonzero(taken)


def _neighbours(graph: csr_array, vertices: np.ndarray) -> np.ndarray:
    """The right ends of all edges from some left vertices."""
    starts, counts = graph.indptr[vertices], np.diff(graph.indptr)[vertices]
    offsets = np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    return graph.indices[offsets + np.arange(counts.sum())]


_BLOCK = 1024  # rows compared at once with their neighbours along the strongest direction
_CHUNK = 4096  # pairs whose margins are computed at once: their differences stay in the cache
_MOST_CONFLICTS = 30_000_000  # 0.5 GB of index pairs; a cover of so many would drop nearly everything


def prune(X: np.ndarray, codes: np.ndarray, L: np.ndarray, radius: float) -> np.ndarray:
    """Indices of the rows that stay, ascending.

    Exactly the fewest rows are dropped for two classes (maximum matching and Kőnig's theorem). For more classes finding
    the fewest is NP-hard: at most twice the fewest are dropped, and often the fewest (see
    :func:`~holdfast.models.pruning.general_cover`).

    No class vanishes. Where all of its rows would go, the one with the fewest conflicts stays, and the rows in conflict
    with it go; if these are all that another class has left, its row with the fewest conflicts stays too, with a
    warning, because those two are then nearer than r.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    codes : int ndarray of shape (n_rows,)
        Class codes.
    L : ndarray of shape (n_components, n_features)
        The metric, ``M = LᵀL``.
    radius : float
        r, in the units of X; at 0 every row stays.

    Returns
    -------
    int ndarray
    """
    if radius == 0:
        return np.arange(len(X))
    pairs = conflicts(X, codes, L, radius)
    dropped = np.zeros(len(X), dtype=bool)
    present = np.unique(codes)
    if len(present) == 2:
        left = codes == present[0]
        dropped[bipartite_cover(np.where(left[pairs[:, :1]], pairs, pairs[:, ::-1]), len(X))] = True
    elif len(pairs):
        dropped[general_cover(pairs, len(X))] = True
    _restore_classes(dropped, codes, pairs)
    return np.flatnonzero(~dropped)


def conflicts(X: np.ndarray, codes: np.ndarray, L: np.ndarray, radius: float) -> np.ndarray:
    """All pairs of rows of different classes with ``m ≤ radius``, as an array of shape (n_pairs, 2)."""
    found, total = [np.empty((0, 2), dtype=np.int64)], 0
    for near in _near_pairs(X, codes, L, radius):
        for start in range(0, len(near), _CHUNK):
            some = near[start : start + _CHUNK]
            close = some[pair_margins(X[some[:, 0]], X[some[:, 1]], L) <= radius]
            found.append(close)
            total += len(close)
        if total > _MOST_CONFLICTS:
            raise ValueError(
                f"prune={radius:g} puts more than {_MOST_CONFLICTS:,} pairs of rows of different classes too near each "
                "other: nearly all rows would be dropped. Lower prune."
            )
    return np.concatenate(found)


def pair_margins(one: np.ndarray, other: np.ndarray, L: np.ndarray) -> np.ndarray:
    """``d²_M / (2 ‖M(x_l − x_j)‖₂)`` row by row; 0 where two rows are the same under the metric."""
    V = (other - one) @ L.T
    slope = np.linalg.norm(V @ L, axis=1)
    squares = np.einsum("nk,nk->n", V, V)
    return np.divide(squares, 2.0 * slope, out=np.zeros(len(V)), where=slope > 0)


def _near_pairs(X: np.ndarray, codes: np.ndarray, L: np.ndarray, radius: float) -> Iterator[np.ndarray]:
    """Pairs of rows of different classes that may be in conflict, each once, block by block.

    With ``d = ‖L v‖`` and ``s = ‖M v‖ / ‖L‖₂ ≤ d``, a conflict is ``d² ≤ reach s``, ``reach = 2 r ‖L‖₂``. So d ≤ reach;
    and so far, at most, the two are apart along any one direction: only a window of the rows in the order of the
    strongest one is looked at.
    """
    Z = X @ L.T
    Z = Z - Z.mean(axis=0)
    largest = float(np.linalg.norm(L, 2))
    reach = 2.0 * radius * largest
    unit = max(reach, float(np.abs(Z).max(initial=0.0)) * np.sqrt(Z.shape[1])) or 1.0
    Z, reach = Z / unit, reach / unit  # squared lengths and reach are at most 1 now
    along = Z @ np.linalg.eigh(Z.T @ Z)[1][:, -1]
    order = np.argsort(along, kind="stable")
    Z, along, labels = Z[order], along[order], codes[order]
    near, slack = _HalfSquares(Z), 4.0 * (Z.shape[1] + 8) * np.finfo(np.float32).eps
    slopes, slope_slack = _HalfSquares(Z @ (L / (largest or 1.0))), 4.0 * (L.shape[1] + 8) * np.finfo(np.float32).eps
    n, limit = len(Z), np.float32(0.5 * reach**2 + slack)
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        end = int(np.searchsorted(along, along[stop - 1] + reach + slack, side="right"))
        for first in range(start, end, _BLOCK):
            last = min(first + _BLOCK, end)
            half = near.between(slice(start, stop), slice(first, last))  # d²/2
            j, l = np.divmod(np.flatnonzero(half <= limit), last - first)
            wanted = (j + start < l + first) & (labels[j + start] != labels[l + first])  # each pair once
            j, l = j[wanted], l[wanted]
            if j.size:
                steep = slopes.between(slice(start, stop), slice(first, last))[j, l].astype(np.float64)  # s²/2
                bound = 0.5 * reach * np.sqrt(2.0 * np.maximum(steep + slope_slack, 0.0))
                wanted = half[j, l] - slack <= bound * (1.0 + 1e-6)  # the margins decide, in double precision
                yield np.column_stack([order[j[wanted] + start], order[l[wanted] + first]])


class _HalfSquares:
    """``‖a − b‖²/2 = (a, ‖a‖²/2, 1)·(−b, 1, ‖b‖²/2)`` of rows of length at most 1, in single precision.

    Sizes sum to at most 4 and each of k + 2 products rounds thrice: off by at most ``4 (k + 8) ε``.
    """

    def __init__(self, A: np.ndarray):
        half, ones = 0.5 * np.einsum("nk,nk->n", A, A), np.ones(len(A))
        self._left = np.column_stack([A, half, ones]).astype(np.float32)
        self._right = np.column_stack([-A, ones, half]).astype(np.float32)

    def between(self, rows: slice, others: slice) -> np.ndarray:
        """Those of each row with each other: (n_rows, n_others)."""
        return self._left[rows] @ self._right[others].T


def _restore_classes(dropped: np.ndarray, codes: np.ndarray, pairs: np.ndarray) -> None:
    """Put one row of each class that vanished back, in place, and drop what is in conflict with it."""
    gone = [c for c in np.unique(codes) if dropped[codes == c].all()]
    if not gone:
        return
    degree = np.bincount(pairs.ravel(), minlength=len(codes))
    both = np.concatenate([pairs, pairs[:, ::-1]])
    graph = csr_array((np.ones(len(both), dtype=bool), (both[:, 0], both[:, 1])), shape=(len(codes), len(codes)))
    stays: list[int] = []
    for c in gone:
        members = np.flatnonzero(codes == c)
        stays.append(int(members[np.argmin(degree[members])]))
    dropped[stays] = False
    for row in stays:
        rivals = graph.indices[graph.indptr[row] : graph.indptr[row + 1]]
        dropped[np.setdiff1d(rivals, stays)] = True
    again = [c for c in np.unique(codes) if dropped[codes == c].all()]
    for c in again:
        members = np.flatnonzero(codes == c)
        dropped[members[np.argmin(degree[members])]] = False
    kept = ~dropped
    left = int((kept[pairs[:, 0]] & kept[pairs[:, 1]]).sum())
    if left:
        warnings.warn(
            f"Pruning would drop all rows of a class: one row of each class stays, and {left} pairs of rows of "
            "different classes are still nearer than prune. Lower prune.",
            UserWarning,
            stacklevel=4,
        )
