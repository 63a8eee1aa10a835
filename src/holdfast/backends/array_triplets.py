"""Rows in an array, with their triplets."""

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from holdfast.backends.base import Terms
from holdfast.learn import Triplets
from holdfast.learn.objective import SampledObjective

_MOSTLY_USED = 0.8  # share of points in triplets from which on copying the others away saves little


class ArrayTriplets:
    """Rows in an array, with their triplets; see :class:`~holdfast.backends.base.TripletData`."""

    def __init__(self, X: np.ndarray, y, triplets: Triplets):
        self._X, self._y, self._triplets = X, y, triplets
        self.shape, self.labelled = X.shape, y is not None

    def variances(self) -> np.ndarray:
        """The variance of every feature."""
        return self._X.var(axis=0)

    def sample(self, size: int, random_state) -> tuple[np.ndarray, np.ndarray]:
        """All rows and labels."""
        y = column_or_1d(self._y)
        check_consistent_length(self._X, y)
        return self._X, y

    def points_and_triplets(self) -> tuple[np.ndarray, Triplets]:
        """All rows and triplets."""
        return self._X, self._triplets

    def objective(self, terms: Terms, B: np.ndarray | None, n_jobs: int | None) -> SampledObjective:
        """The weighted terms, summed over the triplets; without the points that no triplet names, if these are many."""
        X, triplets = self._X, self._triplets
        if triplets.named.mean() < _MOSTLY_USED:
            points, triplets = triplets.of_anchors(triplets.anchors)
            X = X[points]
        return SampledObjective(X, triplets, terms, B, n_jobs)
