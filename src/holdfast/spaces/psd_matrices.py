"""Positive semi-definite matrices."""

import numpy as np
from scipy.linalg.lapack import dpotrf

from holdfast.spaces.base import Space


class PSDMatrices(Space):
    """``{M : M = Mᵀ, M ⪰ 0}``; the projection clips negative eigenvalues.

    Parameters
    ----------
    floor : float
        Eigenvalues below it become 0 (the paper's code: 1e-10).
    """

    def __init__(self, floor: float = 0.0):
        self.floor = floor

    def project(self, M: np.ndarray) -> np.ndarray:
        """``V max(Λ, 0) Vᵀ``; M itself if a Cholesky factorisation shows it positive definite."""
        M = (M + M.T) / 2
        shifted = M.copy()
        shifted.flat[:: M.shape[0] + 1] -= self.floor
        if dpotrf(shifted, lower=1, clean=0, overwrite_a=1)[1] == 0:
            return M
        values, V = np.linalg.eigh(M)
        keep = values > self.floor
        V = V[:, keep]
        return (V * values[keep]) @ V.T

    def start(self, M: np.ndarray) -> np.ndarray:
        """M."""
        return M.copy()

    def metric(self, M: np.ndarray) -> np.ndarray:
        """M."""
        return M

    def gradient(self, G: np.ndarray, M: np.ndarray) -> np.ndarray:
        """G."""
        return G
