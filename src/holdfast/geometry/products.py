"""Products of the points with small matrices, block by block of points."""

from itertools import pairwise

import numpy as np

_SLABS = 4  # slabs of columns that a product with a triangular matrix is cut into


class Product:
    """``out = U A``; A is padded with zeros to the widths of U and out."""

    def __init__(self, U: np.ndarray, A: np.ndarray, out: np.ndarray):
        self._U, self._out = U, out
        self._A = np.zeros((U.shape[1], out.shape[1]))
        self._A[: A.shape[0], : A.shape[1]] = A

    def __call__(self, rows: slice) -> None:
        """Fill some rows of out."""
        np.matmul(self._U[rows], self._A, out=self._out[rows])


def triangular(U: np.ndarray, R: np.ndarray, out: np.ndarray) -> list[Product]:
    """``out = U Rᵀ`` for an upper triangle R, in slabs of columns: a slab needs no column of U before its own."""
    return [Product(U[:, a:], R[a:b, a:].T, out[:, a:b]) for a, b in _slabs(out.shape[1])]


def _slabs(width: int) -> list[tuple[int, int]]:
    """Ranges of columns that begin at a multiple of 8.

    Examples
    --------
    >>> _slabs(3), _slabs(24), _slabs(64)
    ([(0, 3)], [(0, 8), (8, 16), (16, 24)], [(0, 16), (16, 32), (32, 48), (48, 64)])
    """
    starts = sorted({width * slab // (8 * _SLABS) * 8 for slab in range(_SLABS)})
    return list(pairwise([*starts, width]))
