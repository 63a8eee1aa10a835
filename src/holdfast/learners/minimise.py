"""Minimisation of a function of the metric over a space of parameters."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from holdfast.backends import ObjectiveLike
from holdfast.learn import Factors, PSDMatrices, Space
from holdfast.learn.solvers import PrimalDual, Solution, Solver
from holdfast.learn.solvers.base import Callback, Function, Progress
from holdfast.learn.solvers.lbfgs import SumOfParts
from holdfast.learners.validation import Validation
from holdfast.numerics.sums import round_to_bits

_MIN_MEAN_SQUARE = 1e-300  # of a mean squared distance: the metric that brings it to 1 must not overflow


def minimise(
    objective: Function,
    space: Space,
    solver: Solver,
    start: np.ndarray,
    report: Callback | None = None,
    validation: Validation | None = None,
) -> Solution:
    """Minimise ``J(M(x))`` over the parameters x of a space.

    Parameters
    ----------
    objective : callable
        ``J(M) -> value, gradient``. A solver may sample it if it is a mean over parts; see
        :class:`~holdfast.learn.solvers.lbfgs.SumOfParts`.
    space : Space
    solver : Solver
    start : ndarray
        Parameters in the space, such as ``space.start(M)``.
    report : callable, optional
        Called after every iteration; returning True ends the run.
    validation : Validation, optional
        Ends the run once held-out rows no longer gain, and chooses the iteration that is returned.

    Returns
    -------
    Solution
        The metric found is ``space.metric(solution.x)``.
    """
    fun: Function = objective
    if not isinstance(solver, PrimalDual):  # which takes the terms of the objective apart
        fun = (_SampledFunction if isinstance(objective, SumOfParts) else _ParameterFunction)(objective, space)
    if validation is None:
        return solver.minimize(fun, space, start, report)
    stopped = False

    def watch(progress: Progress) -> bool:
        nonlocal stopped
        ends = report is not None and report(progress) is True
        stopped = validation(space.metric(progress.x), progress.x) and not ends
        return ends or stopped

    solution = solver.minimize(fun, space, start, watch)
    return validation.choose(solution, stopped)


def metric_space(solver: Solver) -> Space:
    """All metrics, parametrised as the solver needs it: by factors, or as matrices that are projected."""
    return Factors() if solver.supports(Factors) else PSDMatrices(floor=1e-10)  # the floor of the paper's code


def default_start(objective: ObjectiveLike, solver: Solver, owner: str) -> np.ndarray:
    """The identity; for a solver that rescales it, at the scale where the hinge's margin of 1 is typical.

    The mean of ``d²(i, l)`` is then 1, whatever the units of the data.
    """
    M = np.eye(objective.n_features)
    return typical_scale(objective, owner) * M if solver.rescale_default_start else M


def typical_scale(objective: ObjectiveLike, owner: str) -> float:
    """``1 / mean d²(i, l)`` over R, under the Euclidean distance; 1 if all are zero."""
    return 1.0 / (float(round_to_bits(np.trace(finite_scatters(objective, owner)[1]))) or 1.0)


def finite_scatters(objective: ObjectiveLike, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """The means over R of ``X_ij`` and of ``X_il``; ``ValueError`` if they overflow, or nearly vanish."""
    finite = all(np.isfinite(C).all() for C in objective.scatters)
    if not finite or 0.0 < max(np.trace(C) for C in objective.scatters) < _MIN_MEAN_SQUARE:
        size, other = ("small", "larger") if finite else ("large", "smaller")
        raise ValueError(
            f"{owner}: the squared distances between points are too {size} for floating point; bring the features to a "
            f"{other} scale, for example with StandardScaler."
        )
    return objective.scatters


class _ParameterFunction:
    """``x ↦ J(M(x))`` and its gradient in x."""

    def __init__(self, objective: Callable[[np.ndarray], tuple[float, np.ndarray]], space: Space):
        self._objective, self._space = objective, space

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at x."""
        value, G = self._objective(self._space.metric(x))
        return value, self._space.gradient(G, x)


class _SampledFunction(_ParameterFunction):
    """The same for an objective that can be made over some of its parts."""

    def __init__(self, objective, space: Space):
        super().__init__(objective, space)
        self._parts: SumOfParts = objective

    @property
    def n_parts(self) -> int:
        """Number of parts of the objective."""
        return self._parts.n_parts

    @contextmanager
    def sample(self, parts: np.ndarray) -> Iterator[Function]:
        """The function over the parts with these numbers."""
        with self._parts.sample(parts) as objective:
            yield _ParameterFunction(objective, self._space)
