"""Compiled loops of the neighbour search: insert the points of a tile into sorted lists, and rank those found."""

import numpy as np

from holdfast.numerics.compile import NONE, ZERO, entry, inner

_CHUNK = 16  # columns that are skipped together if none of them is near enough


@entry(fastmath={"reassoc", "contract"})  # sums run in vectors, in one order for all points
def rank_rows(points, queries, found, distances):
    """Compute d² of all found and sort both: nearest first, of equals the smaller index; -1 is infinitely far."""
    for q in range(queries.shape[0]):
        for c in range(found.shape[1]):
            j, total = found[q, c], 0.0
            if j < 0:
                total = np.inf
            else:
                for i in range(points.shape[1]):
                    total += (queries[q, i] - points[j, i]) ** 2
            k = c  # insertion sort
            while k > 0 and (distances[q, k - 1] > total or (distances[q, k - 1] == total and found[q, k - 1] > j)):
                distances[q, k], found[q, k] = distances[q, k - 1], found[q, k - 1]
                k -= 1
            distances[q, k], found[q, k] = total, j


@entry(fastmath={"reassoc", "contract"})
def squared_distances(points, query, out):
    """``out[j] = Σ (x − z_j)²``."""
    for j in range(points.shape[0]):
        total = 0.0
        for i in range(points.shape[1]):
            total += (query[i] - points[j, i]) ** 2
        out[j] = total


@entry
def scan(tile, index, start, first, last, own, same, found_same, other, found_other):
    """Insert the points of a tile, which begins at column ``start``, into each row's sorted lists.

    Columns ``first[r]`` to ``last[r]`` are of the class of row r; column ``own[r]`` is the row's own point, if there.
    """
    width = tile.shape[1]
    for r in range(tile.shape[0]):
        head, tail = _within(first[r] - start, width), _within(last[r] - start, width)
        _insert(tile[r], index, ZERO, head, NONE, other[r], found_other[r])
        _insert(tile[r], index, head, tail, own[r] - start, same[r], found_same[r])
        _insert(tile[r], index, tail, width, NONE, other[r], found_other[r])


@inner
def _within(column, width):
    """The column, or the end of the tile that is nearest to it."""
    if column < 0:
        return ZERO
    return width if column > width else column


@inner
def _insert(tile, index, start, stop, own, distances, found):
    """Insert the columns start to stop, without a row's own point, where they are nearer than what is there.

    Of equals the smaller index is nearer.
    """
    end = distances.size - 1
    for head in range(start, stop, _CHUNK):
        tail = head + _CHUNK if head + _CHUNK < stop else stop
        if tail - head == _CHUNK and _least(tile, head) > distances[end]:
            continue
        for c in range(head, tail):
            d, j, k = tile[c], index[c], end
            if d > distances[end] or c == own or (d == distances[end] and j > found[end] >= 0):
                continue
            while k > 0 and (distances[k - 1] > d or (distances[k - 1] == d and found[k - 1] > j)):
                distances[k] = distances[k - 1]
                found[k] = found[k - 1]
                k -= 1
            distances[k] = d
            found[k] = j


@inner(fastmath={"nnan", "nsz", "reassoc"})  # there is no NaN; a minimum runs in vectors
def _least(tile, head):
    """The least of a chunk: a loop of fixed length, without branches."""
    least = tile[head]
    for c in range(1, _CHUNK):
        least = tile[head + c] if tile[head + c] < least else least
    return least
