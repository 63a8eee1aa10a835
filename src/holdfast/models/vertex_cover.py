"""Vertex covers of a graph: the fewest vertices that touch every edge.

For a bipartite graph the minimum is found exactly: it has as many vertices as a maximum matching has edges (Kőnig). For
any other graph the linear relaxation is solved exactly through a bipartite graph of twice the size (Nemhauser and
Trotter): each vertex gets 0, ½ or 1, some minimum cover has all the ones and none of the zeros, and what is left
is covered greedily.
"""

import heapq

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
