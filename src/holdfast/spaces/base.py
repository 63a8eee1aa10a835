"""The abstract space."""

from abc import ABC, abstractmethod

import numpy as np


class Space(ABC):
    """A set of parameters x, each of which stands for a metric M(x).

    A space may also have what some solvers require (see :class:`holdfast.solvers.Solver`): ``project(x)``, the nearest
    point of a convex set, and ``bounds(size)``, the limits of each variable as scipy writes them, None if all are
    free.
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
