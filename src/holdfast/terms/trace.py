"""Trace: keep the metric small, and a weighted sum of bases sparse."""

import numpy as np

from holdfast.terms.base import MatrixTerm


class Trace(MatrixTerm):
    """``tr M``; over non-negative weights of unit-norm bases, the L1 norm of the weights.

    For ``M = Σ_k w_k b_k b_kᵀ`` with ``w ≥ 0`` and ``‖b_k‖ = 1``, ``tr M = Σ_k w_k = ‖w‖₁``.

    References
    ----------
    Shi, Bellet and Sha, "Sparse compositional metric learning", AAAI 2014.
    """

    def value_and_grad(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The trace; gradient ``I``."""
        return float(np.trace(M)), np.eye(M.shape[0])
