"""The distance to one halfspace "l is no farther than j": the number every certificate is made of.

``ε_lj = [c_lj]₊ / ‖a_lj‖*``, ``c_lj = f_lj / 2 = (u_l − u_j)·(u_l + u_j − 2u) / 2``, less what rounding may take
(:mod:`~holdfast.certificates.rounding`). With a box, ``min ‖δ‖ : a·δ ≥ c, −down ≤ δ ≤ up`` instead: filling
the coordinates to one level ``μ``, ``Σ |a_i| min(level_i(μ), room_i) = c``, where ``room_i`` is the side a_i points to.
The left side is concave in μ, so Newton's iterates from below never pass the root.
"""

import numpy as np
from numba import njit

_fast = {"reassoc", "contract", "arcp", "nsz"}


@njit(nogil=True, cache=True, fastmath=_fast)
def squared_distances(U, u, out):
    """``out[i] = ‖u_i − u‖²``."""
    for i in range(U.shape[0]):
        total = 0.0
        for k in range(U.shape[1]):
            total += (U[i, k] - u[k]) ** 2
        out[i] = total


@njit(nogil=True, cache=True, fastmath=_fast)
def level(U, u, l, j):
    """``c_lj = f_lj / 2`` in product form."""
    total = 0.0
    for k in range(U.shape[1]):
        total += (U[l, k] - U[j, k]) * ((U[l, k] - u[k]) + (U[j, k] - u[k]))
    return 0.5 * total


@njit(nogil=True, cache=True, fastmath=_fast)
def dual_length(V, l, j, dual):
    """``‖v_l − v_j‖`` in the dual norm: 0 Euclidean, 1 sum, 2 maximum."""
    total = 0.0
    if dual == 0:
        for k in range(V.shape[1]):
            total += (V[l, k] - V[j, k]) ** 2
        return np.sqrt(total)
    if dual == 1:
        for k in range(V.shape[1]):
            total += abs(V[l, k] - V[j, k])
        return total
    for k in range(V.shape[1]):
        total = max(total, abs(V[l, k] - V[j, k]))
    return total


@njit(nogil=True, cache=True)
def box_distance(a, c, dual, down, up):
    """``min ‖δ‖ : a·δ ≥ c, −down ≤ δ ≤ up``, from below; infinite if the box does not reach."""
    if c <= 0.0:
        return 0.0
    d = a.size
    if dual == 2:  # the L1 norm: spend it where |a_i| is largest
        spent, left = 0.0, c
        last, at = np.inf, -1  # the slope spent last, and where: equal slopes by growing index
        for _ in range(d):
            slope, best = 0.0, -1
            for i in range(d):
                size = abs(a[i])
                if size > slope and (size < last or (size == last and i > at)):
                    slope, best = size, i
            if best < 0:
                break
            last, at = slope, best
            room = up[best] if a[best] > 0 else down[best]
            if slope * room >= left:
                return (spent + left / slope) * (1.0 - 1e-13)
            spent += room
            left -= slope * room
        return np.inf
    mu = 0.0
    for _ in range(2 * d + 2):
        value, slope = 0.0, 0.0  # of h(μ) = Σ |a_i| min(level_i, room_i), right-hand slope
        for i in range(d):
            size = abs(a[i])
            if size > 0.0:
                room = up[i] if a[i] > 0 else down[i]
                rate = size if dual == 0 else 1.0
                if mu * rate < room:
                    value += size * mu * rate
                    slope += size * rate
                else:
                    value += size * room
        if value >= c * (1.0 - 1e-15):
            break
        if slope == 0.0:
            return np.inf if value < c * (1.0 - 1e-12) else mu
        step = (c - value) / slope
        if mu + step == mu:
            break
        mu += step
    if dual == 1:
        return mu * (1.0 - 1e-13)
    total = 0.0
    for i in range(d):
        room = up[i] if a[i] > 0 else down[i]
        total += min(mu * abs(a[i]), room) ** 2
    return np.sqrt(total) * (1.0 - 1e-13)


@njit(nogil=True, cache=True)
def boxed_radius(V, l, j, c, dual, rounding, down, up, reach):
    """``ε_lj`` inside the box, shrunk by the rounding of moves up to ``reach``."""
    far = rounding[1] + rounding[2] * reach
    # ½κ(S + gR)² for c; κSg and w for every unit of a · δ.
    c -= 0.5 * rounding[0] * far * far + (rounding[0] * rounding[1] * rounding[2] + rounding[3]) * reach
    if c <= 0.0:
        return 0.0
    return box_distance(V[l] - V[j], c, dual, down, up)
