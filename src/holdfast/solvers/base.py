"""The abstract solver."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from holdfast.parameters import check_count, check_number
from holdfast.solvers.progress import Callback
from holdfast.solvers.solution import Solution
from holdfast.spaces import Space

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]  # x -> value, gradient


class Solver(BaseEstimator, ABC):
    """``minimise fun(x) over a space``; parameters are stored, ``minimize`` does the rest.

    Attributes
    ----------
    requires : tuple of str
        Methods that the space must have besides those of every :class:`~holdfast.spaces.Space`: ``"project"`` for a
        solver that leaves the set and comes back, ``"bounds"`` for one whose variables are free or limited one by one.
    rescale_default_start : bool
        Whether a start that the user did not choose is first brought to the scale of the data.
    """

    requires: ClassVar[tuple[str, ...]] = ()
    rescale_default_start: ClassVar[bool] = True
    max_iter: int
    tol: float

    @abstractmethod
    def minimize(self, fun: Function, space: Space, x0: np.ndarray, callback: Callback | None = None) -> Solution:
        """The solution from x0, which must lie in the space."""

    def supports(self, space: Space | type[Space]) -> bool:
        """True if the space, or this kind of space, has all that the solver requires."""
        return all(hasattr(space, name) for name in self.requires)

    def require(self, space: Space) -> Any:
        """The space itself; ``TypeError`` if it lacks something that the solver requires."""
        if not self.supports(space):
            missing = ", ".join(f"{name}()" for name in self.requires if not hasattr(space, name))
            raise TypeError(f"{type(self).__name__} needs a space with {missing}; {type(space).__name__} has none.")
        return space

    def check(self) -> None:
        """Raise ``ValueError`` if a parameter is out of range."""
        check_count(type(self).__name__, "max_iter", self.max_iter)
        check_number(type(self).__name__, "tol", self.tol, at_least=0)
