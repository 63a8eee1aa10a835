"""Sums, rounding, and distances to halfspaces, also in a box."""

from typing import NamedTuple

import numpy as np

from holdfast._core.compiling import FAST, NONE, entry, inner


@inner
def dot_work(s):
    """What an inner product, or a sum, of s numbers is charged: the processor does four multiply-adds at once."""
    return s // 4 + 8


@inner(fastmath=FAST)
def dot(x, y):
    """``x · y``."""
    total = 0.0
    for k in range(x.size):
        total += x[k] * y[k]
    return total


@inner
def length(x):
    """``‖x‖₂``."""
    return np.sqrt(dot(x, x))


@inner(fastmath=FAST)
def add_scaled(out, factor, x):
    """``out += factor · x``."""
    for k in range(x.size):
        out[k] += factor * x[k]


@inner
def subtract(x, y, out):
    """``out = x − y``."""
    for k in range(x.size):
        out[k] = x[k] - y[k]


@inner
def scale(factor, x, out):
    """``out = factor · x``."""
    for k in range(x.size):
        out[k] = factor * x[k]


# -- rounding ---------------------------------------------------------------------------------------


class Rounding(NamedTuple):
    """Error of a comparison of two squared distances after a move of size R: at most ``kappa (size + growth R)²``."""

    kappa: float  # relative error of a comparison
    size: float  # S, the magnitude of the numbers behind a query
    growth: float  # g, how fast these numbers grow with the size of a move
    map_error: float  # w, error of the slope of a halfspace beyond ordinary rounding


@entry
def slack(rounding, reach):
    """``½ κ (S + g R)²``: a bound on the error of a level ``c`` after a move of size ``reach``."""
    far = rounding.size + rounding.growth * reach
    return 0.5 * rounding.kappa * far * far


@inner
def slack_within(rounding, reach):
    """:func:`slack` and ``w R``: for a level at moves up to ``reach``, whatever their direction (Lemma T3)."""
    return slack(rounding, reach) + rounding.map_error * reach


@inner
def product_error(rounding):
    """``κ S g``: a bound on the error of an inner product, for each unit of a move."""
    return rounding.kappa * rounding.size * rounding.growth


@entry
def slope_error(rounding):
    """``κ S g + w``: a bound on the error of the dual norm of a slope."""
    return product_error(rounding) + rounding.map_error


@entry
def safe_radius(c, a, rounding):
    """The largest R with ``a R ≤ c − ½κ(S + gR)²``, a the dual norm of the slope: below it no rounding reaches the
    halfspace (Lemma F3). 0 where c is not clearly positive, infinity where nothing can move (a = g = 0).
    """
    C = c - slack(rounding, 0.0)
    if not C > 0.0:
        return 0.0
    A = 0.5 * rounding.kappa * rounding.growth * rounding.growth
    # 1e-14 and 1e-15 cover the few roundings of this function itself (Lemma F3).
    B = a * (1.0 + 1e-14) + slope_error(rounding)
    below = B + np.sqrt(B * B + 4.0 * A * C)
    if below == 0.0:
        return np.inf
    return 2.0 * C / below * (1.0 - 1e-15)


ROUNDED = 1e-14  # of the length of a move: what rounding may add to one of its coordinates


@inner
def violated_side(to_input, z, down, up, spare):
    """The coordinate of δ farthest outside the box, as (side ±1, index); index -1 if δ lies inside. 1e-13 of the move,
    and ``spare``, are left to rounding: a witness is clipped to the box before it is checked.
    """
    side, edge, worst = 0.0, NONE, spare
    for i in range(up.size):
        move = dot(to_input[i], z)
        over = max(move - up[i], -move - down[i])
        if over > worst + 1e-13 * (abs(move) + 1e-300):
            worst, edge = over, i
            side = 1.0 if move > up[i] else -1.0
    return side, edge


@inner
def clip_to_box(to_input, z, down, up):
    """Move z to the nearest sides of the box that δ lies outside of, one after the other. Exact where every coordinate
    of z is one of δ, which is so for all norms but ellipsoids.
    """
    for i in range(up.size):
        move = dot(to_input[i], z)
        over = move - up[i] if move > up[i] else move + down[i]
        if move > up[i] or move < -down[i]:
            add_scaled(z, -over / dot(to_input[i], to_input[i]), to_input[i])


@entry
def boxed_rows(A, missing, aim, growth, norm_code, down, up, radius, step):
    """``radius[t]``: distance to ``A[t] · δ ≥ missing[t]`` (level less rounding) inside the box of row t, at least that
    without the box; ``step[t]``: move to ``aim[t]``, NaN if the box does not reach. ``growth``: error per unit of a
    move.
    """
    room = np.empty(A.shape[1])
    for t in range(A.shape[0]):
        for i in range(room.size):
            room[i] = max(down[t, i], up[t, i])
        diameter = move_length(room, norm_code)
        reach = diameter
        if diameter == np.inf:  # as far as the distance before rounding; else far enough to be of use
            reach = 1.001 * box_distance(A[t], missing[t], norm_code, down[t], up[t])
            reach = reach if reach < np.inf else 1e3 * radius[t]
        inside = box_distance(A[t], missing[t] - growth[t] * reach, norm_code, down[t], up[t])
        radius[t] = max(radius[t], inside if diameter < np.inf else min(inside, reach))
        if not box_move(A[t], aim[t], norm_code, down[t], up[t], step[t]):
            for i in range(room.size):
                step[t, i] = np.nan


# -- distances to halfspaces, in a box or not -------------------------------------------------------

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
