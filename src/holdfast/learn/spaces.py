"""Over what an objective is minimised, and what comes out of it.

A space is a set of parameters, each of which stands for a metric M; the result is a linear map L with ``M = LᵀL``, the
``components_`` of a learner.
"""

from abc import ABC, abstractmethod

import numpy as np
from scipy.linalg.lapack import dpotrf
from sklearn.utils import check_array

from holdfast.base.blocks import round_to_bits


class Space(ABC):
    """A set of parameters x, each of which stands for a metric M(x).

    A space may also have what some solvers require (see :class:`holdfast.learn.solvers.Solver`): ``project(x)``, the
    nearest point of a convex set, and ``bounds(size)``, the limits of each variable as scipy writes them, None if all
    are free.
    """

    @abstractmethod
    def start(self, M: np.ndarray) -> np.ndarray:
        """Parameters that stand for M, or for a metric near it."""

    @abstractmethod
    def metric(self, x: np.ndarray) -> np.ndarray:
        """The matrix M that x stands for."""

    @abstractmethod
    def gradient(self, G: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The gradient in x that belongs to the gradient G in M: the chain rule."""


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


def whitening(*scatters: np.ndarray, shrinkage: float) -> np.ndarray | None:
    """``P = (C + shrinkage · I)^-½``, C the mean of the scatters, each scaled to mean eigenvalue 1; None if all are
    zero. Rounded to 24 binary digits, because the order of the sums behind the scatters changes later ones
    (:func:`round_reproducibly`).

    >>> P = whitening(np.diag([0.0, 200.0]), shrinkage=0.25)
    >>> P.diagonal().round(3).tolist()
    [2.0, 0.667]
    """
    scaled = [C * (len(C) / np.trace(C)) for C in scatters if np.trace(C) > 0]
    if not scaled:
        return None
    values, V = np.linalg.eigh(sum(scaled) / len(scaled))
    return round_to_bits((V / np.sqrt(np.maximum(values, 0.0) + shrinkage)) @ V.T)


class _Matrices(Space):
    """The parameters are the metric itself, in a convex set to project onto."""

    def metric(self, M: np.ndarray) -> np.ndarray:
        """M."""
        return M

    def gradient(self, G: np.ndarray, M: np.ndarray) -> np.ndarray:
        """G."""
        return G


class PSDMatrices(_Matrices):
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


class PositiveDefinite(_Matrices):
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


class Points(Space):
    """``ℝ^(m × p)``: the positions of m free points, such as proxies. They do not determine a metric."""

    def bounds(self, size: int) -> None:
        """None: every coordinate is free."""
        return None

    def project(self, A: np.ndarray) -> np.ndarray:
        """A."""
        return A

    def start(self, M: np.ndarray) -> np.ndarray:
        """Refused: a metric does not determine points."""
        raise TypeError("Points do not determine a metric.")

    def metric(self, A: np.ndarray) -> np.ndarray:
        """Refused: points do not determine a metric."""
        raise TypeError("Points do not determine a metric.")

    def gradient(self, G: np.ndarray, A: np.ndarray) -> np.ndarray:
        """G."""
        return G


# -- the result: a linear map, and its distance -----------------------------------------------------


def check_metric(M, n_features: int | None = None, name: str = "M") -> np.ndarray:
    """M as a symmetric positive semi-definite float64 array, or a ``ValueError`` that says why not and calls it
    ``name``.
    """
    M = check_array(M, dtype=np.float64, input_name=name)
    if M.shape[0] != M.shape[1]:
        raise ValueError(f"{name} must be square; got shape {M.shape}.")
    if n_features is not None and M.shape[0] != n_features:
        raise ValueError(f"{name} is {M.shape[0]} × {M.shape[0]}, but the data has {n_features} features.")
    scale = np.abs(M).max()
    if np.abs(M - M.T).max() > 1e-8 * scale:
        raise ValueError(f"{name} is not symmetric; a metric must be.")
    lowest = np.linalg.eigvalsh(M)[0] if scale > 0 else 0.0
    if lowest < -1e-8 * scale:
        raise ValueError(
            f"{name} is not positive semi-definite (smallest eigenvalue {lowest:.3g}), so it is not a metric."
        )
    return (M + M.T) / 2


def components_of(M: np.ndarray) -> np.ndarray:
    """``L`` with ``LᵀL = M``: one row per positive eigenvalue, the strongest first, at least one (of zeros). In each
    row the entry largest in absolute value is positive, so that equal metrics have equal components.

    >>> import numpy as np
    >>> components_of(np.array([[1.0, 0.0], [0.0, 4.0]]))
    array([[0., 2.],
           [1., 0.]])
    """
    values, V = np.linalg.eigh(M)
    values, V = values[::-1], V[:, ::-1]
    rank = max(1, int(np.sum(values > values.size * np.finfo(float).eps * max(values[0], 0.0))))
    return _fix_signs(np.sqrt(np.maximum(values[:rank], 0.0))[:, None] * V[:, :rank].T)


def components_in_any_units(M: np.ndarray) -> np.ndarray:
    """:func:`components_of`, or, where that would drop a feature in large units as rounding, a factor of R in
    ``M = D R D``: R has a unit diagonal, so units do not matter.

    >>> import numpy as np
    >>> components_in_any_units(np.diag([1.0, 1e-20])).shape
    (2, 2)
    """
    D = np.sqrt(np.diag(M))
    unit = np.where(D > 0, D, 1.0)
    values, V = np.linalg.eigh(M / unit / unit[:, None])
    kept = values > values.size * np.finfo(float).eps * max(values[-1], 0.0)
    L = components_of(M)
    if kept.sum() <= len(L):
        return L
    return _fix_signs((np.sqrt(values[kept])[:, None] * V[:, kept].T * unit)[::-1])


def components_of_factor(L: np.ndarray) -> np.ndarray:
    """``components_of(LᵀL)`` by a singular value decomposition of L, without the square matrix.

    >>> import numpy as np
    >>> components_of_factor(np.array([[0.0, -3.0], [0.0, 4.0]]))
    array([[0., 5.]])
    """
    _, values, V = np.linalg.svd(L, full_matrices=False)
    rank = max(1, int(np.sum(values > np.sqrt(L.shape[1] * np.finfo(float).eps) * values[0])))
    return _fix_signs(values[:rank, None] * V[:rank])


def _fix_signs(L: np.ndarray) -> np.ndarray:
    """Flip rows so that the entry largest in absolute value is positive."""
    largest = np.take_along_axis(L, np.abs(L).argmax(axis=1)[:, None], axis=1)
    return L * np.where(largest < 0, -1.0, 1.0) + 0.0  # + 0.0: no negative zeros


class Mahalanobis:
    """``d_M(x, z) = √((x − z)ᵀ M (x − z)) = ‖L(x − z)‖``.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        L.

    Examples
    --------
    >>> import numpy as np
    >>> Mahalanobis(np.array([[2.0, 0.0]]))([1.0, 5.0], [0.0, 0.0])
    2.0
    """

    def __init__(self, components: np.ndarray):
        self.components = components

    def __call__(self, u, v, squared: bool = False) -> float:
        """Distance of two points."""
        u, v = (np.asarray(point, dtype=np.float64) for point in (u, v))
        if u.shape != v.shape or u.shape != (self.components.shape[1],):
            raise ValueError(
                f"Both points must be vectors of length {self.components.shape[1]}; got shapes {u.shape} and {v.shape}."
            )
        difference = self.components @ (u - v)
        total = float(difference @ difference)
        return total if squared else float(np.sqrt(total))

    @property
    def matrix(self) -> np.ndarray:
        """``M = LᵀL``."""
        return self.components.T @ self.components

    def between_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """Distances within pairs, an array of shape (n_pairs, 2, n_features)."""
        return np.linalg.norm((pairs[:, 0] - pairs[:, 1]) @ self.components.T, axis=1)
