"""Objects that are built on workers from the data there, and stay there."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from holdfast.backends.engine import Engine
from holdfast.numerics.threads import single_threaded_blas


class WorkerObject:
    """An object that is built from its data when it is first used.

    What is pickled, when a worker hands it on, is the data; the object is built again at the other end.

    Parameters
    ----------
    build : callable
    *data
        Its arguments.
    """

    def __init__(self, build: Callable, *data):
        self._build, self._data = build, data
        self._object: Any = None
        self._lock = threading.Lock()

    def __call__(self, function: Callable, *arguments):
        """``function(object, *arguments)``, on one thread."""
        with self._lock, single_threaded_blas():
            if self._object is None:
                self._object = self._build(*self._data)
            return function(self._object, *arguments)

    def __reduce__(self):
        return type(self), (self._build, *self._data)

    def __sizeof__(self) -> int:  # read by Dask when it balances the memory of workers
        return 1000 + sum(_bytes(item) for item in self._data)


class WorkerObjects:
    """A list of :class:`WorkerObject` on workers, on which functions are called step by step.

    A call is sent to the worker that holds the object, as long as that worker runs, so that it is built only once.

    Parameters
    ----------
    engine : Engine
    tasks : list
        One for each object.
    """

    def __init__(self, engine: Engine, tasks: list):
        self._engine, self._kept = engine, engine.keep(tasks)
        self._places: list = []

    def call(self, function: Callable, *arguments) -> list:
        """Tasks ``function(object, *arguments)``, one for each object."""
        engine = self._engine
        call = engine.share((function, *arguments))
        places = self._places or [None] * len(self._kept)
        self._places = self._places or engine.places(self._kept)
        return [engine.task_at(place, _call, kept, call) for place, kept in zip(places, self._kept, strict=True)]

    def release(self) -> None:
        """Release the memory of the workers."""
        self._kept, self._places = [], []


def _call(worker_object: WorkerObject, call: tuple):
    return worker_object(*call)


def _bytes(item) -> int:
    """The size of the arrays in an object, its lists, tuples and attributes."""
    if isinstance(item, np.ndarray):
        return item.nbytes
    parts = item if isinstance(item, tuple | list) else vars(item).values() if hasattr(item, "__dict__") else ()
    return sum(_bytes(part) for part in parts)
