"""What all solvers share: how a run ends, what a callback receives, the solution, the solver, and its book-keeping."""

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from holdfast.base.inputs import check_count, check_number
from holdfast.learn.spaces import Space

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]  # x -> value, gradient


class StopReason(Enum):
    """Why a solver stopped. The value is the sentence for the user, with gaps for the solver's parameters."""

    CALLBACK = "stopped by the callback"
    SMALL_DECREASE = "the objective fell by less than {tol:g} of itself over {patience} iterations"
    SMALL_CHANGES = "the last five changes of the objective are below {tol:g} of it"
    SMALL_GAP = "the objective is proven to be within {tol:g} of its minimum, relatively"
    NO_STEP = "no lower objective along the gradient"
    NO_DIRECTION = "no lower objective along any direction tried"
    ENOUGH_DATA = "more than {share:.0%} of the data would lower the objective by less than {tol:g} of itself"
    VALIDATION = "the loss on held-out rows has not fallen for {patience} iterations"
    MAX_ITER = "no convergence within max_iter={max_iter} iterations"
    NOT_FINITE = "the objective is not finite"

    @property
    def converged(self) -> bool:
        """True unless the iteration limit, or a value that is not a number, ended the run."""
        return self not in (StopReason.MAX_ITER, StopReason.NOT_FINITE)

    def sentence(self, **values) -> str:
        """The sentence with its gaps filled.

        Examples
        --------
        >>> StopReason.MAX_ITER.sentence(max_iter=7, tol=0.1)
        'no convergence within max_iter=7 iterations'
        """
        return self.value.format(**values)


@dataclass(frozen=True)
class Progress:
    """One iteration, as a callback receives it; a callback that returns True ends the run.

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


@dataclass
class Solution:
    """The point a solver found, and how it got there.

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
    reason : StopReason
        Why the run ended.
    message : str
        The same as a sentence.
    lower_bound : float or None
        Not above the minimum, but for rounding, by duality; from solvers that find one.
    """

    x: np.ndarray
    value: float
    trace: list[float] = field(repr=False)
    n_evaluations: int
    reason: StopReason
    message: str
    lower_bound: float | None = None

    @property
    def converged(self) -> bool:
        """True if the solver's own test ended the run, or the callback."""
        return self.reason.converged

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.trace) - 1


class Solver(BaseEstimator, ABC):
    """``minimise fun(x) over a space``; parameters are stored, ``minimize`` does the rest.

    Attributes
    ----------
    requires : tuple of str
        Methods that the space must have besides those of every :class:`~holdfast.learn.Space`: ``"project"`` for a
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


class Run:
    """One run of a solver: counts evaluations, keeps the trace, calls the callback, warns at the end.

    Parameters
    ----------
    solver : Solver
        Its parameters are checked.
    fun : callable
        ``fun(x) -> value, gradient``.
    callback : callable or None
        Called with a :class:`Progress` by ``record``.

    Attributes
    ----------
    trace : list of float
        The values recorded so far.
    n_evaluations : int
    """

    def __init__(self, solver: Solver, fun: Function, callback: Callback | None):
        solver.check()
        self._solver, self._fun, self._callback = solver, fun, callback
        self._began = time.perf_counter()
        self.trace: list[float] = []
        self.n_evaluations = 0
        self._share = 1.0

    def set_objective(self, fun: Function, share: float) -> None:
        """Minimise ``fun`` from here on, the objective over a share of the data."""
        self._fun, self._share = fun, share

    def evaluate(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at x; the call is counted."""
        self.n_evaluations += 1
        value, gradient = self._fun(x)
        return float(value), gradient

    def record(self, value: float, step: float, x: np.ndarray) -> bool:
        """Append an iteration to the trace; True if the callback requests a stop."""
        self.trace.append(value)
        if self._callback is None:
            return False
        seconds = time.perf_counter() - self._began
        progress = Progress(len(self.trace) - 1, value, step, x, self.n_evaluations, seconds, self._share)
        return self._callback(progress) is True

    def finish(
        self, x: np.ndarray, value: float, reason: StopReason | None, lower_bound: float | None = None, **facts
    ) -> Solution:
        """Make the solution; warn if the solver did not converge.

        Parameters
        ----------
        x, value
            The point found.
        reason : StopReason or None
            None is the iteration limit.
        lower_bound : float or None
            As for :class:`Solution`.
        **facts
            What the sentence of the reason names besides the solver's parameters.
        """
        if not np.isfinite(value):
            reason = StopReason.NOT_FINITE
        reason = reason or StopReason.MAX_ITER
        if not reason.converged:
            warnings.warn(
                f"{type(self._solver).__name__} did not converge: the objective is {value:.6g} after "
                f"{len(self.trace) - 1} iterations. Increase max_iter, loosen tol, or standardise the "
                "features.",
                ConvergenceWarning,
                stacklevel=2,
            )
        message = reason.sentence(**{"share": self._share, **self._solver.get_params(deep=False), **facts})
        return Solution(x, value, self.trace, self.n_evaluations, reason, message, lower_bound)


def small_decrease(trace: list[float], tol: float, patience: int) -> bool:
    """True if the objective fell by less than ``tol`` of itself over the last ``patience`` iterations."""
    if len(trace) <= patience:
        return False
    return trace[-patience - 1] - trace[-1] <= tol * abs(trace[-1])


def small_changes(trace: list[float], tol: float, n_changes: int) -> bool:
    """True if each of the last ``n_changes`` changes of the objective, up or down, is below ``tol`` of it."""
    if len(trace) <= n_changes:
        return False
    last, limit = trace[-n_changes - 1 :], tol * abs(trace[-1])
    return all(abs(after - before) < limit for before, after in pairwise(last))
