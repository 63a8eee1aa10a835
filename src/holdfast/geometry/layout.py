"""Memory layout of the points, for loops over pairs: these read rows at random, and wait on every cache miss."""

import numpy as np

_LINE = 8  # float64 numbers in a cache line of 64 bytes
_NARROW = 4  # rows of at most half a line are not padded: it would double the memory read
_FITS = 2**22  # bytes of rows that fit the cache of a core, or nearly, so that their order does not matter
_CELL = 1000  # rows in a cell, about: their order within it does not matter


def padded_width(width: int) -> int:
    """The width rounded up to whole cache lines; narrow rows keep theirs."""
    return width if width <= _NARROW else -(-width // _LINE) * _LINE


def padded_rows(n: int, width: int) -> np.ndarray:
    """Zeros of shape (n, padded_width(width)), aligned to a cache line.

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
    """A copy of A with columns of zeros added, so that its rows are whole cache lines."""
    out = padded_rows(*A.shape)
    out[:, : A.shape[1]] = A
    return out


def cache_friendly_order(X: np.ndarray) -> np.ndarray | None:
    """An order of the rows in which neighbouring points mostly lie close in memory; None if all fit the cache.

    The points are halved at the median along the first principal axis, each half along the second, and so on down to
    cells of about a thousand.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40_000, 20))
    >>> order = cache_friendly_order(X)
    >>> bool(np.abs(np.diff(X[order], axis=0)).mean() < np.abs(np.diff(X, axis=0)).mean())
    True
    >>> cache_friendly_order(X[:1000]) is None
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
