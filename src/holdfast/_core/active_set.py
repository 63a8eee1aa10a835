"""The smallest move into a polyhedron, by a dual active set."""

from typing import NamedTuple

import numpy as np

from holdfast._core.compiling import NONE, ZERO, inner
from holdfast._core.halfspace import (
    SUM,
    add_scaled,
    dot,
    dot_work,
    length,
    move_length,
    product_error,
    safe_radius,
    slack_within,
)

_DEPENDENT = 1e-10  # sine of the angle to the active rows below which a row depends on them; a choice, not a bound


class ActiveSet(NamedTuple):
    """The active rows for s coordinates: at most s + 1 of them, ``n_active[0]`` in use."""

    A: np.ndarray  # (s + 1, s): active rows a_i
    Q: np.ndarray  # (s + 1, s): Aᵀ = QR, the rows of Q are orthonormal
    R: np.ndarray  # (s + 1, s + 1)
    multipliers: np.ndarray  # (s + 1,): λ_i
    levels: np.ndarray  # (s + 1,): c_i
    tags: np.ndarray  # (s + 1, 2): the origin of each row, for the caller
    z: np.ndarray  # (s,): Σ λ_i a_i, the point of least length on the active rows
    coefficients: np.ndarray  # (s + 1,): work space, r with R r = Qᵀa
    direction: np.ndarray  # (s,): work space, d
    n_active: np.ndarray
    work: np.ndarray  # (1,): work of this solver and of the searches that use it, in units of dot_work


def empty_active_set(s: int) -> ActiveSet:
    """No row active: z = 0."""
    return ActiveSet(
        A=np.zeros((s + 1, s)),
        Q=np.zeros((s + 1, s)),
        R=np.zeros((s + 1, s + 1)),
        multipliers=np.zeros(s + 1),
        levels=np.zeros(s + 1),
        tags=np.zeros((s + 1, 2), np.int64),
        z=np.zeros(s),
        coefficients=np.zeros(s + 1),
        direction=np.zeros(s),
        n_active=np.zeros(1, np.int64),
        work=np.zeros(1, np.int64),
    )


@inner
def clear(active):
    """Remove all rows."""
    z, n_active = active.z, active.n_active
    n_active[0] = 0
    for t in range(z.size):
        z[t] = 0.0


@inner
def _orthogonalise(Q, R, d, column, m):
    """``d ← (I − QQᵀ)d`` over the first m rows of Q, coefficients to a column of R; twice is enough (Kahan)."""
    for i in range(m):
        R[i, column] = 0.0
    for _ in range(2):
        for i in range(m):
            w = dot(Q[i], d)
            R[i, column] += w
            add_scaled(d, -w, Q[i])


@inner
def _factor_from(first, m, A, Q, R, d):
    """Q and R of the m active rows again, from row ``first`` on."""
    for i in range(first, m):
        for t in range(d.size):
            d[t] = A[i, t]
        _orthogonalise(Q, R, d, i, i)
        size = length(d)
        R[i, i] = size
        for t in range(d.size):
            Q[i, t] = d[t] / size if size > 0.0 else 0.0


@inner
def add_constraint(a, level, tag0, tag1, active, rounding):
    """Make a violated row ``a · z ≥ level`` hold; 0, or -1 if the steps ran out. If no z meets the rows any more: a
    certified bound from the ray that shows it, infinity less rounding.
    """
    A, Q, R, lam, c, tags = active.A, active.Q, active.R, active.multipliers, active.levels, active.tags
    z, r, d, n_active = active.z, active.coefficients, active.direction, active.n_active
    s, m = z.size, n_active[0]
    size = length(a)
    own = 0.0  # λ of the entering row
    for _ in range(4 * s + 20):  # 4s + 20: a generous multiple of the s + 1 changes met in practice
        active.work[0] += 4 * (m + 1) * dot_work(s) + m * m
        missing = level - dot(a, z)
        if missing <= 0.0 and own == 0.0:
            return 0.0
        for t in range(s):
            d[t] = a[t]
        _orthogonalise(Q, R, d, m, m)
        for i in range(m - 1, -1, -1):  # R r = Qᵀa
            w = R[i, m]
            for t in range(i + 1, m):
                w -= R[i, t] * r[t]
            r[i] = w / R[i, i] if R[i, i] > 0.0 else 0.0
        across = length(d)
        full = np.inf  # the step that makes the row hold
        if across > _DEPENDENT * size and m < s:
            full = missing / (across * across) if missing > 0.0 else 0.0
        step, leaving = np.inf, NONE
        for i in range(m):
            if r[i] > 0.0 and lam[i] < step * r[i]:
                step, leaving = lam[i] / r[i], i
        if leaving < 0 and full == np.inf:
            total, combined = 1.0, level
            for i in range(m):
                total -= r[i]
                combined -= r[i] * c[i]
            bound = safe_radius(combined / total, across / total, rounding)
            # 1e-300: any positive number means "no z"; the caller compares it with its own bound.
            return bound if bound > 1e-300 else 1e-300
        if full <= step:
            step, leaving = full, NONE
        for i in range(m):
            left = lam[i] - step * r[i]
            lam[i] = left if left > 0.0 else 0.0
        own += step
        if leaving < 0:
            for t in range(s):
                A[m, t] = a[t]
                Q[m, t] = d[t] / across
            lam[m], c[m] = own, level
            tags[m, 0], tags[m, 1] = tag0, tag1
            R[m, m] = across
            n_active[0] = m + 1
            _resum(A, lam, m + 1, z)
            return 0.0
        if full < np.inf:
            add_scaled(z, step, d)
        m -= 1
        n_active[0] = m
        for i in range(leaving, m):
            for t in range(s):
                A[i, t] = A[i + 1, t]
            lam[i], c[i] = lam[i + 1], c[i + 1]
            tags[i, 0], tags[i, 1] = tags[i + 1, 0], tags[i + 1, 1]
        active.work[0] += 4 * (m - leaving) * (m + 1) * dot_work(s)
        _factor_from(leaving, m, A, Q, R, d)
    _resum(A, lam, m, z)
    return -1.0


@inner
def _resum(A, lam, m, z):
    """``z = Σ λ_i a_i`` over m rows."""
    for t in range(z.size):
        z[t] = 0.0
    for i in range(m):
        add_scaled(z, lam[i], A[i])


@inner
def reload(active):
    """Q, R and z again from the rows, levels and multipliers."""
    A, m = active.A, active.n_active[0]
    active.work[0] += 2 * (m + 1) * m * dot_work(active.z.size)
    _factor_from(ZERO, m, A, active.Q, active.R, active.direction)
    _resum(A, active.multipliers, m, active.z)


@inner
def _mean_row(lam, c, m, z):
    """``Σλc / Σλ`` and ``‖Σλa‖ / Σλ``: one halfspace that every solution lies in; (0, 0) without multipliers."""
    total, combined = 0.0, 0.0
    for i in range(m):
        total += lam[i]
        combined += lam[i] * c[i]
    if total == 0.0:
        return 0.0, 0.0
    return combined / total, length(z) / total


@inner
def certified(active, rounding):
    """``cᵀλ / ‖Aᵀλ‖``, less rounding (Lemma E2)."""
    level, slope = _mean_row(active.multipliers, active.levels, active.n_active[0], active.z)
    return safe_radius(level, slope, rounding) if level > 0.0 else 0.0


@inner
def certified_along(active, rounding, reach):
    """The length in the direction of z that every solution no longer than ``reach`` has, less rounding (Lemma T3)."""
    level, slope = _mean_row(active.multipliers, active.levels, active.n_active[0], active.z)
    level -= slack_within(rounding, reach)
    slope = slope * (1.0 + 1e-14) + product_error(rounding)  # 1e-14: the rounding of ‖z‖, as in safe_radius
    return level / slope if slope > 0.0 and level > 0.0 else 0.0


@inner
def interior_direction(active, out):
    """The shortest w with ``a_i · w = 1`` for every active row: it leads off all the boundaries at once."""
    Q, R, r = active.Q, active.R, active.coefficients
    for t in range(out.size):
        out[t] = 0.0
    for i in range(active.n_active[0]):  # Rᵀ r = 1
        w = 1.0
        for t in range(i):
            w -= R[t, i] * r[t]
        r[i] = w / R[i, i] if R[i, i] > 0.0 else 0.0
        add_scaled(out, r[i], Q[i])


@inner
def point_beyond(active, step, out):
    """The point nearest z with ``a_i · out = c_i + step`` for every active row: beyond all boundaries."""
    A, Q, R, r, z, c = active.A, active.Q, active.R, active.coefficients, active.z, active.levels
    for t in range(out.size):
        out[t] = z[t]
    for i in range(active.n_active[0]):  # Rᵀ r = c − A z + step
        w = step + c[i] - dot(A[i], z)
        for t in range(i):
            w -= R[t, i] * r[t]
        r[i] = w / R[i, i] if R[i, i] > 0.0 else 0.0
    for i in range(active.n_active[0]):
        add_scaled(out, r[i], Q[i])


# In place of a point in the tag of a row: a facet of the ball.
FACET = np.int64(-4)
# Facets of an L1 ball are named by their signs, one bit each; in more coordinates they have no name.
MOST_SIGNS = 62
PASSED = 1e-10  # a facet passed by less, relative to T, does not join; no bound rests on it
_ROUNDING = 4.0 * 2.0**-53  # of a term of a sum, and of its product


@inner
def facet_row(code, ball, sigma, out):
    """The row ``T − s·δ ≥ 0`` of a named facet."""
    d = out.size - 1
    for i in range(d):
        if ball == SUM:  # L∞
            out[i] = 0.0
        else:
            out[i] = -1.0 / sigma if (code >> i) & 1 else 1.0 / sigma
    if ball == SUM:
        out[code >> 1] = -1.0 / sigma if code & 1 else 1.0 / sigma
    out[d] = 1.0


@inner
def violated_facet(z, ball, sigma, out):
    """The facet that z passes most, into ``out``; its name, -1 if it has none, -2 if z is inside the ball."""
    d = z.size - 1
    top = z[d]
    if ball == SUM:
        at, worst = ZERO, 0.0
        for i in range(d):
            if abs(z[i]) > worst:
                at, worst = i, abs(z[i])
        if worst / sigma <= top * (1.0 + PASSED):
            return -2
        code = 2 * at + (1 if z[at] > 0.0 else 0)
        facet_row(code, ball, sigma, out)
        return code
    total, code = 0.0, ZERO
    for i in range(d):
        total += abs(z[i])
    if total / sigma <= top * (1.0 + PASSED):
        return -2
    for i in range(d):
        out[i] = -1.0 / sigma if z[i] > 0.0 else 1.0 / sigma
        if d <= MOST_SIGNS and z[i] > 0.0:
            code += 1 << i
    out[d] = 1.0
    return code if d <= MOST_SIGNS else -1


@inner
def lifted_length(z, ball, sigma):
    """``‖δ‖`` of ``z = (σδ, T)``."""
    return move_length(z[: z.size - 1], ball) / sigma


@inner
def certified_sum(active, weights, sign, own, a, level, ball, sigma, rounding, out):
    """The distance to ``Σ w_i a_i · δ ≥ Σ w_i c_i``: ``w = sign · weights``, ``own`` for the row ``a · δ ≥ level``.
    Facets are left out; what rounding these sums may add is charged to slope and level (Lemma P1).
    """
    A, levels, tags, m = active.A, active.levels, active.tags, active.n_active[0]
    d = A.shape[1] - 1
    total, combined, error, steep = own, own * level, own * abs(level), 0.0
    for t in range(d):
        out[t] = own * a[t]
        steep += abs(out[t])
    for i in range(m):
        w = sign * weights[i]
        if tags[i, 0] == FACET or not w > 0.0:
            continue
        total += w
        combined += w * levels[i]
        error += w * abs(levels[i])
        for t in range(d):
            out[t] += w * A[i, t]
            steep += abs(w * A[i, t])
    if not total > 0.0:
        return 0.0
    slope = 0.0
    for t in range(d):
        size = abs(out[t])
        slope = slope + size if ball == SUM else max(slope, size)
    share = _ROUNDING * (m + d + 2)
    slope = (slope + share * steep) * sigma / total
    return safe_radius((combined - share * error) / total, slope, rounding)
