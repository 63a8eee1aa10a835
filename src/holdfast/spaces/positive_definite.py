"""Positive definite matrices."""

import numpy as np

from holdfast.spaces.base import Space


class PositiveDefinite(Space):
    """``{M : M = Mᵀ, M ⪰ floor · I}``; the projection raises small eigenvalues to the floor.

    Parameters
    ----------
    floor : float
        Positive.
    """

    def __init__(self, floor: float):
        self.floor = floor

    def project(self, M: np.ndarray) -> np.ndarray:
        """``V max(Λ, floor) Vᵀ``."""
        values, V = np.linalg.eigh((M + M.T) / 2)
        return (V * np.maximum(values, self.floor)) @ V.T

    def start(self, M: np.ndarray) -> np.ndarray:
        """The nearest matrix of the set."""
        return self.project(M)

    def metric(self, M: np.ndarray) -> np.ndarray:
        """M."""
        return M

    def gradient(self, G: np.ndarray, M: np.ndarray) -> np.ndarray:
        """G."""
        return G
