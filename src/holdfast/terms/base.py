"""The three kinds of term: functions of a, b, h per triplet; of M; of the distances to proxies."""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

# The sum, and its derivatives by a, b and h per triplet (None where they are zero).
Partials = tuple[float, np.ndarray | None, np.ndarray | None, np.ndarray | None]


class Term(BaseEstimator, ABC):
    """A scikit-learn object whose constructor stores its parameters; :meth:`check` refuses bad ones."""

    def check(self) -> None:
        """Raise ``ValueError`` if a parameter is out of range."""


class TripletTerm(Term):
    """``Σ φ(a, b, h)`` over triplets. A term is never given a matrix.

    The sum is not a mean: the objective divides by the size of the set, so that sums over chunks of triplets
    add up to the whole.

    Attributes
    ----------
    over : {"R", "S"}
        The set summed over: every triplet, or every distinct pair (i, j) of point and target. Over S only
        ``a`` is given; ``b`` and ``h`` are None.
    reads_h : bool
        True if the term reads h, which is not computed unless some term does.
    """

    over = "R"
    reads_h = False

    @abstractmethod
    def value_and_partials(self, a: np.ndarray, b: np.ndarray | None, h: np.ndarray | None) -> Partials:
        """The sum, and its derivatives by a, b and h per triplet (None where zero)."""


class MatrixTerm(Term):
    """A function of the metric M itself, such as a norm or a divergence."""

    @abstractmethod
    def value_and_grad(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The value, and its (symmetric) gradient, or a subgradient, at M."""


class Gauge(MatrixTerm):
    """A convex matrix term g over ``M ⪰ 0`` with ``g(cM) = c g(M)`` for c ≥ 0, such as a norm of the eigenvalues."""

    @abstractmethod
    def prox(self, M: np.ndarray, t: float) -> np.ndarray:
        """``argmin over Z ⪰ 0 of ½ ‖Z − M‖² + t g(Z)``."""

    @abstractmethod
    def polar(self, S: np.ndarray) -> float:
        """``g°(S) = max ⟨S, M⟩ over M ⪰ 0 with g(M) ≤ 1``."""


class ProxyTerm(Term):
    """``Σ_i φ(d_i, y_i)`` over points, where row d_i holds the squared distances of point i to all proxies.

    φ must not change when a constant is added to d_i, so that each row of derivatives sums to 0:
    :class:`~holdfast.geometry.ProxyGeometry` computes distances only up to such a constant.
    """

    @abstractmethod
    def value_and_partials(self, d: np.ndarray, y: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
        """The sum, and its derivatives by d.

        Parameters
        ----------
        d : ndarray of shape (n_points, n_proxies)
        y : int ndarray of shape (n_points,)
            Class codes of the points.
        labels : int ndarray of shape (n_proxies,)
            Class codes of the proxies.
        """
