"""Steps along the gradient and back into the set: the paper's schedule, and accelerated proximal gradient."""

import numpy as np

from holdfast.learn.solvers.base import (
    Callback,
    Function,
    Run,
    Solution,
    Solver,
    StopReason,
    small_changes,
    small_decrease,
)
from holdfast.learn.spaces import Space


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


class AcceleratedProximalGradient(Solver):
    """``x⁺ = P(y − t ∇J(y))``, ``y⁺ = x⁺ + θ (x⁺ − x)``: FISTA, over a convex set.

    t shrinks until ``J(x⁺) ≤ J(y) + ∇J(y)·(x⁺ − y) + ‖x⁺ − y‖²/2t``. Where weights are non-negative an L1
    norm is linear, so that its proximal step is the projection P. The momentum θ starts anew whenever the
    objective would rise, and the step is then not taken: the trace never increases. A step that fitted at
    once may be longer the next time (``grow``), since hinges flatten out as they are met.

    The run ends when the objective has fallen by less than ``tol`` of itself over the last ``patience``
    iterations, or when no step lowers it.

    Parameters
    ----------
    max_iter : int
    tol : float
    learning_rate : float
        The first t.
    shrink, grow : float
        What t is multiplied by when it is too long, and before it is tried again. The paper's rule never
        grows: ``grow=1``.
    patience : int
        Length of the window over which progress is judged.

    References
    ----------
    Beck and Teboulle, "A fast iterative shrinkage-thresholding algorithm for linear inverse problems", SIAM
    Journal on Imaging Sciences 2, 2009. O'Donoghue and Candès, "Adaptive restart for accelerated gradient
    schemes", Foundations of Computational Mathematics 15, 2015.
    """

    requires = ("project",)
    rescale_default_start = False  # the paper starts at weights of one, on rows of unit length

    def __init__(
        self,
        max_iter: int = 1000,
        tol: float = 3e-4,
        learning_rate: float = 1.0,
        shrink: float = 0.8,
        grow: float = 1.25,
        patience: int = 10,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.shrink = shrink
        self.grow = grow
        self.patience = patience

    def minimize(self, fun: Function, space: Space, x0: np.ndarray, callback: Callback | None = None) -> Solution:
        """The lowest point found from x0."""
        project = self.require(space).project
        run = Run(self, fun, callback)
        x, step = x0, self.learning_rate
        value, gradient = run.evaluate(x)
        stopped = StopReason.CALLBACK if run.record(value, step, x) else None
        y, at_y, momentum = x, (value, gradient), 1.0
        while stopped is None and len(run.trace) <= self.max_iter and np.isfinite(value):
            step *= self.grow
            found = self._step(run, project, y, at_y, step)
            if found is None or found[1] > value:
                if y is x:
                    stopped = StopReason.NO_STEP
                else:  # start the momentum anew
                    y, at_y, momentum = x, (value, gradient), 1.0
                continue
            previous, (x, value, gradient, step) = x, found
            if run.record(value, step, x):
                stopped = StopReason.CALLBACK
            elif small_decrease(run.trace, self.tol, self.patience):
                stopped = StopReason.SMALL_DECREASE
            else:
                momentum, before = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0, momentum
                # y may leave the set (weights below zero): the objective is evaluated only inside it.
                y = project(x + (before - 1.0) / momentum * (x - previous))
                at_y = run.evaluate(y)
        return run.finish(x, value, stopped)

    def _step(self, run: Run, project, y, at_y, step: float):
        """The first point, with value, gradient and step length, where the quadratic bound at y holds; None if none."""
        value, gradient = at_y
        if not np.isfinite(value):
            return None
        shortest = 1e-18 * max(step, self.learning_rate)
        while step > shortest:
            x = project(y - step * gradient)
            move = x - y
            reached, g = run.evaluate(x)
            if reached <= value + np.vdot(gradient, move) + np.vdot(move, move) / (2.0 * step):
                return x, reached, g, step
            step *= self.shrink
        return None
