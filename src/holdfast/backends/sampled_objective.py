"""An objective that can be sampled."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from holdfast.backends.base import Terms
from holdfast.constraints import Triplets
from holdfast.objective import Objective


class SampledObjective(Objective):
    """An objective that can also be made over some of its anchors; see :class:`~holdfast.objective.Objective`."""

    def __init__(self, X: np.ndarray, triplets: Triplets, terms: Terms, B: np.ndarray | None, n_jobs: int | None):
        super().__init__(X, triplets, terms, B, n_jobs)
        self._terms, self._n_jobs = terms, n_jobs

    @property
    def n_parts(self) -> int:
        """Number of anchors."""
        return self.triplets.anchors.size

    @contextmanager
    def sample(self, parts: np.ndarray) -> Iterator[Objective]:
        """The objective over the anchors with these numbers and the points they are compared with."""
        points, few = self.triplets.of_anchors(self.triplets.anchors[parts])
        geometry = self.geometry
        with Objective(geometry.X[points], few, self._terms, geometry.B, self._n_jobs) as objective:
            yield objective
