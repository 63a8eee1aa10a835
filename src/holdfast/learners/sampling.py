"""The objective as a solver sees it: a function of parameters, whole or over a sample of anchors."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from holdfast.constraints import Triplets
from holdfast.objective import Objective
from holdfast.solvers.base import Function
from holdfast.spaces import Space


class ThroughSpace:
    """``x ↦ J(M(x))`` and its gradient in x."""

    def __init__(self, objective: Objective, space: Space):
        self.objective, self.space = objective, space

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at x."""
        value, G = self.objective(self.space.metric(x))
        return value, self.space.gradient(G, x)


class OverAnchors(ThroughSpace):
    """The same, of an objective that can be made over some of its anchors.

    Parameters
    ----------
    objective : Objective
    space : Space
    make : callable
        ``make(X, triplets)``: the same terms over other triplets.
    """

    def __init__(self, objective: Objective, space: Space, make: Callable[[np.ndarray, Triplets], Objective]):
        super().__init__(objective, space)
        self._make = make
        self.n_parts = objective.triplets.anchors.size

    @contextmanager
    def sample(self, parts: np.ndarray) -> Iterator[Function]:
        """The function over the anchors with these numbers and the points they are compared with."""
        triplets = self.objective.triplets
        points, few = triplets.of_anchors(triplets.anchors[parts])
        with self._make(self.objective.geometry.X[points], few) as objective:
            yield ThroughSpace(objective, self.space)
