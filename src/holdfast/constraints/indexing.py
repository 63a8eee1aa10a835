"""Compiled index work: index pairs de-duplicated, and grouped, in linear time."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def group(keys, n_groups):
    """Positions of every key, grouped: those with key g are ``order[indptr[g]:indptr[g + 1]]``.

    A counting sort, stable: positions grow inside a group.
    """
    indptr = np.zeros(n_groups + 1, np.int64)
    for t in range(keys.size):
        indptr[keys[t] + 1] += 1
    for g in range(n_groups):
        indptr[g + 1] += indptr[g]
    place = indptr[:-1].copy()
    order = np.empty(keys.size, np.int32)
    for t in range(keys.size):
        g = keys[t]
        order[place[g]] = t
        place[g] += 1
    return indptr, order


@njit(nogil=True, cache=True)
def unique_unordered(i, j, n):
    """The distinct unordered pairs {i, j}, sorted, and for each input its place among them."""
    low = np.minimum(i, j)
    high = np.maximum(i, j)
    # Stable sort by the high index, then by the low one: lexicographic order in linear time.
    _, by_high = group(high, n)
    low_then = np.empty_like(low)
    for t in range(low.size):
        low_then[t] = low[by_high[t]]
    _, by_low = group(low_then, n)
    first = np.empty_like(low)
    second = np.empty_like(low)
    inverse = np.empty(low.size, np.int32)
    count = 0
    for t in range(low.size):
        source = by_high[by_low[t]]
        if count == 0 or first[count - 1] != low[source] or second[count - 1] != high[source]:
            first[count] = low[source]
            second[count] = high[source]
            count += 1
        inverse[source] = count - 1
    return first[:count].copy(), second[:count].copy(), inverse
