"""Factors of a metric."""

import numpy as np

from holdfast.spaces.base import Space


class Factors(Space):
    """All square K, each standing for ``M = LᵀL``, ``L = K P``: no constraint is left.

    P preconditions the problem. Features that are correlated, or vary little, make the objective ill-conditioned in L;
    with :func:`whitening` for P it is better conditioned in K, and solvers that step by the gradient take fewer steps.

    A row of L that is zero has a zero gradient and would stay so; a start from a singular metric is
    therefore lifted a little.

    Parameters
    ----------
    P : ndarray of shape (n_features, n_features) or None
        Symmetric and positive definite; None is the identity.
    """

    lift = 1e-3  # of the mean eigenvalue: the least that a start has; small against the metric, large against rounding

    def __init__(self, P: np.ndarray | None = None):
        self.P = P
        self._last: tuple[np.ndarray, np.ndarray] | None = None  # K and L: a gradient follows its metric

    def bounds(self, size: int) -> None:
        """None: every K stands for a metric."""
        return None

    def start(self, M: np.ndarray) -> np.ndarray:
        """``K = Λ^½ Vᵀ P⁻¹`` of ``M = V Λ Vᵀ``, its small eigenvalues lifted."""
        values, V = np.linalg.eigh(M)
        mean = max(values.mean(), 0.0) or 1.0
        L = np.sqrt(np.maximum(values, self.lift * mean))[:, None] * V.T
        return L if self.P is None else np.linalg.solve(self.P, L.T).T

    def metric(self, K: np.ndarray) -> np.ndarray:
        """``LᵀL``."""
        L = self._factor(K)
        return L.T @ L

    def gradient(self, G: np.ndarray, K: np.ndarray) -> np.ndarray:
        """``2 L G P``."""
        gradient = 2.0 * (self._factor(K) @ G)
        return gradient if self.P is None else gradient @ self.P

    def _factor(self, K: np.ndarray) -> np.ndarray:
        if self.P is None:
            return K
        if self._last is None or self._last[0] is not K:
            self._last = K, K @ self.P
        return self._last[1]
