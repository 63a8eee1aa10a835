"""Drop the fewest rows so that rows of different classes are far apart: a vertex cover."""

import heapq
import warnings
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

_BLOCK = 1024  # rows compared at once with their neighbours along the strongest direction
_CHUNK = 1 << 18  # pairs whose margins are computed at once
_MOST_CONFLICTS = 30_000_000  # 0.5 GB of index pairs; a cover of so many would drop nearly everything


def prune(X: np.ndarray, codes: np.ndarray, L: np.ndarray, radius: float) -> np.ndarray:
    """Indices of the rows that stay, ascending; at radius 0 all do. For two classes the fewest are dropped (maximum
    matching), for more at most twice as many (see :func:`general_cover`). A class that would vanish keeps its row with
    the fewest conflicts, and the rows in conflict with it go; if these are all that another class has left, its best
    row stays, with a warning.
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
    """Pairs of rows of different classes that may be in conflict, each once, block by block: ``‖M v‖ ≤ ‖L‖₂ ‖L v‖``, so
    ``m ≤ r`` implies ``‖L(x_l − x_j)‖ ≤ 2 r ‖L‖₂``, and only a window of the rows along the strongest direction is
    looked at.
    """
    Z = X @ L.T
    Z = Z - Z.mean(axis=0)
    limit = 2.0 * radius * np.linalg.norm(L, 2)
    unit = max(limit, float(np.abs(Z).max(initial=0.0)) * np.sqrt(Z.shape[1])) or 1.0
    Z, limit = Z / unit, limit / unit  # squared lengths and limit are at most 1 now
    along = Z @ np.linalg.eigh(Z.T @ Z)[1][:, -1]
    order = np.argsort(along, kind="stable")
    Z, along, labels = Z[order], along[order], codes[order]
    # One product for (d² − limit²)/2 − slack: (z, ‖z‖²/2 − limit²/2 − slack, 1)·(−z, 1, ‖z‖²/2), in single precision.
    n, k = Z.shape
    slack = 4.0 * (k + 8) * np.finfo(np.float32).eps  # sizes sum to at most 4, each of k + 2 products rounds thrice
    half = 0.5 * np.einsum("nk,nk->n", Z, Z)
    left = np.column_stack([Z, half - 0.5 * limit**2 - slack, np.ones(n)]).astype(np.float32)
    right = np.column_stack([-Z, np.ones(n), half]).astype(np.float32)
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        end = int(np.searchsorted(along, along[stop - 1] + limit + slack, side="right"))
        for first in range(start, end, _BLOCK):
            last = min(first + _BLOCK, end)
            j, l = np.divmod(np.flatnonzero(left[start:stop] @ right[first:last].T <= 0.0), last - first)
            j, l = j + start, l + first
            wanted = (j < l) & (labels[j] != labels[l])  # each pair once
            yield np.column_stack([order[j[wanted]], order[l[wanted]]])


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


# -- vertex covers -----------------------------------------------------------------------------------


def bipartite_cover(edges: np.ndarray, n: int) -> np.ndarray:
    """A minimum vertex cover, ascending, of edges (left, right) among n vertices, each on one side only.

    >>> bipartite_cover(np.array([[0, 3], [0, 4], [1, 5], [2, 5]]), 6).tolist()
    [0, 5]
    """
    lefts, left = np.unique(edges[:, 0], return_inverse=True)
    rights, right = np.unique(edges[:, 1], return_inverse=True)
    in_left, in_right = _koenig(left, right, len(lefts), len(rights))
    return np.sort(np.concatenate([lefts[in_left], rights[in_right]]))


def general_cover(edges: np.ndarray, n: int) -> np.ndarray:
    """A vertex cover, ascending, of at most twice the least size; of the least size if the relaxation is whole. Edges
    between vertices of value ½ are covered greedily, by the vertex with the most uncovered edges.

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
    """Masks of the left and right vertices in a minimum cover. By Kőnig's theorem: the left ones that no alternating
    path from an unmatched left vertex reaches, and the right ones that one does reach.
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
