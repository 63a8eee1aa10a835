"""What every learner is: a scikit-learn transformer that carries a Mahalanobis metric."""

from abc import abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from holdfast.metric import Mahalanobis
from holdfast.rows import by_blocks


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """``transform(X) = X Lᵀ``; Euclidean distances after it are Mahalanobis distances before.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L, with ``M = LᵀL``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if ``fit`` saw named columns.
    """

    components_: np.ndarray

    @abstractmethod
    def fit(self, X, y=None):
        """Learn the metric."""

    @by_blocks
    def transform(self, X) -> np.ndarray:
        """``X Lᵀ``, of shape (n_samples, n_components)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ self.components_.T

    def get_mahalanobis_matrix(self) -> np.ndarray:
        """``M = LᵀL``, of shape (n_features, n_features)."""
        return self._metric.matrix

    def get_metric(self) -> Mahalanobis:
        """The distance as a function ``d(u, v, squared=False)`` of two points."""
        return self._metric

    def pair_distance(self, pairs) -> np.ndarray:
        """Distance within each pair of an array of shape (n_pairs, 2, n_features)."""
        metric = self._metric
        pairs = check_array(pairs, dtype=np.float64, allow_nd=True, input_name="pairs")
        if pairs.ndim != 3 or pairs.shape[1:] != (2, self.n_features_in_):
            raise ValueError(f"pairs must have shape (n_pairs, 2, {self.n_features_in_}); got {pairs.shape}.")
        return metric.between_pairs(pairs)

    def pair_score(self, pairs) -> np.ndarray:
        """Minus the distance within each pair: larger is nearer."""
        return -self.pair_distance(pairs)

    @property
    def _metric(self) -> Mahalanobis:
        check_is_fitted(self)
        return Mahalanobis(self.components_)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]
