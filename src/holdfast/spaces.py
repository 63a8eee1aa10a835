"""What is optimised over: each space knows its projection, its metric and its gradient."""

from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf


class Space(Protocol):
    """A set of parameters, each of which stands for a metric.

    A space offers what solvers ask for: ``project(x)``, the nearest point of a convex set, or
    ``bounds(size)``, limits on each variable as scipy writes them, or both.
    """

    def start(self, M: np.ndarray) -> np.ndarray:
        """Parameters that stand for M, or for a metric near it."""
        ...

    def metric(self, x: np.ndarray) -> np.ndarray:
        """The matrix M that x stands for."""
        ...

    def gradient(self, G: np.ndarray, x: np.ndarray) -> np.ndarray:
        """A gradient in M, as a gradient in x."""
        ...


class PSDMatrices:
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


class PositiveDefinite:
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


class Factors:
    """All square L, each standing for ``M = LᵀL``: no constraint is left.

    A row of L that is zero has a zero gradient and would stay so; a start from a singular metric is
    therefore lifted a little.
    """

    lift = 1e-3  # of the mean eigenvalue, in a start from a singular metric

    def bounds(self, size: int) -> None:
        """None: every L stands for a metric."""
        return None

    def start(self, M: np.ndarray) -> np.ndarray:
        """``Λ^½ Vᵀ`` of ``M = V Λ Vᵀ``, its small eigenvalues lifted."""
        values, V = np.linalg.eigh(M)
        mean = max(values.mean(), 0.0) or 1.0
        return np.sqrt(np.maximum(values, self.lift * mean))[:, None] * V.T

    def metric(self, L: np.ndarray) -> np.ndarray:
        """``LᵀL``."""
        return L.T @ L

    def gradient(self, G: np.ndarray, L: np.ndarray) -> np.ndarray:
        """``2 L G``."""
        return 2.0 * (L @ G)


class Points:
    """All points: what proxies move in. They stand for no metric."""

    def bounds(self, size: int) -> None:
        """None."""
        return None

    def project(self, A: np.ndarray) -> np.ndarray:
        """A."""
        return A

    def start(self, M: np.ndarray) -> np.ndarray:
        """Refused: a metric does not say where points are."""
        raise TypeError("Points do not stand for a metric.")

    metric = start

    def gradient(self, G: np.ndarray, A: np.ndarray) -> np.ndarray:
        """G."""
        return G


class BasisWeights:
    """``{w ≥ 0}``, each standing for ``M = Σ_k w_k b_k b_kᵀ``.

    Parameters
    ----------
    basis : ndarray of shape (n_basis, n_features)
        The rows b_k.
    weights : ndarray of shape (n_basis,) or None
        Where to start; None is ones.
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
