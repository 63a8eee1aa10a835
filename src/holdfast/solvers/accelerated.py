"""Accelerated proximal gradient: projected steps with momentum, of a length found by backtracking."""

import numpy as np

from holdfast.solvers.base import Function, Solver
from holdfast.solvers.convergence import small_decrease
from holdfast.solvers.progress import Callback
from holdfast.solvers.run import Run
from holdfast.solvers.solution import Solution
from holdfast.solvers.stop_reason import StopReason
from holdfast.spaces import Space


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
