"""Projected gradient with the paper's schedule."""

import numpy as np

from holdfast.solvers.base import Function, Solver
from holdfast.solvers.convergence import small_changes
from holdfast.solvers.progress import Callback
from holdfast.solvers.run import Run
from holdfast.solvers.solution import Solution
from holdfast.solvers.stop_reason import StopReason
from holdfast.spaces import Space


class ProjectedGradient(Solver):
    """``x ← P(x − γ ∇J)``, γ × 1.01 after a decrease of J and × 0.5 otherwise: the paper, step for step.

    Every step is taken, also one that raises the objective. The run ends once, after ``min_evaluations``
    values of the objective, its last five changes are all below ``tol`` of it.

    Parameters
    ----------
    max_iter : int
    tol : float
    learning_rate : float
        The first γ.
    grow, shrink : float
        What γ is multiplied by after a decrease, and after no decrease.
    min_learning_rate : float
        γ is not shrunk below it.
    min_evaluations : int
        No test of convergence before this many values of the objective.

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", section 2.3 and
    supplement D.2; the last two parameters are those of their published code.
    """

    requires = ("project",)
    rescale_default_start = False  # the paper starts at the identity, on rows of unit length

    def __init__(
        self,
        max_iter: int = 1000,
        tol: float = 1e-7,
        learning_rate: float = 1.0,
        grow: float = 1.01,
        shrink: float = 0.5,
        min_learning_rate: float = 1e-4,
        min_evaluations: int = 50,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.grow = grow
        self.shrink = shrink
        self.min_learning_rate = min_learning_rate
        self.min_evaluations = min_evaluations

    def minimize(self, fun: Function, space: Space, x0: np.ndarray, callback: Callback | None = None) -> Solution:
        """The last point of the schedule from x0."""
        project = self.require(space).project
        run = Run(self, fun, callback)
        x, gamma = x0, self.learning_rate
        value, gradient = run.evaluate(x)
        run.record(value, gamma, x)
        stopped = None
        for _ in range(self.max_iter):
            x = project(x - gamma * gradient)
            previous, (value, gradient) = value, run.evaluate(x)
            if run.record(value, gamma, x):
                stopped = StopReason.CALLBACK
            elif len(run.trace) >= self.min_evaluations and small_changes(run.trace, self.tol, 5):
                stopped = StopReason.SMALL_CHANGES
            if stopped or not np.isfinite(value):
                break
            if value < previous:
                gamma *= self.grow
            else:
                gamma = max(gamma * self.shrink, self.min_learning_rate)
        return run.finish(x, value, stopped)
