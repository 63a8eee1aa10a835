"""The abstract learner from triplets."""

from abc import abstractmethod

import numpy as np

from holdfast.learn import NeighborSearch, Triplets, knn_triplets
from holdfast.learners.base import MetricLearner
from holdfast.learners.precomputed import Precomputed


class TripletLearner(MetricLearner):
    """A learner whose supervision are triplets: given ones, or those that it finds from class labels.

    Its constructor stores the parameters named here.
    """

    n_neighbors: int
    n_impostors: int | None
    neighbors: str | NeighborSearch
    n_jobs: int | None

    @abstractmethod
    def fit(self, X, y=None, triplets=None):
        """Learn the metric from labels, or from triplets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels, from which triplets are made. Not needed, and not used, with ``triplets``.
        triplets : Triplets or array-like of shape (n_triplets, 3), optional
            Rows (i, j, l): point i should be nearer to j than to l.

        Returns
        -------
        self
        """

    def find_triplets(self, X: np.ndarray, y: np.ndarray) -> Triplets:
        """The triplets that ``fit(X, y)`` would find."""
        return knn_triplets(X, y, self.n_neighbors, self.n_impostors, self.n_jobs, self.neighbors)

    def precompute(self, X: np.ndarray, y: np.ndarray) -> Precomputed:
        """The triplets of these rows."""
        return Precomputed(arguments={"triplets": self.find_triplets(X, y)})

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
