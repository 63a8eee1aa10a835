"""The compiled inner loops over index pairs.

Every kernel works on one block of its output (``start`` to ``stop``) without the GIL, so blocks run in
threads; none makes an array as long as the pairs and as wide as the points. Sums may be re-associated
(that is what makes them fast), but NaN and infinity keep their meaning.
"""

import numpy as np
from numba import njit

_fast = {"reassoc", "contract", "arcp", "nsz"}


@njit(nogil=True, cache=True, fastmath=_fast)
def pair_forms(U, V, first, second, out, start, stop):
    """``out[t] = (u_i - u_j) . (v_i - v_j)`` for the pairs t = {i, j} of a block."""
    width = U.shape[1]
    for t in range(start, stop):
        i, j = first[t], second[t]
        total = 0.0
        for k in range(width):
            total += (U[i, k] - U[j, k]) * (V[i, k] - V[j, k])
        out[t] = total


@njit(nogil=True, cache=True, fastmath=_fast)
def pair_squares(Z, first, second, out, start, stop):
    """``out[t] = ‖z_i - z_j‖²`` for the pairs t = {i, j} of a block."""
    width = Z.shape[1]
    for t in range(start, stop):
        i, j = first[t], second[t]
        total = 0.0
        for k in range(width):
            total += (Z[i, k] - Z[j, k]) ** 2
        out[t] = total


@njit(nogil=True, cache=True)
def take(values, index, start, stop):
    """``values[index[start:stop]]``, without the GIL."""
    out = np.empty(stop - start)
    for t in range(start, stop):
        out[t - start] = values[index[t]]
    return out


@njit(nogil=True, cache=True)
def add_scaled(out, factor, values, start):
    """``out[start : start + values.size] += factor · values``, without the GIL."""
    for t in range(values.size):
        out[start + t] += factor * values[t]


@njit(nogil=True, cache=True)
def scatter(reference, partial, out):
    """``out[reference[u]] += partial[u]``: what ``gather`` does, for one thread."""
    for u in range(reference.size):
        if partial[u] != 0.0:
            out[reference[u]] += partial[u]


@njit(nogil=True, cache=True)
def gather(indptr, user, partial, out, start, stop):
    """``out[t] += sum of partial over the users of pair t``."""
    for t in range(start, stop):
        total = 0.0
        for u in range(indptr[t], indptr[t + 1]):
            total += partial[user[u]]
        out[t] += total


@njit(nogil=True, cache=True, fastmath=_fast)
def laplacian_rows(indptr, other, pair, weight, U, out, factor, start, stop):
    """``out[i] += factor · sum over pairs {i, j} of weight_ij (u_i - u_j)``: rows of Lap(weight) U."""
    width = U.shape[1]
    for i in range(start, stop):
        for t in range(indptr[i], indptr[i + 1]):
            w = factor * weight[pair[t]]
            if w != 0.0:
                j = other[t]
                for k in range(width):
                    out[i, k] += w * (U[i, k] - U[j, k])
