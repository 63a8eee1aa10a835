"""Rows in an array, with their classes."""

from collections.abc import Callable

import numpy as np

from holdfast.learn.proxy_nca import ProxyGeometry
from holdfast.numerics.sums import leaves, tree_sum


class ArrayRows:
    """Rows in an array, with their classes; see :class:`~holdfast.backends.base.LabelledRows`."""

    def __init__(self, X: np.ndarray, classes: np.ndarray, codes: np.ndarray):
        self._X, self.classes, self._codes = X, classes, codes
        self.shape = X.shape

    def variances(self) -> np.ndarray:
        """The variance of every feature."""
        return self._X.var(axis=0)

    def sum(self, function: Callable[[np.ndarray], tuple]) -> tuple:
        """``Σ function(rows)``, leaf by leaf."""
        return tree_sum([function(self._X[leaf]) for leaf in leaves(self.shape[0])])

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> "ArrayRows":
        """The same labels with ``function(rows)`` for rows."""
        return ArrayRows(function(self._X), self.classes, self._codes)

    def sample(self, size: int, random_state) -> tuple[np.ndarray, np.ndarray]:
        """All rows and class codes."""
        return self._X, self._codes

    def proxies(self, labels: np.ndarray, B: np.ndarray | None, n_jobs: int | None) -> ProxyGeometry:
        """The geometry of these rows and of proxies with these class codes."""
        return ProxyGeometry(self._X, self._codes, labels, B, n_jobs)
