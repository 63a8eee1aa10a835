"""``min ‖z‖ : a_i · z ≥ c_i``, one violated row at a time, in the dual.

The method of Goldfarb and Idnani for the identity: the active rows have multipliers ``λ ≥ 0`` with
``z = Σ λ_i a_i``, and are independent, ``Aᵀ = QR``. A violated row enters along ``d = (I − QQᵀ)a``; if some
``λ_i`` reaches 0 first, that row leaves. ``‖z‖`` never falls, and whatever the arithmetic did, the λ that are
there certify ``‖z‖ ≥ cᵀλ / ‖Aᵀλ‖`` for every z of the problem.

The state is a tuple of arrays, for s coordinates and at most s + 1 rows:
``A (s+1, s), Q (s+1, s), R (s+1, s+1), lam, c, tags (s+1, 2), z (s), r (s+1), d (s), number (1)``.

References
----------
Goldfarb and Idnani, "A numerically stable dual method for solving strictly convex quadratic programs",
Mathematical Programming 27, 1983.
"""

import numpy as np
from numba import njit

from holdfast.certificates.rounding import safe_radius

_fast = {"reassoc", "contract", "arcp", "nsz"}
_DEPENDENT = 1e-10  # sine of the angle to the active rows below which a row depends on them


@njit(nogil=True, cache=True)
def empty_state(s):
    """The state with no row active: z = 0."""
    return (
        np.zeros((s + 1, s)), np.zeros((s + 1, s)), np.zeros((s + 1, s + 1)), np.zeros(s + 1),
        np.zeros(s + 1), np.zeros((s + 1, 2), np.int64), np.zeros(s), np.zeros(s + 1), np.zeros(s),
        np.zeros(1, np.int64),
    )  # fmt: skip


@njit(nogil=True, cache=True)
def clear(state):
    """No row active."""
    state[9][0] = 0
    state[6][:] = 0.0


@njit(nogil=True, cache=True, fastmath=_fast)
def dot(x, y):
    """``x · y``."""
    total = 0.0
    for k in range(x.size):
        total += x[k] * y[k]
    return total


@njit(nogil=True, cache=True, fastmath=_fast)
def add_scaled(out, factor, x):
    """``out += factor · x``."""
    for k in range(x.size):
        out[k] += factor * x[k]


@njit(nogil=True, cache=True)
def _orthogonalise(Q, R, column, m, d):
    """``d ← (I − QQᵀ)d`` over the first m rows of Q, coefficients added to a column of R; twice is enough."""
    for i in range(m):
        R[i, column] = 0.0
    for _ in range(2):
        for i in range(m):
            w = dot(Q[i], d)
            R[i, column] += w
            add_scaled(d, -w, Q[i])


@njit(nogil=True, cache=True)
def _factor_from(first, state):
    """Q and R of the active rows again, from row ``first`` on."""
    A, Q, R, d, m = state[0], state[1], state[2], state[8], state[9][0]
    for i in range(first, m):
        d[:] = A[i]
        _orthogonalise(Q, R, i, i, d)
        length = np.sqrt(dot(d, d))
        R[i, i] = length
        if length > 0.0:
            Q[i] = d / length
        else:
            Q[i] = 0.0


@njit(nogil=True, cache=True)
def _drop(i, state):
    A, lam, c, tags, number = state[0], state[3], state[4], state[5], state[9]
    for t in range(i, number[0] - 1):
        A[t] = A[t + 1]
        lam[t], c[t] = lam[t + 1], c[t + 1]
        tags[t] = tags[t + 1]
    number[0] -= 1
    _factor_from(i, state)


@njit(nogil=True, cache=True)
def enter(a, c_new, tag0, tag1, state, rounding):
    """Make a violated row ``a · z ≥ c_new`` hold.

    Returns
    -------
    float
        0, or if no z meets the rows any more a certified bound from the ray that shows it (what rounding
        leaves of infinity); -1 if the steps ran out.
    """
    A, Q, R, lam, c, tags, z, r, d, number = state
    s = z.size
    size = np.sqrt(dot(a, a))
    own = 0.0  # λ of the entering row
    for _ in range(4 * s + 20):
        m = number[0]
        slack = c_new - dot(a, z)
        if slack <= 0.0 and own == 0.0:
            return 0.0
        d[:] = a
        _orthogonalise(Q, R, m, m, d)
        for i in range(m - 1, -1, -1):  # R r = Qᵀa
            w = R[i, m]
            for t in range(i + 1, m):
                w -= R[i, t] * r[t]
            r[i] = w / R[i, i] if R[i, i] > 0.0 else 0.0
        across = np.sqrt(dot(d, d))
        full = max(slack, 0.0) / (across * across) if across > _DEPENDENT * size and m < s else np.inf
        step, leaving = np.inf, -1
        for i in range(m):
            if r[i] > 0.0 and lam[i] < step * r[i]:
                step, leaving = lam[i] / r[i], i
        if leaving < 0 and full == np.inf:
            total, level = 1.0, c_new
            for i in range(m):
                total -= r[i]
                level -= r[i] * c[i]
            return max(safe_radius(level / total, across / total, rounding), 1e-300)
        if full <= step:
            step, leaving = full, -1
        for i in range(m):
            lam[i] = max(lam[i] - step * r[i], 0.0)
        own += step
        if leaving < 0:
            A[m] = a
            lam[m], c[m] = own, c_new
            tags[m, 0], tags[m, 1] = tag0, tag1
            R[m, m] = across
            Q[m] = d / across
            number[0] = m + 1
            _resum(state)
            return 0.0
        if full < np.inf:
            add_scaled(z, step, d)
        _drop(leaving, state)
    _resum(state)
    return -1.0


@njit(nogil=True, cache=True)
def _resum(state):
    """``z = Σ λ_i a_i``."""
    A, lam, z, m = state[0], state[3], state[6], state[9][0]
    z[:] = 0.0
    for i in range(m):
        add_scaled(z, lam[i], A[i])


@njit(nogil=True, cache=True)
def reload(state):
    """Q, R and z again from the rows, levels and multipliers that were put into the state."""
    _factor_from(0, state)
    _resum(state)


@njit(nogil=True, cache=True)
def certified(state, rounding):
    """``cᵀλ / ‖Aᵀλ‖``, less rounding."""
    lam, c, z, m = state[3], state[4], state[6], state[9][0]
    total, level = 0.0, 0.0
    for i in range(m):
        total += lam[i]
        level += lam[i] * c[i]
    if total == 0.0:
        return 0.0
    return safe_radius(level / total, np.sqrt(dot(z, z)) / total, rounding)


@njit(nogil=True, cache=True)
def certified_within(state, rounding, reach):
    """How far every solution no longer than ``reach`` goes in the direction of z, less rounding."""
    lam, c, z, m = state[3], state[4], state[6], state[9][0]
    total, level = 0.0, 0.0
    for i in range(m):
        total += lam[i]
        level += lam[i] * c[i]
    if total == 0.0:
        return 0.0
    far = rounding[1] + rounding[2] * reach
    level = level / total - 0.5 * rounding[0] * far * far
    slope = np.sqrt(dot(z, z)) / total * (1.0 + 1e-14) + rounding[0] * rounding[1] * rounding[2] + rounding[3]
    return max(level / slope, 0.0) if slope > 0.0 else 0.0


@njit(nogil=True, cache=True)
def inward(state, out):
    """The shortest w with ``a_i · w = 1`` for every active row: it leads off all the boundaries at once."""
    Q, R, r, m = state[1], state[2], state[7], state[9][0]
    out[:] = 0.0
    for i in range(m):  # Rᵀ r = 1
        w = 1.0
        for t in range(i):
            w -= R[t, i] * r[t]
        r[i] = w / R[i, i] if R[i, i] > 0.0 else 0.0
        add_scaled(out, r[i], Q[i])
