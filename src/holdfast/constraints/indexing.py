"""Compiled index work: index pairs de-duplicated, and grouped, in linear time."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def ranges(keys, n_groups):
    """Where each group ends up when keys are sorted: key g at ``indptr[g]`` to ``indptr[g + 1]``."""
    indptr = np.zeros(n_groups + 1, np.int64)
    for t in range(keys.size):
        indptr[keys[t] + 1] += 1
    for g in range(n_groups):
        indptr[g + 1] += indptr[g]
    return indptr


@njit(nogil=True, cache=True)
def group(keys, n_groups):
    """Positions of every key, grouped: those with key g are ``order[indptr[g]:indptr[g + 1]]``.

    A counting sort, stable: positions grow inside a group.
    """
    indptr = ranges(keys, n_groups)
    place = indptr[:-1].copy()
    order = np.empty(keys.size, np.int32)
    for t in range(keys.size):
        g = keys[t]
        order[place[g]] = t
        place[g] += 1
    return indptr, order


@njit(nogil=True, cache=True)
def mark(mask, places):
    """``mask[places] = True``."""
    for t in range(places.size):
        mask[places[t]] = True


@njit(nogil=True, cache=True)
def pairs_of_anchors(i, j, l, n):
    """The distinct pairs (i, j) and (i, l) of triplets that stand in the order of i.

    Returns
    -------
    first, second : of each pair, in the order of ``first``
    ij, il : of each triplet, the places of its two pairs
    targets : of each distinct (i, j), the first triplet that has it
    """
    size = i.size
    room = min(2 * size, n * n)  # pairs, at most
    first, second = np.empty(room, np.int32), np.empty(room, np.int32)
    ij, il, targets = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int64)
    met_under = np.full(n, -1, np.int32)  # of each point, the last anchor it was met under, and the pair's place
    met_at = np.empty(n, np.int32)
    target_of = np.full(n, -1, np.int32)  # of each point, the last anchor it was a target of
    count, n_targets = 0, 0
    for t in range(size):
        u = i[t]
        for v, place in ((j[t], ij), (l[t], il)):
            if met_under[v] != u:
                met_under[v], met_at[v] = u, count
                first[count], second[count] = u, v
                count += 1
            place[t] = met_at[v]
        if target_of[j[t]] != u:
            target_of[j[t]] = u
            targets[n_targets] = t
            n_targets += 1
    return first[:count].copy(), second[:count].copy(), ij, il, targets[:n_targets].copy()


@njit(nogil=True, cache=True)
def unique_unordered(i, j, n):
    """The distinct unordered pairs {i, j}, and for each input its place among them.

    A pair stands under the point that was named first in it (under the smaller, if each was), and the pairs are in
    the order of these points. Linear in time: who was met under a point is marked, not sorted.
    """
    indptr, order = group(i, n)
    first = np.empty_like(i)  # the distinct ordered pairs (i, j)
    second = np.empty_like(j)
    place = np.empty(i.size, np.int32)
    met_under = np.full(n, -1, np.int32)  # of each j, the last i it was met under, and the pair's place
    met_at = np.empty(n, np.int32)
    count = 0
    for u in range(n):
        for t in order[indptr[u] : indptr[u + 1]]:
            v = j[t]
            if met_under[v] != u:
                met_under[v], met_at[v] = u, count
                first[count], second[count] = u, v
                count += 1
            place[t] = met_at[v]
    return _without_reverse(first[:count], second[:count], place, n)


@njit(nogil=True, cache=True)
def _without_reverse(first, second, place, n):
    """Of the pairs (u, v) and (v, u), sorted by their first points, only the one with the smaller first."""
    to, into = group(second, n)  # the pairs that end at each point
    new = np.empty(first.size, np.int32)
    met_under = np.full(n, -1, np.int32)
    twin = np.full(first.size, -1, np.int32)  # of (v, u), v > u, the pair (u, v) if there is one
    met_at = np.empty(n, np.int32)
    t = 0
    for u in range(n):
        while t < first.size and first[t] == u:
            met_under[second[t]], met_at[second[t]] = u, t
            t += 1
        for r in into[to[u] : to[u + 1]]:
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
    return first[:count].copy(), second[:count].copy(), place
