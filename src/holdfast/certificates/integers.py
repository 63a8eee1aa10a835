"""Features that are whole numbers: a moved value is a whole number, or the value it had."""

import numpy as np


def on_lattice(moved: np.ndarray, rows: np.ndarray, integer: np.ndarray) -> np.ndarray:
    """True for each row that has whole numbers, or its own values, in the features of the mask ``integer``."""
    values, own = moved[:, integer], rows[:, integer]
    return ((values == np.rint(values)) | (values == own)).all(axis=1)


def to_lattice(
    moved: np.ndarray, rows: np.ndarray, integer: np.ndarray, low: np.ndarray, high: np.ndarray, rounding: str
) -> np.ndarray:
    """Moved rows with whole numbers in the features ``integer``, within ``low`` and ``high``.

    Parameters
    ----------
    moved, rows : ndarrays of shape (m, d)
    integer : bool ndarray of shape (d,)
    low, high : ndarrays of shape (m, d)
        Limits of every value.
    rounding : {"nearest", "outward", "inward"}
        To which whole number: away from the row, or towards it.

    Returns
    -------
    ndarray of shape (m, d)
        Where there is no whole number within the limits, the value of the row is kept.
    """
    value, own = moved[:, integer], rows[:, integer]
    if rounding == "nearest":
        whole = np.rint(value)
    else:
        whole = np.where((value > own) == (rounding == "outward"), np.ceil(value), np.floor(value))
    lowest, highest = np.ceil(low[:, integer]), np.floor(high[:, integer])
    whole = np.where(lowest <= highest, np.clip(whole, lowest, highest), own)
    out = moved.copy()
    out[:, integer] = np.where(value == own, own, whole)
    return out
