"""Linear classifiers under linear relations: one small program for each row and class (Lemmas R2, E2 and V3)."""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import linprog

from holdfast.certificates.kernels.halfspace import MAX
from holdfast.certificates.kernels.linear import boxed_rows
from holdfast.certificates.norms import Ellipsoid, Norm
from holdfast.numerics.least_squares import non_negative_least_squares

_ERROR = 1e-13  # relative error of a combination of rows: sums of some hundreds of terms


def with_relations(A, missing, aim, growth, norm: Norm, down, up, rows: np.ndarray, levels: np.ndarray):
    """Certified distances to ``A[t] · e ≥ missing[t]`` under ``rows · e ≤ levels[t]``, and moves to ``aim[t]``.

    The program of each row gives multipliers ``μ ≥ 0`` of the relations. Every e that is possible meets the one row
    ``(A − Σ μ_k rows_k) · e ≥ missing − Σ μ_k levels_k``, whose distance is certified, whatever the multipliers are.

    Parameters
    ----------
    A : ndarray of shape (m, n_free)
        In units, as everything here.
    missing, aim, growth : ndarrays of shape (m,)
        The level that is certified, the one that a witness aims at, and the error for each unit of a move.
    norm : Norm
        Of the free inputs.
    down, up : ndarrays of shape (m, n_free) or (m, 0)
    rows : ndarray of shape (n_relations, n_free)
    levels : ndarray of shape (m, n_relations)

    Returns
    -------
    radius : ndarray of shape (m,)
    step : ndarray of shape (m, n_free)
        NaN where the program has no solution.
    """
    m = len(A)
    multipliers, step = np.zeros((m, len(rows))), np.full(A.shape, np.nan)
    for t in np.flatnonzero(missing > 0):
        room = (down[t], up[t]) if up.size else (np.full(A.shape[1], np.inf),) * 2
        solve = _quadratic if norm.quadratic else _linear
        multipliers[t], step[t] = solve(A[t], aim[t], rows, levels[t], norm, *room)
    combined = A - multipliers @ rows
    level = missing - np.einsum("mk,mk->m", multipliers, levels)
    sizes = np.abs(A) + multipliers @ np.abs(rows)
    level -= _ERROR * (np.abs(missing) + np.einsum("mk,mk->m", multipliers, np.abs(levels)))
    error = growth + _ERROR * norm.absolute_lengths(sizes) + norm.dual_error(sizes)
    slope = norm.dual_lengths(combined) * (1 + 1e-14) + error
    radius = np.where(level > 0, np.divide(level, slope, out=np.full(m, np.inf), where=slope > 0), 0.0) * (1 - 1e-15)
    if up.size and norm.uses_box:
        boxed_rows(combined, level, aim, error, norm.code, down, up, radius, np.empty_like(step))
    return radius, step


def _linear(a, aim: float, rows, levels, norm: Norm, down, up) -> tuple[np.ndarray, np.ndarray]:
    """L1 and L∞: multipliers of the relations for a multiplier 1 of the score, and the move."""
    d, n = len(a), len(rows)
    size = np.abs(a).max(initial=0.0) or 1.0  # the tolerances of the solver are absolute
    A = np.vstack([np.hstack([-a, a])[None] / size, np.hstack([rows, -rows])])
    b = np.append(-aim / size, levels)
    cost, box = np.ones(2 * d), [(0, room if np.isfinite(room) else None) for room in (*up, *down)]
    if norm.code != MAX:  # L∞: p + n ≤ R
        both = np.hstack([np.eye(d), np.eye(d), -np.ones((d, 1))])
        A, b = np.vstack([np.hstack([A, np.zeros((n + 1, 1))]), both]), np.append(b, np.zeros(d))
        cost, box = np.append(np.zeros(2 * d), 1.0), [*box, (0, None)]
    result = linprog(cost, A_ub=A, b_ub=b, bounds=box, method="highs")
    if result.status != 0:  # no such move: multipliers of the largest gain of the score that is possible
        gain = linprog(
            np.hstack([-a, a]), A_ub=np.hstack([rows, -rows]), b_ub=levels, bounds=box[: 2 * d], method="highs"
        )
        multipliers = np.maximum(-gain.ineqlin.marginals, 0.0) if gain.status == 0 else np.zeros(n)
        return multipliers, np.full(d, np.nan)
    dual = np.maximum(-result.ineqlin.marginals[: n + 1], 0.0)
    multipliers = dual[1:] * size / dual[0] if dual[0] > 0 else np.zeros(n)
    return multipliers, result.x[:d] - result.x[d : 2 * d]


def _quadratic(a, aim: float, rows, levels, norm: Norm, down, up) -> tuple[np.ndarray, np.ndarray]:
    """L2 and ellipsoids: the least-distance problem ``min ‖e‖ : G e ≥ h``, by non-negative least squares.

    With ``E = [Gᵀ; hᵀ]`` and ``f = (0, …, 0, 1)``, the residual r of ``min ‖E u − f‖, u ≥ 0`` has ``e = −r/r_last`` and
    u are the multipliers (Lawson and Hanson 1974, chapter 23).
    """
    d, n = len(a), len(rows)
    factor = np.linalg.cholesky(norm.A0) if isinstance(norm, Ellipsoid) else np.eye(d)
    below, above = np.isfinite(down), np.isfinite(up)
    G = np.vstack([a, -rows, np.eye(d)[below], -np.eye(d)[above]])
    h = np.concatenate([[aim], -levels, -down[below], -up[above]])
    scaled = solve_triangular(factor, G.T, lower=True)  # e = C⁻ᵀ z, ‖z‖₂ the norm of e
    lengths = np.linalg.norm(scaled, axis=0)
    lengths[lengths == 0] = 1.0
    reach = abs(aim) / lengths[0] or 1.0  # in units of the distance without relations
    E = np.vstack([scaled / lengths, h / lengths / reach])
    u = non_negative_least_squares(E, np.append(np.zeros(d), 1.0))
    if u is None:
        return np.zeros(n), np.full(d, np.nan)
    residual = E @ u - np.append(np.zeros(d), 1.0)
    u = u / lengths
    multipliers = u[1 : n + 1] / u[0] if u[0] > 0 else np.zeros(n)
    if not residual[-1] < -1e-10:  # no such move
        return multipliers, np.full(d, np.nan)
    z = -residual[:-1] / residual[-1] * reach
    return multipliers, solve_triangular(factor, z, lower=True, trans="T")
