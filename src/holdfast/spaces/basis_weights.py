"""Non-negative weights of given rank-one metrics."""

import numpy as np

from holdfast.spaces.base import Space


class BasisWeights(Space):
    """``{w ≥ 0}``, each standing for ``M = Σ_k w_k b_k b_kᵀ``.

    Parameters
    ----------
    basis : ndarray of shape (n_basis, n_features)
        The rows b_k.
    weights : ndarray of shape (n_basis,) or None
        The weights that ``start`` returns; None is ones.
    """

    def __init__(self, basis: np.ndarray, weights: np.ndarray | None = None):
        self.basis, self.weights = basis, weights

    def project(self, w: np.ndarray) -> np.ndarray:
        """``max(w, 0)``."""
        return np.maximum(w, 0.0)

    def bounds(self, size: int) -> list[tuple[float, None]]:
        """Zero and up, for each weight."""
        return [(0.0, None)] * size

    def start(self, M: np.ndarray) -> np.ndarray:
        """Ones, at the scale of M (the identity gives ones), unless weights to start from were given."""
        if self.weights is not None:
            return self.weights.copy()
        return np.full(len(self.basis), np.trace(M) / M.shape[0])

    def metric(self, w: np.ndarray) -> np.ndarray:
        """``Σ_k w_k b_k b_kᵀ``, over the w_k that are not zero."""
        used = np.flatnonzero(w)
        return (self.basis[used].T * w[used]) @ self.basis[used]

    def gradient(self, G: np.ndarray, w: np.ndarray) -> np.ndarray:
        """``b_kᵀ G b_k``."""
        return np.einsum("kp,kp->k", self.basis @ G, self.basis)
