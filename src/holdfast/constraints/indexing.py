"""Index pairs without duplicates, and groups of equal keys, in linear time."""

import numpy as np

from holdfast.numerics.compile import entry


def ranges(keys: np.ndarray, n_groups: int) -> np.ndarray:
    """Range of each group among the sorted keys: key g is at ``indptr[g]`` to ``indptr[g + 1]``.

    Examples
    --------
    >>> ranges(np.array([2, 0, 2], np.int32), 4).tolist()
    [0, 1, 1, 3, 3]
    """
    indptr = np.zeros(n_groups + 1, np.int64)
    _count(keys, indptr[1:])
    return np.cumsum(indptr, out=indptr)


def group(keys: np.ndarray, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of every key, grouped: those with key g are ``order[indptr[g]:indptr[g + 1]]``.

    A counting sort, stable: positions grow inside a group.

    Examples
    --------
    >>> indptr, order = group(np.array([2, 0, 2], np.int32), 4)
    >>> order.tolist()
    [1, 0, 2]
    """
    indptr = ranges(keys, n_groups)
    order = np.empty(keys.size, np.int32)
    _place(keys, indptr[:-1].copy(), order)
    return indptr, order


def pairs_of_anchors(i: np.ndarray, j: np.ndarray, l: np.ndarray, n: int) -> tuple[np.ndarray, ...]:
    """Distinct pairs (i, j) and (i, l) of triplets that are sorted by i.

    Returns
    -------
    first, second : of each pair, in the order of ``first``
    ij, il : of each triplet, the places of its two pairs
    targets : of each distinct (i, j), the first triplet that has it
    """
    size = i.size
    most = min(2 * size, n * n)  # pairs, at most
    first, second = np.empty(most, np.int32), np.empty(most, np.int32)
    ij, il, targets = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int64)
    met_under, target_of = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    count, n_targets = _pairs_of_anchors(
        i, j, l, met_under, np.empty(n, np.int32), target_of, first, second, ij, il, targets
    )
    return first[:count].copy(), second[:count].copy(), ij, il, targets[:n_targets].copy()


def unique_unordered(i: np.ndarray, j: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct unordered pairs {i, j}, and for each input its place among them.

    A pair is listed under the point that was named first in it (under the smaller, if each was), and the pairs are in
    the order of these points. Linear in time: points already met under another are marked, not sorted.

    Examples
    --------
    >>> i, j = np.array([3, 1, 3], np.int32), np.array([1, 3, 2], np.int32)
    >>> first, second, place = unique_unordered(i, j, 4)
    >>> first.tolist(), second.tolist(), place.tolist()
    ([1, 3], [3, 2], [0, 0, 1])
    """
    first, second, place = np.empty_like(i), np.empty_like(j), np.empty(i.size, np.int32)
    met_at = np.empty(n, np.int32)
    count = _distinct_ordered(*group(i, n), j, np.full(n, -1, np.int32), met_at, first, second, place)
    first, second = first[:count], second[:count]
    new, twin = np.empty(count, np.int32), np.full(count, -1, np.int32)
    count = _without_reverse(first, second, place, *group(second, n), np.full(n, -1, np.int32), met_at, new, twin)
    return first[:count].copy(), second[:count].copy(), place


@entry
def mark(mask, places):
    """``mask[places] = True``, several times faster than numpy for int32."""
    for t in range(places.size):
        mask[places[t]] = True


@entry
def _count(keys, counts):
    """``counts[g] += 1`` for every key g."""
    for t in range(keys.size):
        counts[keys[t]] += 1


@entry
def _place(keys, place, order):
    """``order[place[g]] = t`` for the positions t of key g, and ``place[g]`` moves on."""
    for t in range(keys.size):
        g = keys[t]
        order[place[g]] = t
        place[g] += 1


@entry
def _pairs_of_anchors(i, j, l, met_under, met_at, target_of, first, second, ij, il, targets):
    """Fill the last five, of :func:`pairs_of_anchors`; the numbers of pairs and of targets.

    ``met_under`` is, of each point, the last anchor it was met under (-1: none), ``met_at`` the place of that pair,
    ``target_of`` the last anchor it was a target of.
    """
    count, n_targets = 0, 0
    for t in range(i.size):
        u = i[t]
        v = j[t]
        if met_under[v] != u:
            met_under[v], met_at[v] = u, count
            first[count], second[count] = u, v
            count += 1
        ij[t] = met_at[v]
        if target_of[v] != u:
            target_of[v] = u
            targets[n_targets] = t
            n_targets += 1
        v = l[t]
        if met_under[v] != u:
            met_under[v], met_at[v] = u, count
            first[count], second[count] = u, v
            count += 1
        il[t] = met_at[v]
    return count, n_targets


@entry
def _distinct_ordered(indptr, order, j, met_under, met_at, first, second, place):
    """Fill the last three with the distinct ordered pairs (i, j) and each input's place; their number.

    ``order[indptr[u]:indptr[u + 1]]`` are the inputs with i = u.
    """
    count = 0
    for u in range(indptr.size - 1):
        for at in range(indptr[u], indptr[u + 1]):
            t = order[at]
            v = j[t]
            if met_under[v] != u:
                met_under[v], met_at[v] = u, count
                first[count], second[count] = u, v
                count += 1
            place[t] = met_at[v]
    return count


@entry
def _without_reverse(first, second, place, to, into, met_under, met_at, new, twin):
    """Drop (v, u), v > u, where (u, v) is there too; returns the number of pairs kept.

    Pairs are sorted by their first points.
    ``into[to[u]:to[u + 1]]`` are the pairs that end at u; ``twin`` of (v, u), v > u, is the pair (u, v), if any.
    """
    t = 0
    for u in range(met_under.size):
        while t < first.size and first[t] == u:
            met_under[second[t]], met_at[second[t]] = u, t
            t += 1
        for at in range(to[u], to[u + 1]):
            r = into[at]
            v = first[r]
            if v > u and met_under[v] == u:
                twin[r] = met_at[v]
    count = 0
    for r in range(first.size):  # a twin comes before, so it has its new place
        if twin[r] < 0:
            first[count], second[count] = first[r], second[r]
            new[r] = count
            count += 1
        else:
            new[r] = new[twin[r]]
    for t in range(place.size):
        place[t] = new[place[t]]
    return count
