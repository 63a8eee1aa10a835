"""Sums over proxies and the points of all blocks."""

from collections.abc import Callable

import numpy as np

from holdfast.backends.engine import Engine, sum_tasks
from holdfast.backends.worker_objects import WorkerObjects


class BlockedProxies:
    """The geometries of all blocks; see :class:`~holdfast.backends.base.ProxySums`.

    Parameters
    ----------
    engine : Engine
    tasks : list
        A :class:`~holdfast.backends.worker_objects.WorkerObject` for each block.
    B : ndarray or None
        Inverse shape of the perturbation.
    """

    def __init__(self, engine: Engine, tasks: list, B: np.ndarray | None):
        self._engine, self._geometries, self.B = engine, WorkerObjects(engine, tasks), B

    def total(self, function: Callable[..., tuple], *arguments) -> tuple:
        """``Σ function(geometry, *arguments)`` over the blocks."""
        return sum_tasks(self._engine, self._geometries.call(function, *arguments))

    def __enter__(self) -> "BlockedProxies":
        return self

    def __exit__(self, *exc) -> None:
        self._geometries.release()
