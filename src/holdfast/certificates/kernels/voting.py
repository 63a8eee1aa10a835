"""The vote of the k nearest points, as the engines count it."""

from holdfast.certificates.kernels.halfspace import squared_distances
from holdfast.certificates.kernels.sorted_list import insert
from holdfast.numerics.compile import ZERO, entry, inner


@inner
def winner(labels, nearest, count, tally, lowest_wins):
    """The class that wins among ``nearest[:count]`` (sorted, nearest first); ``tally`` is room for the votes."""
    most = ZERO
    for c in range(tally.size):
        tally[c] = 0
    for i in range(count):
        c = labels[nearest[i]]
        tally[c] += 1
        if tally[c] > most:
            most = tally[c]
    if lowest_wins:
        for c in range(tally.size):
            if tally[c] == most:
                return c
    for i in range(count):
        c = labels[nearest[i]]
        if tally[c] == most:
            return c
    return -1


@entry
def vote_rows(U, labels, queries, lowest_wins, keys, nearest, tally, D, out):
    """``out[q]``: the class elected at ``queries[q]``, distances ``Σ (u − u_j)²`` in float64.

    Work space: ``keys`` and ``nearest`` (k,), ``tally`` (n_classes,) and ``D`` (n,).
    """
    for q in range(queries.shape[0]):
        squared_distances(U, queries[q], D)
        count = ZERO
        for i in range(D.size):
            count = insert(D[i], i, keys, nearest, count)
        out[q] = winner(labels, nearest, count, tally, lowest_wins)
