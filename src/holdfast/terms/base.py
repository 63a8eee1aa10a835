"""The two kinds of term an objective is a weighted sum of."""

from abc import abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

Partials = tuple[float, np.ndarray | None, np.ndarray | None, np.ndarray | None]


class TripletTerm(BaseEstimator):
    """A sum of one function of ``a, b, h`` over triplets. It never sees a matrix.

    A term is a scikit-learn object: its constructor stores its parameters, ``check`` refuses bad ones
    with a sentence. It returns sums, not means: the objective divides by the size of the set, so that
    sums over chunks of triplets add up to the whole.

    Attributes
    ----------
    over : {"R", "S"}
        The set summed over: every triplet, or every distinct pair (i, j) of point and target; over S a
        term is given ``a`` alone.
    reads_h : bool
        Whether the term reads h; if no term does, it is not computed.
    """

    over = "R"
    reads_h = False

    @abstractmethod
    def value_and_partials(self, a: np.ndarray, b: np.ndarray | None, h: np.ndarray | None) -> Partials:
        """The sum, and its derivatives by a, b and h per triplet (None where zero)."""

    def check(self) -> None:
        """Raise ``ValueError`` if a parameter is out of range."""


class MatrixTerm(BaseEstimator):
    """A function of the metric itself, such as a norm or a divergence."""

    @abstractmethod
    def value_and_grad(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The value, and its (symmetric) gradient, or a subgradient, at M."""

    def check(self) -> None:
        """Raise ``ValueError`` if a parameter is out of range."""
