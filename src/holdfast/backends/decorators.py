"""Decorators for functions of rows that should also take collections."""

import functools
from collections.abc import Callable
from typing import Any

from holdfast.backends.choose import backend_for, is_dask


def by_blocks(method: Callable) -> Callable:
    """Decorate ``f(self, X)``, which maps rows one by one: a collection is mapped lazily, block by block."""

    @functools.wraps(method)
    def mapped(self, X):
        return backend_for(X).map_rows(method, self, X)

    return mapped


def certified_by_blocks(join: Callable[[list], Any]) -> Callable[[Callable], Callable]:
    """Decorate ``certify(model, X, y, ...)``: a collection is certified block by block.

    Parameters
    ----------
    join : callable
        Makes one certificate of a list of certificates.
    """

    def decorate(certify: Callable) -> Callable:
        @functools.wraps(certify)
        def certified(model, X, y=None, **options):
            if is_dask(X):
                return backend_for(X).certify_blocks(certified, join, model, X, y, options)
            return certify(model, X, y, **options)

        return certified

    return decorate
