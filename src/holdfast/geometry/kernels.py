"""The compiled inner loops over index pairs.

Every kernel works on one block of its output (``start`` to ``stop``) without the GIL, so blocks run in
threads; none makes an array as long as the pairs and as wide as the points. Sums may be re-associated
(that is what makes them fast), but NaN and infinity keep their meaning.
"""

import numpy as np

from holdfast.numerics.compile import FAST, entry


@entry(fastmath=FAST)
def pair_forms(U, V, first, second, out, start, stop):
    """``out[t] = (u_i - u_j) . (v_i - v_j)`` for the pairs t = {i, j} of a block."""
    width = U.shape[1]
    for t in range(start, stop):
        i, j = first[t], second[t]
        total = 0.0
        for k in range(width):
            total += (U[i, k] - U[j, k]) * (V[i, k] - V[j, k])
        out[t] = total


@entry(fastmath=FAST)
def pair_squares(Z, indptr, second, out, start, stop):
    """``out[t] = ‖z_i - z_j‖²`` for the pairs t = {i, j} with i in a block of rows, four at a time."""
    width = Z.shape[1]
    for i in range(start, stop):
        t, last = indptr[i], indptr[i + 1]
        while t + 4 <= last:
            j0, j1, j2, j3 = second[t], second[t + 1], second[t + 2], second[t + 3]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            for k in range(width):
                z = Z[i, k]
                s0 += (z - Z[j0, k]) ** 2
                s1 += (z - Z[j1, k]) ** 2
                s2 += (z - Z[j2, k]) ** 2
                s3 += (z - Z[j3, k]) ** 2
            out[t], out[t + 1], out[t + 2], out[t + 3] = s0, s1, s2, s3
            t += 4
        while t < last:
            j = second[t]
            total = 0.0
            for k in range(width):
                total += (Z[i, k] - Z[j, k]) ** 2
            out[t] = total
            t += 1


def take(values: np.ndarray, index: np.ndarray, start: int, stop: int) -> np.ndarray:
    """``values[index[start:stop]]``, without the GIL."""
    out = np.empty(stop - start)
    _take(values, index, out, start, stop)
    return out


@entry
def _take(values, index, out, start, stop):
    for t in range(start, stop):
        out[t - start] = values[index[t]]


@entry
def scatter(reference, partial, factor, out):
    """``out[reference[u]] += factor · partial[u]``.

    Neighbouring triplets often share a pair: what goes to the same place in a row is summed first.
    """
    u = 0
    while u < reference.size:
        place, total = reference[u], partial[u]
        u += 1
        while u < reference.size and reference[u] == place:
            total += partial[u]
            u += 1
        out[place] += factor * total


@entry
def scatter_some(order, reference, partial, out, start, stop):
    """``out[reference[t]] += partial[t]`` for t in ``order[start:stop]``."""
    for u in range(start, stop):
        t = order[u]
        out[reference[t]] += partial[t]


@entry
def degrees(first, second, weight, out, start, stop):
    """``out[i] = sum of the weights of the pairs that i is in``, of a block of pairs: a diagonal of Lap(weight)."""
    for i in range(out.size):
        out[i] = 0.0
    for t in range(start, stop):
        out[first[t]] += weight[t]
        out[second[t]] += weight[t]


@entry(fastmath=FAST)
def half_laplacian(indptr, second, weight, degree, X, out, start, stop):
    """``out[i] = degree_i x_i / 2 - sum over the pairs (i, j) listed under i of weight_ij x_j``, four at a time.

    Half of Lap(weight) X in the sense that ``Xᵀ Lap X = Xᵀ out + outᵀ X``: a pair is met once, not twice.
    """
    width = X.shape[1]
    for i in range(start, stop):
        d = 0.5 * degree[i]
        for k in range(width):
            out[i, k] = d * X[i, k]
        t, last = indptr[i], indptr[i + 1]
        while t + 4 <= last:
            w0, w1, w2, w3 = weight[t], weight[t + 1], weight[t + 2], weight[t + 3]
            j0, j1, j2, j3 = second[t], second[t + 1], second[t + 2], second[t + 3]
            if w0 != 0.0 or w1 != 0.0 or w2 != 0.0 or w3 != 0.0:
                for k in range(width):
                    out[i, k] -= w0 * X[j0, k] + w1 * X[j1, k] + w2 * X[j2, k] + w3 * X[j3, k]
            t += 4
        while t < last:
            w, j = weight[t], second[t]
            for k in range(width):
                out[i, k] -= w * X[j, k]
            t += 1
