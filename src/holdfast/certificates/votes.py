"""The vote of the k nearest neighbours, as an engine sees it: who wins at a moved query."""

import numpy as np
from numba import njit

from holdfast.certificates.halfspace import squared_distances
from holdfast.certificates.problem import NeighborProblem


def votes(problem: NeighborProblem, queries: np.ndarray) -> np.ndarray:
    """The class that wins at each row of ``queries`` (m, r), by distances ``Σ (u − u_j)²`` in float64.

    Of equally near points the one that comes first counts as nearer. Equal votes go to the tied class
    with the nearest neighbour, or to the lowest code, as ``problem.ties`` says.

    Parameters
    ----------
    problem : NeighborProblem
    queries : ndarray of shape (m, r)

    Returns
    -------
    int ndarray of shape (m,)
    """
    out = np.empty(len(queries), np.int64)
    lowest = problem.ties == "lowest"
    rows = np.ascontiguousarray(queries, dtype=np.float64)
    _vote_rows(problem.points, problem.labels, rows, problem.n_neighbors, problem.n_classes, lowest, out)
    return out


def tallies(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes for each class in each row of class codes, of shape (n_rows, n_classes)."""
    cells = np.arange(len(codes))[:, None] * n_classes + codes
    return np.bincount(cells.ravel(), minlength=len(codes) * n_classes).reshape(-1, n_classes)


@njit(nogil=True, cache=True)
def winner(labels, nearest, count, n_classes, lowest):
    """Who wins among ``nearest[:count]`` (sorted, nearest first)."""
    tally = np.zeros(n_classes, np.int64)
    for i in range(count):
        tally[labels[nearest[i]]] += 1
    most = tally.max()
    if lowest:
        for c in range(n_classes):
            if tally[c] == most:
                return c
    for i in range(count):
        if tally[labels[nearest[i]]] == most:
            return labels[nearest[i]]
    return -1


@njit(nogil=True, cache=True)
def insert(key, index, keys, indices, count, cap):
    """Insert into a list sorted by key (equal keys: the earlier stays first) of at most cap; its new length."""
    if count == cap:
        if not key < keys[count - 1]:
            return count
        count -= 1
    i = count
    while i > 0 and keys[i - 1] > key:
        keys[i] = keys[i - 1]
        indices[i] = indices[i - 1]
        i -= 1
    keys[i] = key
    indices[i] = index
    return count + 1


@njit(nogil=True, cache=True)
def _vote_rows(U, labels, queries, k, n_classes, lowest, out):
    keys, nearest, D = np.empty(k), np.empty(k, np.int64), np.empty(U.shape[0])
    for q in range(queries.shape[0]):
        squared_distances(U, queries[q], D)
        count = 0
        for i in range(U.shape[0]):
            count = insert(D[i], i, keys, nearest, count, k)
        out[q] = winner(labels, nearest, count, n_classes, lowest)
