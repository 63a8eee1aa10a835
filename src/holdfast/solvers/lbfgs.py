"""Limited-memory BFGS, the default: over factors of the metric, or non-negative weights."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from holdfast.numerics.sums import round_reproducibly
from holdfast.solvers.base import Function, Solver
from holdfast.solvers.convergence import small_decrease
from holdfast.solvers.progress import Callback
from holdfast.solvers.quasi_newton import descend
from holdfast.solvers.run import Run
from holdfast.solvers.solution import Solution
from holdfast.solvers.stop_reason import StopReason
from holdfast.spaces import Space

_MIN_TOL_TO_ROUND = 1e-5  # a smaller tol needs the digits that rounding removes (24 binary ones are 6e-8)


class LBFGS(Solver):
    """Quasi-Newton steps built from the last ``memory`` moves; no projection, no eigenvalues.

    For a metric the variable is a factor L of ``M = LᵀL``, so M is positive semi-definite by itself. The
    hinges of metric learning are not smooth, but a sum of thousands of them nearly is: on the paper's data sets
    this ended below the objective of its schedule, or at most 4e-4 of it above, in a thirtieth of the evaluations
    (``benchmarks/speed/results/solver.csv``). LMNN scales L by the scatter of the pairs; see
    :class:`holdfast.spaces.Factors`.
    What has bounds, such as weights that may not be negative, is left to scipy's L-BFGS-B.

    Such steps can enlarge a rounding error threefold at every iteration (observed with the perturbation loss), so
    that another order of the rows would end in another metric. Value and gradient are therefore rounded to digits
    that another order of the sums rarely changes, unless ``tol`` is below 1e-5;
    :func:`holdfast.numerics.sums.round_reproducibly` says how rarely.

    The run ends when the objective has fallen by less than ``tol`` of itself over the last ``patience``
    iterations, or when no lower point is found along a direction, not even the steepest.

    Parameters
    ----------
    max_iter : int
    tol : float
    memory : int
        How many past moves shape the next one.
    patience : int
        Length of the window over which progress is judged.

    References
    ----------
    Byrd, Lu, Nocedal and Zhu, "A limited memory algorithm for bound constrained optimization", SIAM
    Journal on Scientific Computing 16, 1995. On hinges: Lewis and Overton, "Nonsmooth optimization via
    quasi-Newton methods", Mathematical Programming 141, 2013.
    """

    requires = ("bounds",)

    def __init__(self, max_iter: int = 1000, tol: float = 3e-4, memory: int = 10, patience: int = 4):
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory
        self.patience = patience

    def minimize(self, fun: Function, space: Space, x0: np.ndarray, callback: Callback | None = None) -> Solution:
        """The lowest point found from x0."""
        bounds = self.require(space).bounds(x0.size)
        run = Run(self, fun, callback)
        return run.finish(*self.descend(run, bounds, x0))

    def descend(self, run: Run, bounds, x0: np.ndarray) -> tuple[np.ndarray, float, StopReason | None]:
        """The lowest point found, the value there, and why the run ended; None if ``max_iter`` did it.

        The start is recorded in the trace if it is the first point of the run.
        """
        state = _Evaluations(run, x0.shape, self.tol >= _MIN_TOL_TO_ROUND)
        state.evaluate(x0.ravel())
        values = [state.best]
        if not run.trace:
            run.record(values[0], 0.0, x0)
        stopped: StopReason | None = None

        def after() -> bool:
            nonlocal stopped
            values.append(state.best)
            if run.record(state.best, 1.0, state.best_x):
                stopped = StopReason.CALLBACK
            elif small_decrease(values, self.tol, self.patience):
                stopped = StopReason.SMALL_DECREASE
            return stopped is not None or len(run.trace) > self.max_iter

        while stopped is None and len(run.trace) <= self.max_iter:
            before = len(run.trace)
            if bounds is None:
                descend(state.evaluate, state.best_x.ravel(), self.memory, after)
            else:
                _descend_within(bounds, state.evaluate, state.best_x.ravel(), self.memory, after)
            # A kink can end the line search; a fresh start from the steepest direction gets past it.
            if stopped is None and len(run.trace) == before:
                stopped = StopReason.NO_DIRECTION
        return state.best_x, state.best, stopped


def _descend_within(bounds, evaluate: Function, x: np.ndarray, memory: int, after: Callable[[], bool]) -> None:
    """Step down within bounds, by scipy's L-BFGS-B; see :func:`~holdfast.solvers.quasi_newton.descend`.

    Its first step has a length of at most 1, so x is scaled to that size.
    """
    unit = np.abs(x).max(initial=0.0) or 1.0

    def scaled(u: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = evaluate(unit * u)
        return value, unit * gradient

    def callback(u: np.ndarray) -> None:
        if after():
            raise StopIteration

    limits = {"maxiter": 10**9, "maxfun": 10**9, "maxcor": memory, "ftol": 0.0, "gtol": 0.0}
    minimize(scaled, x / unit, jac=True, method="L-BFGS-B", bounds=bounds, callback=callback, options=limits)


class _Evaluations:
    """The function of a flat x; it remembers the last point and the best."""

    def __init__(self, run: Run, shape: tuple[int, ...], rounds: bool):
        self._run, self._shape, self._rounds = run, shape, rounds
        self._lowest, self.best, self.best_x = np.inf, np.inf, np.empty(shape)
        self._last: tuple[np.ndarray, float, np.ndarray] | None = None

    def evaluate(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        if self._last is not None and np.array_equal(self._last[0], flat):
            return self._last[1], self._last[2]
        x = flat.reshape(self._shape).copy()
        exact, gradient = self._run.evaluate(x)
        value, gradient = round_reproducibly(exact, gradient) if self._rounds else (exact, gradient)
        if value < self._lowest or not np.isfinite(self._lowest):
            self._lowest, self.best, self.best_x = value, exact, x
        self._last = (flat.copy(), value, gradient.ravel())
        return value, gradient.ravel()
