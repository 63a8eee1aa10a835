"""The distance to one halfspace "l is no farther than j": the number every certificate is made of.

``ε_lj = [c_lj]₊ / ‖a_lj‖*``, ``c_lj = f_lj / 2 = (u_l − u_j)·(u_l + u_j − 2u) / 2`` (Lemmas R1 and R3), less what
rounding may take (:mod:`~holdfast.certificates.rounding`). With a box, ``min ‖δ‖ : a·δ ≥ c, −down ≤ δ ≤ up``
instead (Lemma R4): the coordinates are filled to one level ``μ`` until ``Σ |a_i| min(level_i(μ), room_i) = c``, where
``room_i`` is the room on the side a_i points to. The left side is concave in μ, so Newton's iterates from below never
pass the root.
"""

import numpy as np

from holdfast.certificates.kernels.rounding import slack, slope_error
from holdfast.numerics.compile import FAST, entry, inner

# How the dual length of a slope is taken: √Σa² (L2, ellipsoid), Σ|a| (L∞), max|a| (L1).
EUCLIDEAN, SUM, MAX = 0, 1, 2
_BELOW = 1.0 - 1e-13  # covers the rounding of up to some 400 terms in the sums of box_distance (Lemma F4)


@entry(fastmath=FAST)
def squared_distances(U, u, out):
    """``out[i] = ‖u_i − u‖²``."""
    for i in range(U.shape[0]):
        total = 0.0
        for k in range(U.shape[1]):
            total += (U[i, k] - u[k]) ** 2
        out[i] = total


@inner(fastmath=FAST)
def level(U, u, l, j):
    """``c_lj = f_lj / 2`` in product form."""
    total = 0.0
    for k in range(U.shape[1]):
        total += (U[l, k] - U[j, k]) * ((U[l, k] - u[k]) + (U[j, k] - u[k]))
    return 0.5 * total


@inner(fastmath=FAST)
def euclidean_length(V, l, j):
    """``‖v_l − v_j‖₂``."""
    total = 0.0
    for k in range(V.shape[1]):
        total += (V[l, k] - V[j, k]) ** 2
    return np.sqrt(total)


@inner(fastmath=FAST)
def dual_length(V, l, j, norm_code):
    """``‖v_l − v_j‖`` in the dual norm; a loop for each norm, so that the compiler vectorises all of them."""
    total = 0.0
    if norm_code == EUCLIDEAN:
        for k in range(V.shape[1]):
            total += (V[l, k] - V[j, k]) ** 2
        return np.sqrt(total)
    if norm_code == SUM:
        for k in range(V.shape[1]):
            total += abs(V[l, k] - V[j, k])
        return total
    for k in range(V.shape[1]):
        total = max(total, abs(V[l, k] - V[j, k]))
    return total


@inner
def move_length(delta, norm_code):
    """``‖δ‖`` in the norm of the code."""
    total = 0.0
    for i in range(delta.size):
        size = abs(delta[i])
        if norm_code == EUCLIDEAN:
            total += size * size
        elif norm_code == MAX:
            total += size
        else:
            total = max(total, size)
    return np.sqrt(total) if norm_code == EUCLIDEAN else total


@entry
def box_distance(a, c, norm_code, down, up):
    """``min ‖δ‖ : a·δ ≥ c, −down ≤ δ ≤ up``, from below; infinite if the box does not reach (Lemma R4)."""
    delta = np.empty(a.size)
    if c <= 0.0:
        return 0.0
    if not box_move(a, c, norm_code, down, up, delta):
        return np.inf
    return move_length(delta, norm_code) * _BELOW


@inner
def box_move(a, c, norm_code, down, up, out):
    """The shortest δ with ``a·δ ≥ c`` in the box, into ``out``; False if the box does not reach."""
    d = a.size
    for i in range(d):
        out[i] = 0.0
    if c <= 0.0:
        return True
    if norm_code == MAX:
        return _spend(a, c, down, up, out)
    mu = 0.0
    for _ in range(2 * d + 2):  # each step but the last passes a corner of the concave function
        value, slope = 0.0, 0.0  # of h(μ) = Σ |a_i| min(level_i, room_i), right-hand slope
        for i in range(d):
            size = abs(a[i])
            if size > 0.0:
                room = up[i] if a[i] > 0 else down[i]
                rate = size if norm_code == EUCLIDEAN else 1.0
                if mu * rate < room:
                    value += size * mu * rate
                    slope += size * rate
                else:
                    value += size * room
        if value >= c * (1.0 - 1e-15):
            break
        if slope == 0.0:
            if value < c * (1.0 - 1e-12):
                return False
            break
        step = (c - value) / slope
        if mu + step == mu:
            break
        mu += step
    for i in range(d):
        if a[i] != 0.0:
            room = up[i] if a[i] > 0 else down[i]
            rate = abs(a[i]) if norm_code == EUCLIDEAN else 1.0
            out[i] = min(mu * rate, room) if a[i] > 0 else -min(mu * rate, room)
    return True


@inner
def _spend(a, c, down, up, out):
    """:func:`box_move` for the L1 norm: spend it where ``|a_i|`` is largest, equal ones by growing index."""
    left = c
    last, at = np.inf, -1  # the slope spent last, and where
    for _ in range(a.size):
        slope, best = 0.0, -1
        for i in range(a.size):
            size = abs(a[i])
            if size > slope and (size < last or (size == last and i > at)):
                slope, best = size, i
        if best < 0:
            return False
        last, at = slope, best
        room = up[best] if a[best] > 0 else down[best]
        spent = min(left / slope, room)
        out[best] = spent if a[best] > 0 else -spent
        if slope * room >= left:
            return True
        left -= slope * room
    return False


@inner
def boxed_radius(a, c, norm_code, rounding, down, up, reach):
    """Distance to ``a · δ ≥ c`` inside the box, shrunk by the rounding of moves up to ``reach`` (Lemma F4)."""
    c -= slack(rounding, reach) + slope_error(rounding) * reach
    if c <= 0.0:
        return 0.0
    return box_distance(a, c, norm_code, down, up)
