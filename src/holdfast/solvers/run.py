"""The book-keeping that all solvers share."""

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from holdfast.solvers.base import Function, Solver
from holdfast.solvers.progress import Callback, Progress
from holdfast.solvers.solution import Solution
from holdfast.solvers.stop_reason import StopReason


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
