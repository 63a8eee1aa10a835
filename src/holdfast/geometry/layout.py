"""Rows of whole cache lines: loops over pairs read rows at random, and what straddles lines costs one more."""

import numpy as np

_LINE = 8  # float64 in a cache line
_NARROW = 4  # rows of so few are better left as they are


def padded_width(width: int) -> int:
    """The width rounded up to whole cache lines."""
    return width if width <= _NARROW else -(-width // _LINE) * _LINE


def padded_rows(n: int, width: int) -> np.ndarray:
    """Zeros of shape (n, padded_width(width)) that begin at a cache line.

    Examples
    --------
    >>> rows = padded_rows(5, 23)
    >>> rows.shape, rows.ctypes.data % 64
    ((5, 24), 0)
    """
    width = padded_width(width)
    memory = np.zeros(n * width + _LINE)
    start = -(memory.ctypes.data // memory.itemsize) % _LINE
    return memory[start : start + n * width].reshape(n, width)


def padded(A: np.ndarray) -> np.ndarray:
    """A, with zeros to the right so that its rows are whole cache lines."""
    out = padded_rows(*A.shape)
    out[:, : A.shape[1]] = A
    return out
