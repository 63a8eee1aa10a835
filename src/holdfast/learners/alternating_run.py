"""The book-keeping of ProxyNCA, which learns proxies and metric in turn."""

from collections.abc import Callable

import numpy as np

from holdfast.learn.solvers import Progress, Solution

_MIN_OBJECTIVE = 1e-4  # below it every point has its class with near certainty, and M would grow without end


class AlternatingRun:
    """Joins the solver's runs of several turns into one: one trace, one callback.

    Parameters
    ----------
    verbose : int
        1 prints every tenth step, 2 every one.
    callback : callable or None

    Attributes
    ----------
    trace : list of float
        The objective at the start and after every step.
    n_evaluations : int
    stopped : bool
        True once the callback returned True, or the objective was as low as it need be.
    """

    def __init__(self, verbose: int, callback):
        self._verbose, self._callback = verbose, callback
        self.trace: list[float] = []
        self.n_evaluations = 0
        self.stopped = False

    @property
    def value(self) -> float:
        """The objective after the last turn."""
        return self.trace[-1] if self.trace else np.inf

    def turn(self, n_steps: int | None) -> Callable[[Progress], bool]:
        """A callback that ends a turn after so many steps; None is no limit."""
        offset = len(self.trace)

        def report(progress: Progress) -> bool:
            if self._verbose and (self._verbose > 1 or progress.iteration % 10 == 0):
                print(f"[ProxyNCA] step {offset + progress.iteration:4d}   objective {progress.value:.6g}")
            stop = callable(self._callback) and self._callback(progress) is True
            self.stopped = self.stopped or stop or progress.value < _MIN_OBJECTIVE
            return self.stopped or progress.iteration == n_steps

        return report

    def add(self, *solutions: Solution) -> None:
        """Append the traces of turns."""
        for solution in solutions:
            self.trace += solution.trace if not self.trace else solution.trace[1:]
            self.n_evaluations += solution.n_evaluations
