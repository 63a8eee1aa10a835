"""What every solver takes and returns."""

import time
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from holdfast.parameters import check_count, check_number
from holdfast.spaces import Space

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass
class Solution:
    """What a solver found.

    Attributes
    ----------
    x : ndarray
        The parameters found.
    value : float
        The objective there.
    trace : list of float
        The objective at the start and after every iteration.
    n_evaluations : int
        How often value and gradient were computed.
    converged : bool
        Whether the solver's own test was met.
    message : str
        Why it stopped, in words.
    """

    x: np.ndarray
    value: float
    trace: list[float] = field(repr=False)
    n_evaluations: int
    converged: bool
    message: str

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.trace) - 1


@dataclass(frozen=True)
class Progress:
    """One iteration, as a callback sees it; a callback that returns True ends the run.

    Attributes
    ----------
    iteration : int
        From 0, the start.
    value : float
        The objective.
    step : float
        Length of the step, in the solver's own units.
    x : ndarray
        The parameters.
    n_evaluations : int
    seconds : float
        Since the run began.
    share : float
        Of the data behind ``value``: below 1 for a solver that works on samples.
    """

    iteration: int
    value: float
    step: float
    x: np.ndarray
    n_evaluations: int
    seconds: float
    share: float = 1.0


Callback = Callable[[Progress], object]


class Solver(BaseEstimator):
    """``minimise fun(x) over a space``; parameters are stored, ``minimize`` does the rest.

    Attributes
    ----------
    needs : {"project", "bounds"}
        What the space must offer: a projection, or bounds on each variable.
    rescales : bool
        Whether a start that nobody chose is first put in the units of the data.
    """

    needs: str
    rescales = True
    max_iter: int
    tol: float

    @abstractmethod
    def minimize(self, fun: Function, space: Space, x0: np.ndarray, callback: Callback | None = None) -> Solution:
        """The solution from x0, which must lie in the space."""

    def offer(self, space: Space) -> Callable:
        """What the solver needs of the space; ``TypeError`` if the space lacks it."""
        if not hasattr(space, self.needs):
            raise TypeError(
                f"{type(self).__name__} needs a space with {self.needs!r}; {type(space).__name__} has none."
            )
        return getattr(space, self.needs)

    def check(self) -> None:
        """Raise ``ValueError`` if a parameter is out of range."""
        check_count(type(self).__name__, "max_iter", self.max_iter)
        check_number(type(self).__name__, "tol", self.tol, at_least=0)


class Run:
    """The book-keeping of one run: evaluations, trace, progress, and the word at the end."""

    def __init__(self, solver: Solver, fun: Function, callback: Callback | None):
        solver.check()
        self._solver, self._fun, self._callback = solver, fun, callback
        self._began = time.perf_counter()
        self.trace: list[float] = []
        self.n_evaluations = 0
        self._share = 1.0

    def turn_to(self, fun: Function, share: float) -> None:
        """From here on minimise ``fun``, which is the objective over a share of the data."""
        self._fun, self._share = fun, share

    def evaluate(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient, counted."""
        self.n_evaluations += 1
        value, gradient = self._fun(x)
        return float(value), gradient

    def record(self, value: float, step: float, x: np.ndarray) -> bool:
        """Note an iteration; True if the callback asks to stop."""
        self.trace.append(value)
        if self._callback is None:
            return False
        seconds = time.perf_counter() - self._began
        state = Progress(len(self.trace) - 1, value, step, x, self.n_evaluations, seconds, self._share)
        return self._callback(state) is True

    def finish(self, x: np.ndarray, value: float, stopped: str | None) -> Solution:
        """The solution; warns if nothing but the iteration limit ended the run."""
        if not np.isfinite(value):
            stopped = None
        message = stopped or f"no convergence within max_iter={self._solver.max_iter} iterations"
        if stopped is None:
            warnings.warn(
                f"{type(self._solver).__name__} did not converge: the objective is {value:.6g} after "
                f"{len(self.trace) - 1} iterations. Increase max_iter, loosen tol, or standardise the "
                "features.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return Solution(x, value, self.trace, self.n_evaluations, stopped is not None, message)
