"""L1 and L∞ as quadratic programs: ``min ½T² + ½σ²‖δ‖² : ‖δ‖ ≤ T``, in coordinates ``z = (σδ, T)``.

The ball ``‖δ‖ ≤ T`` is a polyhedron, whose facets ``T − s·δ ≥ 0`` join the active set as they are violated: one
coordinate and its sign for L∞, a sign for every coordinate for L1. For small σ the solution is the shortest move of
least Euclidean length, and for every σ the multipliers of the other rows certify a length (Lemma P1). σ is a power of
two, so that scaling rounds nothing.

References
----------
Mangasarian, "Normal solutions of linear programs", Mathematical Programming Study 22, 1984.
"""

import numpy as np

from holdfast.certificates.kernels.halfspace import SUM, move_length
from holdfast.certificates.kernels.rounding import safe_radius
from holdfast.numerics.compile import ZERO, inner

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
    """The distance to ``Σ w_i a_i · δ ≥ Σ w_i c_i``: ``w = sign · weights``, and ``own`` for the row ``a · δ ≥ level``.

    Facets are left out. What the rounding of these sums may add is charged to slope and level (Lemma P1).
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
