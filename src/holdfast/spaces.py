"""What is optimised over: each space knows its projection, its metric and its gradient."""

from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf

from holdfast.rows.sums import rounded


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
    """All square K, each standing for ``M = LᵀL``, ``L = K P``: no constraint is left.

    P is how the variables are scaled. Features that are correlated, or vary little, make a valley of the objective in
    L; with :func:`whitening` for P it is nearly round in K, and solvers that step by the gradient take fewer steps.

    A row of L that is zero has a zero gradient and would stay so; a start from a singular metric is
    therefore lifted a little.

    Parameters
    ----------
    P : ndarray of shape (n_features, n_features) or None
        Symmetric and positive definite; None is the identity.
    """

    lift = 1e-3  # of the mean eigenvalue, in a start from a singular metric

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


def whitening(*scatters: np.ndarray, share: float) -> np.ndarray | None:
    """``P = (C + share · I)^-½``, where C is the mean of the scatters, each at mean eigenvalue 1.

    To 24 binary digits, so that the order of the sums behind the scatters does not matter.

    Parameters
    ----------
    *scatters : ndarrays of shape (n_features, n_features)
        Means of ``X_ij`` over pairs, symmetric and positive semi-definite.
    share : float
        How much all directions count alike; positive.

    Returns
    -------
    ndarray of shape (n_features, n_features) or None
        None stands for the identity, and is returned if all scatters are zero.

    Examples
    --------
    >>> P = whitening(np.diag([0.0, 200.0]), share=0.25)
    >>> P.diagonal().round(3).tolist()
    [2.0, 0.667]
    """
    sized = [C * (len(C) / np.trace(C)) for C in scatters if np.trace(C) > 0]
    if not sized:
        return None
    values, V = np.linalg.eigh(sum(sized) / len(sized))
    return rounded((V / np.sqrt(np.maximum(values, 0.0) + share)) @ V.T)


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
