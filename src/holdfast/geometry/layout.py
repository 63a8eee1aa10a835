"""How rows lie in memory: loops over pairs read them at random, and wait for what is not in the cache."""

import numpy as np

_LINE = 8  # float64 in a cache line
_NARROW = 4  # rows of so few are better left as they are
_FITS = 2**22  # bytes of rows that a core finds in its cache, or nearly so, in any order
_CELL = 1000  # rows, about, that lie together


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


def neighbourly(X: np.ndarray) -> np.ndarray | None:
    """An order of the rows in which near ones mostly lie near each other; None if they all fit the cache.

    Halves at the median along the first principal axis, each halved along the second, and so on to cells of a thousand.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40_000, 20))
    >>> order = neighbourly(X)
    >>> bool(np.abs(np.diff(X[order], axis=0)).mean() < np.abs(np.diff(X, axis=0)).mean())
    True
    >>> neighbourly(X[:1000]) is None
    True
    """
    n, p = X.shape
    if X.nbytes <= _FITS:
        return None
    depth = min(int(np.log2(n / _CELL)), p) if n > _CELL else 0
    centred = X - X.mean(axis=0)
    _, V = np.linalg.eigh(centred.T @ centred)
    cell = np.zeros(n, np.int64)
    for values in (centred @ V[:, : -depth - 1 : -1]).T:
        order = np.lexsort((values, cell))
        cells = cell[order]
        first, last = (np.searchsorted(cells, cells, side) for side in ("left", "right"))
        cell[order] = 2 * cells + (2 * (np.arange(n) - first) >= last - first)
    return np.argsort(cell, kind="stable")
