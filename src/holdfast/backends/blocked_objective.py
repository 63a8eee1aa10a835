"""The objective over triplets in blocks on workers."""

from functools import cached_property

import numpy as np

from holdfast.backends import blocks
from holdfast.backends.base import Terms
from holdfast.backends.engine import Engine, sum_tasks
from holdfast.backends.worker_objects import WorkerObject, WorkerObjects
from holdfast.learn import MatrixTerm


class BlockedObjective:
    """M goes to the workers, sums come back; see :class:`~holdfast.backends.base.ObjectiveLike`.

    Parameters
    ----------
    engine : Engine
    problems : list
        Tasks: the points and triplets of each block.
    n_features : int
    terms : sequence of (weight, term)
    B : ndarray or None
        Inverse shape of the perturbation.
    """

    def __init__(self, engine: Engine, problems: list, n_features: int, terms: Terms, B: np.ndarray | None):
        self._engine, self.n_features = engine, n_features
        self._of_M = [(weight, term) for weight, term in terms if isinstance(term, MatrixTerm)]
        sizes = engine.compute([engine.task(blocks.count_triplets, problem) for problem in problems])
        self._n_triplets, n_pairs = np.sum(sizes, axis=0).tolist()
        shared = [engine.share(item) for item in (list(terms), self._n_triplets, n_pairs, B)]
        tasks = [
            engine.task(WorkerObject, blocks.make_objective, problem, *shared)
            for problem, (n_triplets, _) in zip(problems, sizes, strict=True)
            if n_triplets
        ]
        self._objectives = WorkerObjects(engine, tasks)

    def __call__(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and symmetric gradient at M."""
        value, G = sum_tasks(self._engine, self._objectives.call(blocks.value_and_gradient, M))
        for weight, term in self._of_M:
            total, gradient = term.value_and_grad(M)
            value, G = value + weight * total, G + weight * gradient
        return value, G

    @cached_property
    def scatters(self) -> tuple[np.ndarray, np.ndarray]:
        """The means over R of ``X_ij`` and of ``X_il``."""
        similar, dissimilar = sum_tasks(self._engine, self._objectives.call(blocks.sums_of_squares))
        return similar / self._n_triplets, dissimilar / self._n_triplets

    def largest_distance(self, M: np.ndarray) -> float:
        """The largest ``d²_M`` of a pair."""
        return max(self._engine.compute(self._objectives.call(blocks.largest_distance, M)))

    def __enter__(self) -> "BlockedObjective":
        return self

    def __exit__(self, *exc) -> None:
        self._objectives.release()
