"""The loops over one set of index pairs: squared lengths forwards, a weighted sum of squares backwards."""

import numpy as np

from holdfast.constraints import Pairs
from holdfast.geometry.kernels import degrees, half_laplacian, pair_forms, pair_squares
from holdfast.numerics.threads import balanced


class PairLoop:
    """``Z ↦ ‖z_i − z_j‖²`` of every pair, and ``w ↦ Σ w_ij (x_i − x_j)(x_i − x_j)ᵀ``, in blocks.

    The sum is ``Xᵀ Lap(w) X``, where ``Lap(w)`` is the graph Laplacian of the pairs with weights w; its diagonal holds
    the degrees, for each point the sum of the weights of its pairs.

    Parameters
    ----------
    pairs : Pairs
    width : int
        Number of features of the points; sets how much the work of a point weighs against that of a pair.
    n_blocks : int
        Number of blocks of points that the loops are cut into.
    lanes : list of slice
        Ranges of pairs. Each has its own array of degrees, so that threads never write to the same memory.

    Attributes
    ----------
    form : ndarray of shape (n_pairs,)
        The squared lengths last computed; overwritten by the next call.
    weight : ndarray of shape (n_pairs,)
        The weights to sum with; the caller fills it.
    degree : ndarray of shape (n_samples,)
        The diagonal of ``Lap(weight)``, after :meth:`sum_degrees`.
    blocks : list of slice
        Ranges of points of nearly equal work.
    """

    def __init__(self, pairs: Pairs, width: int, n_blocks: int, lanes: list[slice]):
        self.pairs, self.lanes = pairs, lanes
        self.form, self.weight = np.empty((2, len(pairs)))
        # A point costs its pairs, plus its own row, which is weighed as width/4 pairs.
        self.blocks = balanced(pairs.indptr + width // 4 * np.arange(pairs.indptr.size), n_blocks)
        self._degrees = np.empty((len(lanes), pairs.n_samples))
        self.degree = self._degrees[0]

    def forms(self, U: np.ndarray, V: np.ndarray, part: slice) -> np.ndarray:
        """Compute ``(u_i − u_j)·(v_i − v_j)`` for a range of pairs, in ``form``."""
        pair_forms(U, V, self.pairs.first, self.pairs.second, self.form, part.start, part.stop)
        return self.form

    def squares(self, Z: np.ndarray, rows: slice) -> np.ndarray:
        """Compute ``‖z_i − z_j‖²`` for the pairs whose first point is in ``rows``, in ``form``."""
        pair_squares(Z, self.pairs.indptr, self.pairs.second, self.form, rows.start, rows.stop)
        return self.form

    def accumulate_degrees(self, lane: int) -> None:
        """Sum, for every point, the weights of its pairs in one lane."""
        part = self.lanes[lane]
        degrees(self.pairs.first, self.pairs.second, self.weight, self._degrees[lane], part.start, part.stop)

    def sum_degrees(self) -> None:
        """Set ``degree`` to the sum over the lanes, once each has been accumulated."""
        self.degree = self._degrees.sum(axis=0)

    def half_sum(self, X: np.ndarray, buffer: np.ndarray, rows: slice) -> np.ndarray:
        """The share of the points ``rows`` in H, where ``H + Hᵀ = Xᵀ Lap(weight) X``; ``buffer`` is overwritten."""
        pairs = self.pairs
        half_laplacian(pairs.indptr, pairs.second, self.weight, self.degree, X, buffer, rows.start, rows.stop)
        return X[rows].T @ buffer[rows]
