"""Walk from a row towards points of other classes, and stop where the answer has just changed."""

from collections.abc import Callable, Iterable

import numpy as np

Predict = Callable[[np.ndarray], np.ndarray]
Project = Callable[[np.ndarray, np.ndarray], np.ndarray]
_HALVINGS = 40  # of a segment: to 1e-12 of its length
_BEYOND = 1e-9  # how far a witness goes beyond the boundary, relative to the move: a hair, as in walk.py


def segment(
    predict: Predict,
    X: np.ndarray,
    codes: np.ndarray,
    ends: Iterable[np.ndarray],
    lengths,
    project: Project | None = None,
) -> np.ndarray:
    """``x + t (end − x)`` with the smallest t found at which ``predict`` is no longer ``codes``.

    Parameters
    ----------
    predict : callable
        Predictions as codes; they differ from ``codes`` at every point that is returned.
    X : ndarray of shape (m, d)
    codes : ndarray of shape (m,)
        Predictions at X.
    ends : iterable of ndarrays of shape (m, d)
        Points to walk to, one array for each choice; NaN rows are skipped.
    lengths : callable
        The norm of rows, to choose between the ends.
    project : callable, optional
        ``project(moved, rows)`` takes a point of a segment to one that is allowed (whole numbers, relations).

    Returns
    -------
    ndarray of shape (m, d)
        NaN rows where no end changes the answer.
    """
    best, size = np.full(X.shape, np.nan), np.full(len(X), np.inf)
    project = project or (lambda moved, rows: moved)
    for end in ends:
        rows = np.flatnonzero(np.isfinite(end).all(axis=1))
        rows = rows[predict(end[rows]) != codes[rows]] if rows.size else rows
        if not rows.size:
            continue
        low, high = np.zeros(rows.size), np.ones(rows.size)  # changed at high, not at low
        step = end[rows] - X[rows]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            changed = predict(project(X[rows] + middle[:, None] * step, X[rows])) != codes[rows]
            high, low = np.where(changed, middle, high), np.where(changed, low, middle)
        # A hair beyond the boundary, if the answer is changed there too: at the boundary itself rounding decides.
        beyond = np.minimum(high * (1.0 + _BEYOND), 1.0)
        kept = predict(project(X[rows] + beyond[:, None] * step, X[rows])) != codes[rows]
        high = np.where(kept, beyond, high)
        # At t = 1 the end itself was checked; x + (end − x) may differ from it in the last bit.
        witness = np.where((high == 1.0)[:, None], end[rows], project(X[rows] + high[:, None] * step, X[rows]))
        length = lengths(witness - X[rows])
        better = length < size[rows]
        best[rows[better]], size[rows[better]] = witness[better], length[better]
    return best
