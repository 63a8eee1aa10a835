"""The loops over one set of index pairs: squared lengths forwards, a Laplacian backwards."""

import numpy as np
from scipy.sparse import csr_array, diags_array

from holdfast.constraints import Pairs
from holdfast.geometry.kernels import degrees, half_laplacian, pair_forms, pair_squares
from holdfast.threads import balanced


class PairLoop:
    """``Z ↦ ‖z_i − z_j‖²`` of every pair, and ``w ↦ Σ w_ij (x_i − x_j)(x_i − x_j)ᵀ``, in blocks.

    Parameters
    ----------
    pairs : Pairs
    width : int
        Of the points, for blocks of equal work.
    n_blocks : int
        Into how many blocks of points the loops are cut.
    lanes : list of slice
        Blocks of pairs whose degrees are counted side by side.

    Attributes
    ----------
    form, weight : ndarrays of shape (n_pairs,)
        What was measured, and what is to be summed. Both are re-used.
    blocks : list of slice
        Of points.
    """

    def __init__(self, pairs: Pairs, width: int, n_blocks: int, lanes: list[slice]):
        self.pairs, self.lanes = pairs, lanes
        self.form, self.weight = np.empty((2, len(pairs)))
        # Points have different numbers of pairs under them.
        self.blocks = balanced(pairs.indptr + width // 4 * np.arange(pairs.indptr.size), n_blocks)
        self._degrees = np.empty((len(lanes), pairs.n_samples))
        self.degree = self._degrees[0]

    def forms(self, U: np.ndarray, V: np.ndarray, part: slice) -> np.ndarray:
        """``(u_i − u_j)·(v_i − v_j)`` of some pairs, in ``form``."""
        pair_forms(U, V, self.pairs.first, self.pairs.second, self.form, part.start, part.stop)
        return self.form

    def squares(self, Z: np.ndarray, rows: slice) -> np.ndarray:
        """``‖z_i − z_j‖²`` of the pairs under some points, in ``form``."""
        pair_squares(Z, self.pairs.indptr, self.pairs.second, self.form, rows.start, rows.stop)
        return self.form

    def count(self, lane: int) -> None:
        """Sum, for every point, the weights of its pairs in a lane."""
        part = self.lanes[lane]
        degrees(self.pairs.first, self.pairs.second, self.weight, self._degrees[lane], part.start, part.stop)

    def add_up(self) -> None:
        """``degree``, the diagonal of the Laplacian, when every lane has been counted."""
        self.degree = self._degrees.sum(axis=0)

    def half_sum(self, X: np.ndarray, room: np.ndarray, rows: slice) -> np.ndarray:
        """What some points add to H, where ``H + Hᵀ = Xᵀ Lap(weight) X``; ``room`` is overwritten."""
        pairs = self.pairs
        half_laplacian(pairs.indptr, pairs.second, self.weight, self.degree, X, room, rows.start, rows.stop)
        return X[rows].T @ room[rows]

    def laplacian(self) -> csr_array:
        """``Lap(weight)``, sparse."""
        n = self.pairs.n_samples
        under = csr_array((self.weight, self.pairs.second, self.pairs.indptr), shape=(n, n))
        return diags_array(self.degree) - under - under.T
