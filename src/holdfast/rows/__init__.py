"""Where rows live: here, in arrays, or on the workers of a cluster. Learners ask; they do not look.

Two modules answer to the same names, :mod:`holdfast.rows.here` for arrays and :mod:`holdfast.parallel` for Dask
collections:

``TripletData(learner, X, y, triplets)``
    Checked rows with their triplets: ``shape``, ``var(axis=0)``, ``sample``, ``objective``.
``LabelledRows(learner, X, y)``
    Checked rows with their classes: ``shape``, ``var(axis=0)``, ``classes``, ``sum``, ``sample``, ``proxies``.
``count_features(learner, X)``
    For what learns nothing from the rows.
``reference(X, y)``, ``class_means(X, y)``
    The rows, or the mean of each class, as arrays here.
"""

import functools
from collections.abc import Callable
from importlib import import_module
from types import ModuleType


def on_workers(X) -> bool:
    """Whether X is a Dask collection."""
    return hasattr(X, "__dask_graph__")


def source_of(X) -> ModuleType:
    """The module that knows how to work where the rows of X are."""
    return import_module("holdfast.parallel" if on_workers(X) else "holdfast.rows.here")


def refuse_collection(learner, X) -> None:
    """For a learner that needs all rows in one place: say so, and do not bring them silently."""
    if on_workers(X):
        raise TypeError(
            f"{type(learner).__name__} needs all rows in one place and cannot learn from a Dask collection. Bring "
            "the rows, or a sample of them, with X.compute(); or use LMNN, its regularised kin, SCML or ProxyNCA."
        )


def by_blocks(method: Callable) -> Callable:
    """A method ``f(self, X)`` that maps rows one by one: of a collection, lazily, block by block."""

    @functools.wraps(method)
    def routed(self, X):
        if on_workers(X):
            return source_of(X).map_rows(self, method.__name__, X)
        return method(self, X)

    return routed


def certified_by_blocks(function: Callable) -> Callable:
    """``certify(model, X, y, ...)``: of a collection, block by block, the certificates put together."""

    @functools.wraps(function)
    def routed(model, X, y=None, **options):
        if on_workers(X):
            return source_of(X).certify(model, X, y, **options)
        return function(model, X, y, **options)

    return routed
