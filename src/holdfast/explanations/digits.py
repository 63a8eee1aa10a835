"""Numbers that people can act on: as few digits as keep an answer valid."""

import numpy as np

from holdfast.explanations.question import Question

_LEVELS = 17  # steps of one digit: the last is beyond float64
_DECIMALS = 300  # of a number at most: 10 to this power is finite
_STRETCHES = (1.0, 1.002, 1.005)  # a little farther, where a rounded number falls short


def shorten(
    question: Question, rows: np.ndarray, codes: np.ndarray, targets: np.ndarray, points: np.ndarray, allowance: float
) -> np.ndarray:
    """Answers with as few digits as possible, no more than ``allowance`` farther, each accepted by the question.

    Values are multiples of ``10⁻ᵠ``, the same number of digits for features of the same unit; level by level, from
    coarse to fine, the first rounding that is still an answer is taken. Tried are the nearest number, the next one
    away from the row, and both for a point a little farther. A change of less than half a step is left out.

    Parameters
    ----------
    question : Question
    rows, points : ndarrays of shape (m, d)
        NaN points stay so.
    codes, targets : int ndarrays of shape (m,)
    allowance : float
        As a share of the size; 0 changes nothing.
    """
    out = points.copy()
    size = question.sizes(points, rows)
    left = np.flatnonzero(np.isfinite(size) & (size > 0))
    if not allowance:
        return out
    unit = np.ones(rows.shape[1]) if question.moves.unit is None else question.moves.unit
    for level in range(_LEVELS):
        if not left.size:
            break
        left = left[_round_level(question, rows, codes, targets, points, size, unit, level, allowance, left, out)]
    return out


def _round_level(
    question, rows, codes, targets, points, size, unit, level: int, allowance: float, left: np.ndarray, out: np.ndarray
) -> np.ndarray:
    """Try one number of digits for the rows ``left``; a mask of those for which nothing was accepted."""
    x, delta = rows[left], points[left] - rows[left]
    decimals = level - np.floor(np.log10(size[left, None] * unit)).astype(int)
    missing = np.ones(left.size, bool)
    closest = np.full(left.size, np.inf)
    for stretch in _STRETCHES:
        for outward in (False, True):
            moved = _rounded(x, x + stretch * delta, decimals, outward)
            moved = question.moves.enforce(moved, x)
            length = question.sizes(moved, x)
            tried = np.flatnonzero((length <= (1 + allowance) * size[left]) & (length < closest))
            if not tried.size:
                continue
            at = left[tried]
            good = question.accepts(moved[tried], rows[at], codes[at], targets[at])
            hit = tried[good]
            out[left[hit]], closest[hit] = moved[hit], length[hit]
            missing[hit] = False
    return missing


def _rounded(x: np.ndarray, moved: np.ndarray, decimals: np.ndarray, outward: bool) -> np.ndarray:
    """Values as multiples of ``10^−decimals``; where less than half a step was made, those of x."""
    decimals = np.clip(decimals, -_DECIMALS, _DECIMALS)
    step = 10.0 ** np.abs(decimals)
    fine = decimals >= 0
    # A quotient of whole numbers is the float64 nearest to the decimal number, which a product with 0.1 is not.
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.where(fine, moved * step, moved / step)
        whole = np.rint(scaled)
        if outward:
            # Away from x; a value that is a multiple already, up to rounding, stays.
            exact = np.abs(scaled - whole) <= 1e-9 * np.maximum(np.abs(scaled), 1.0)
            whole = np.where(exact, whole, np.where(moved > x, np.ceil(scaled), np.floor(scaled)))
        value = np.where(fine, whole / step, whole * step)
    quantum = np.where(fine, 1.0 / step, step)
    small = np.abs(moved - x) < 0.5 * quantum
    return np.where(small | ~np.isfinite(value), x, value)
