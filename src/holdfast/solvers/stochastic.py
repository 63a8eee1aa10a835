"""L-BFGS on random samples that grow until a larger one would change little."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, runtime_checkable

import numpy as np
from sklearn.utils import check_random_state

from holdfast.parameters import check_count, check_number
from holdfast.solvers.base import Function
from holdfast.solvers.lbfgs import LBFGS
from holdfast.solvers.progress import Callback
from holdfast.solvers.run import Run
from holdfast.solvers.solution import Solution
from holdfast.solvers.stop_reason import StopReason
from holdfast.spaces import Space


@runtime_checkable
class SumOfParts(Protocol):
    """A function that is a mean over parts (the anchors of the triplets), and can be made over some of them."""

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        ...

    def sample(self, parts: np.ndarray) -> AbstractContextManager[Function]:
        """The function over the parts with these numbers."""
        ...


class StochasticLBFGS(LBFGS):
    """``min J_m(x)`` by L-BFGS over m random parts of the objective, then ``growth · m`` from where that ended, ….

    The parts are the anchors, each with all its triplets, so that a sample shares distances as the whole
    does, and only the rows it names are touched. Let x be the minimum over m parts and x' that over
    ``g · m`` of them, x's own included. To second order, ``J_gm(x) − J_gm(x')`` is g − 1 times what x' is
    expected to lie above the minimum over all parts, so the run ends as soon as

        ``J_gm(x) − J_gm(x') ≤ tol · (g − 1) · |J_gm(x')|``:

    the cost then depends on how hard the problem is, not on how many rows there are. With a handful of
    parameters that estimate is noisy and the run may end too early; with the p² of a metric it is not. If the
    samples grow to the whole before that, the end is that of L-BFGS on the whole. A function that cannot
    be sampled is minimised by L-BFGS.

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
        As for :class:`~holdfast.solvers.LBFGS`, within a sample.
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

    def _samples(self, fun: Function) -> Iterator[tuple[AbstractContextManager[Function], float]]:
        """The function over ever more parts and the share they are, at last over all."""
        if isinstance(fun, SumOfParts):
            order = check_random_state(self.random_state).permutation(fun.n_parts)
            size = self.sample_size
            while size < fun.n_parts:
                yield fun.sample(order[:size]), size / fun.n_parts
                size = int(np.ceil(self.growth * size))
        yield nullcontext(fun), 1.0
