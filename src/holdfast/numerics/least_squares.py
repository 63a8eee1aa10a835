"""Least squares with non-negative unknowns."""

import numpy as np
from scipy.optimize import lsq_linear, nnls


def non_negative_least_squares(E: np.ndarray, f: np.ndarray) -> np.ndarray | None:
    """``argmin ‖E w − f‖₂ : w ≥ 0``; None if no solver finds one.

    ``nnls`` of scipy before 1.15 diverges on some degenerate problems: an answer that is worse than w = 0 is not taken,
    and the problem is solved again as one with bounds.

    Parameters
    ----------
    E : ndarray of shape (m, n)
    f : ndarray of shape (m,)

    Returns
    -------
    ndarray of shape (n,) or None

    Examples
    --------
    >>> non_negative_least_squares(np.eye(2), np.array([1.0, -1.0])).tolist()
    [1.0, 0.0]
    """
    with np.errstate(all="ignore"):
        try:
            w = nnls(E, f, maxiter=30 * E.shape[1])[0]
        except RuntimeError:  # too many iterations
            w = np.full(E.shape[1], np.nan)
        if not np.linalg.norm(E @ w - f) <= np.linalg.norm(f) * (1.0 + 1e-9):
            w = np.maximum(lsq_linear(E, f, bounds=(0.0, np.inf), method="bvls", tol=1e-14).x, 0.0)
        return w if np.linalg.norm(E @ w - f) <= np.linalg.norm(f) * (1.0 + 1e-9) else None
