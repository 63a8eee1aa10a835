"""Linear classifiers under linear relations: one small program for each row and class (Lemmas R2, E2 and V3)."""

import numpy as np

from holdfast.certificates.norms import Norm
from holdfast.certificates.programs import shortest

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
        found = shortest(norm, np.vstack([A[t], -rows]), np.append(aim[t], -levels[t]), *room)
        if found.multipliers[0] > 0:
            multipliers[t] = found.multipliers[1:] / found.multipliers[0]
        if found.move is not None:
            step[t] = found.move
    combined = A - multipliers @ rows
    level = missing - np.einsum("mk,mk->m", multipliers, levels)
    sizes = np.abs(A) + multipliers @ np.abs(rows)
    level -= _ERROR * (np.abs(missing) + np.einsum("mk,mk->m", multipliers, np.abs(levels)))
    error = growth + _ERROR * norm.absolute_lengths(sizes) + norm.dual_error(sizes)
    slope = norm.dual_lengths(combined) * (1 + 1e-14) + error
    radius = np.where(level > 0, np.divide(level, slope, out=np.full(m, np.inf), where=slope > 0), 0.0) * (1 - 1e-15)
    norm.box_distances(combined, level, aim, error, down, up, radius, np.empty_like(step))
    return radius, step
