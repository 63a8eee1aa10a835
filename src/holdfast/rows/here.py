"""Rows in this process, as arrays; :mod:`holdfast.parallel` answers to the same names for a cluster."""

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from holdfast.constraints import Triplets
from holdfast.geometry.proxy_geometry import ProxyGeometry
from holdfast.objective import Objective
from holdfast.rows.sums import leaves, tree_sum


class TripletData:
    """Points and their triplets.

    Attributes
    ----------
    shape : tuple
        Points, features.
    labelled : bool
        Whether classes are known.
    """

    def __init__(self, learner, X, y, triplets):
        self._X, self._triplets = learner._data(X, y, triplets)
        self._y = y
        self.shape, self.labelled = self._X.shape, y is not None

    def var(self, axis: int) -> np.ndarray:
        """The variance of every feature."""
        return self._X.var(axis=axis)

    def sample(self, most: int, random_state) -> tuple[np.ndarray, np.ndarray]:
        """Rows and labels to look at here: all of them, they are here."""
        y = column_or_1d(self._y)
        check_consistent_length(self._X, y)
        return self._X, y

    def points_and_triplets(self) -> tuple[np.ndarray, Triplets]:
        """All of both."""
        return self._X, self._triplets

    def objective(self, terms: Sequence, B: np.ndarray | None, n_jobs: int | None) -> Objective:
        """The terms, over the triplets; points that few anchors left out are not carried along."""
        X, triplets = self._X, self._triplets
        if triplets.named.mean() < 0.8:
            points, triplets = triplets.of_anchors(triplets.anchors)
            X = X[points]
        return Objective(X, triplets, terms, B, n_jobs)


class LabelledRows:
    """Rows and their classes.

    Attributes
    ----------
    shape : tuple
        Rows, features.
    classes : ndarray
    """

    def __init__(self, learner, X, y):
        self._X, y = validate_data(learner, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        check_classification_targets(y)
        self.shape = self._X.shape
        self.classes, self._codes = np.unique(y, return_inverse=True)

    def var(self, axis: int) -> np.ndarray:
        """The variance of every feature."""
        return self._X.var(axis=axis)

    def sum(self, function: Callable[[np.ndarray], tuple]) -> tuple:
        """``Σ function(rows)``, leaf by leaf."""
        return tree_sum([function(self._X[part]) for part in leaves(self.shape[0])])

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> None:
        """Put ``function(rows)`` in the place of the rows."""
        self._X = function(self._X)

    def sample(self, most: int, random_state) -> tuple[np.ndarray, np.ndarray]:
        """Rows and class codes to look at here: all of them, they are here."""
        return self._X, self._codes

    def proxies(self, labels: np.ndarray, B: np.ndarray | None, n_jobs: int | None) -> ProxyGeometry:
        """The geometry of these rows and proxies of these classes."""
        return ProxyGeometry(self._X, self._codes, labels, B, n_jobs)


def count_features(learner, X) -> int:
    """How many features X has; the learner is told, and their names."""
    return validate_data(learner, X, dtype=np.float64).shape[1]


def reference(X, y) -> tuple:
    """X and y."""
    return X, y


def class_means(X, y) -> tuple:
    """X and y: means are made of them where they are needed."""
    return X, y
