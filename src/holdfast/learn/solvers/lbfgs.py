"""Limited-memory BFGS, the default: over factors of the metric or non-negative weights, on all data or on samples."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import numpy as np
from numpy.linalg import norm
from scipy.linalg.lapack import dtrtrs
from scipy.optimize import minimize
from sklearn.utils import check_random_state

from holdfast.base.blocks import round_reproducibly
from holdfast.base.inputs import check_count, check_number
from holdfast.learn.solvers.base import Callback, Function, Run, Solution, Solver, StopReason, small_decrease
from holdfast.learn.spaces import Space

_MIN_TOL_TO_ROUND = 1e-5  # a smaller tol needs the digits that rounding removes (24 binary ones are 6e-8)
_FIRST = 0.1  # of the size of x: the first step, when nothing is known of the curvature
_DECREASE, _CURVATURE = 1e-4, 0.9  # c1 and c2 of the Wolfe conditions, the customary values
_TRIALS = 20  # evaluations along a direction, at most: 2^-20 of a step is none


class LBFGS(Solver):
    """Quasi-Newton steps built from the last ``memory`` moves; no projection, no eigenvalues.

    For a metric the variable is a factor L of ``M = LᵀL``, so M is positive semi-definite by itself. The
    hinges of metric learning are not smooth, but a sum of thousands of them nearly is: on the paper's data sets
    this ended below the objective of its schedule, or at most 4e-4 of it above, in a thirtieth of the evaluations
    (``benchmarks/speed/results/solver.csv``). LMNN scales L by the scatter of the pairs; see
    :class:`holdfast.learn.Factors`.
    What has bounds, such as weights that may not be negative, is left to scipy's L-BFGS-B.

    Such steps can enlarge a rounding error threefold at every iteration (observed with the perturbation loss), so
    that another order of the rows would end in another metric. Value and gradient are therefore rounded to digits
    that another order of the sums rarely changes, unless ``tol`` is below 1e-5;
    :func:`holdfast.base.blocks.round_reproducibly` says how rarely.

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
                _descend(state.evaluate, state.best_x.ravel(), self.memory, after)
            else:
                _descend_within(bounds, state.evaluate, state.best_x.ravel(), self.memory, after)
            # A kink can end the line search; a fresh start from the steepest direction gets past it.
            if stopped is None and len(run.trace) == before:
                stopped = StopReason.NO_DIRECTION
        return state.best_x, state.best, stopped


def _descend_within(bounds, evaluate: Function, x: np.ndarray, memory: int, after: Callable[[], bool]) -> None:
    """:func:`_descend` within bounds, by scipy's L-BFGS-B; x is scaled, because its first step has a length of at most
    1.
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


class StochasticLBFGS(LBFGS):
    """``min J_m(x)`` by L-BFGS over m random parts of the objective, then ``growth · m`` from where that ended, ….

    The parts are the anchors, each with all its triplets, so that a sample shares distances as the whole
    does, and only the rows it names are touched. Let x be the minimum over m parts and x' that over
    ``g · m`` of them, x's own included. To second order, ``J_gm(x) − J_gm(x')`` is g − 1 times what x' is
    expected to lie above the minimum over all parts, so the run ends as soon as

        ``J_gm(x) − J_gm(x') ≤ tol · (g − 1) · |J_gm(x')|``:

    the cost then depends on how hard the problem is, not on how many rows there are. With a handful of
    parameters that estimate is noisy and the run may end too early; with the p² of a metric it is not. If the
    samples grow to the whole before that, the end is that of L-BFGS on the whole. A function without
    ``n_parts`` and ``sample(parts)`` is minimised by L-BFGS.

    The trace holds values over the sample at hand, so it may rise where a sample grows (a larger one is
    harder to fit); the value of the solution is that over the last sample.

    Parameters
    ----------
    max_iter : int
        Over all samples.
    tol : float
        Relative, for the sampling error and for progress within a sample.
    sample_size : int
        Parts in the first sample.
    growth : float
        How much larger each sample is than the one before; above 1.
    memory, patience : int
        As for :class:`~holdfast.learn.solvers.LBFGS`, within a sample.
    random_state : int, RandomState or None
        Draws the samples.

    References
    ----------
    Byrd, Chin, Nocedal and Wu, "Sample size selection in optimization methods for machine learning",
    Mathematical Programming 134, 2012. The rule for the end is ours.
    """

    def __init__(
        self,
        max_iter: int = 1000,
        tol: float = 1e-3,
        sample_size: int = 2000,
        growth: float = 4.0,
        memory: int = 10,
        patience: int = 5,
        random_state=0,
    ):
        super().__init__(max_iter, tol, memory, patience)
        self.sample_size = sample_size
        self.growth = growth
        self.random_state = random_state

    def minimize(self, fun: Function, space: Space, x0: np.ndarray, callback: Callback | None = None) -> Solution:
        """The lowest point found from x0 over the last sample."""
        bounds = self.require(space).bounds(x0.size)
        run = Run(self, fun, callback)
        x, before = x0, np.inf  # before: the value over the sample at hand where the last one ended
        for sample, share in self._samples(fun):
            with sample as part:
                run.set_objective(part, share)
                if run.trace:
                    before = run.evaluate(x)[0]
                x, value, stopped = self.descend(run, bounds, x)
            if stopped in (None, StopReason.CALLBACK) or not np.isfinite(value):
                break
            if before - value <= self.tol * (self.growth - 1.0) * abs(value):
                stopped = StopReason.ENOUGH_DATA
                break
        return run.finish(x, value, stopped)

    def check(self) -> None:
        """Raise ``ValueError`` if a parameter is out of range."""
        super().check()
        check_count(type(self).__name__, "sample_size", self.sample_size)
        check_number(type(self).__name__, "growth", self.growth, above=1)

    def _samples(self, fun) -> Iterator[tuple[AbstractContextManager[Function], float]]:
        """The function over ever more parts and the share they are, at last over all."""
        if getattr(fun, "n_parts", None) is not None:
            order = check_random_state(self.random_state).permutation(fun.n_parts)
            size = self.sample_size
            while size < fun.n_parts:
                yield fun.sample(order[:size]), size / fun.n_parts
                size = int(np.ceil(self.growth * size))
        yield nullcontext(fun), 1.0


class InverseHessian:
    """``H g = γ (g − Y a) + S c``, with the last ``memory`` moves S of x and Y of the gradient as columns:
    ``R a = Sᵀ g`` and ``Rᵀ c = D a + γ (YᵀY a − Yᵀ g)``, R the upper triangle of ``SᵀY``, D its diagonal,
    ``γ = sᵀy / yᵀy`` of the last move.
    """

    def __init__(self, memory: int, size: int):
        self._S, self._Y = np.zeros((2, memory, size))
        self._SY, self._YY = np.zeros((2, memory, memory))
        self._slots: list[int] = []  # rows of S and Y, oldest move first

    def add_pair(self, s: np.ndarray, y: np.ndarray) -> None:
        """Store a move; one without positive curvature ``sᵀy`` is left out, so that H stays positive definite."""
        if not s @ y > 1e-12 * (norm(s) * norm(y)):
            return
        full = len(self._slots) == len(self._S)
        slot = self._slots.pop(0) if full else len(self._slots)
        self._slots.append(slot)
        self._S[slot], self._Y[slot] = s, y
        self._SY[:, slot] = self._S @ y  # of SᵀY only the upper triangle is read: older s with newer y
        self._YY[:, slot] = self._YY[slot] = self._Y @ y

    def apply(self, g: np.ndarray) -> np.ndarray | None:
        """``H g``; None if no move is known."""
        if not self._slots:
            return None
        order = np.array(self._slots)
        R, YY = self._SY[np.ix_(order, order)], self._YY[np.ix_(order, order)]
        gamma = R[-1, -1] / YY[-1, -1]
        Yg = (self._Y @ g)[order]
        a = dtrtrs(R, (self._S @ g)[order])[0]
        c = dtrtrs(R, R.diagonal() * a + gamma * (YY @ a - Yg), trans=1)[0]
        used = slice(0, len(order))
        in_slots = np.empty((2, len(order)))
        in_slots[:, order] = a, c
        return gamma * (g - in_slots[0] @ self._Y[used]) + in_slots[1] @ self._S[used]


def _descend(evaluate: Function, x: np.ndarray, memory: int, after: Callable[[], bool]) -> None:
    """Step down from x until ``after()``, called after every step, returns True, or no step lowers f."""
    H = InverseHessian(memory, x.size)
    f, g = evaluate(x)
    while np.isfinite(f) and g.any():
        step = H.apply(g)
        if step is None:
            step = (_FIRST * norm(x) or 1.0) * (g / norm(g))
        found = _along(evaluate, x, f, g, -step)
        if found is None:
            return
        x_new, f, g_new = found
        H.add_pair(x_new - x, g_new - g)
        x, g = x_new, g_new
        if after():
            return


def _along(evaluate: Function, x: np.ndarray, f: float, g: np.ndarray, d: np.ndarray):
    """A point x + t d that fulfils the weak Wolfe conditions, its value and gradient; None if none is found. t is
    bisected (at kinks as well) between too long, no fall by ``c1 t |slope|``, and too short, a slope still below
    ``c2 slope``.
    """
    slope = g @ d
    if not slope < 0:
        return None
    near, far, t = 0.0, np.inf, 1.0
    lower = None
    for _ in range(_TRIALS):
        x_new = x + t * d
        f_new, g_new = evaluate(x_new)
        if f_new <= f + _DECREASE * t * slope:
            near, lower = t, (x_new, f_new, g_new)
            if g_new @ d >= _CURVATURE * slope:
                break
        else:
            far = t
        t = 2.0 * t if far == np.inf else 0.5 * (near + far)
    return lower
