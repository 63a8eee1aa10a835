"""The abstract learner: a scikit-learn transformer that carries a Mahalanobis metric."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from holdfast.backends import by_blocks
from holdfast.learn.spaces import Mahalanobis
from holdfast.learners.precomputed import Precomputed
from holdfast.learners.ranges import Stages


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """``transform(X) = X Lᵀ``; Euclidean distances after it are Mahalanobis distances before.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L, with ``M = LᵀL``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the columns passed to ``fit`` have names.
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
        return self.get_metric().matrix

    def get_metric(self) -> Mahalanobis:
        """The distance as a function ``d(u, v, squared=False)`` of two points."""
        check_is_fitted(self)
        return Mahalanobis(self.components_)

    def pair_distance(self, pairs) -> np.ndarray:
        """Distance within each pair of an array of shape (n_pairs, 2, n_features)."""
        metric = self.get_metric()
        pairs = check_array(pairs, dtype=np.float64, allow_nd=True, input_name="pairs")
        if pairs.ndim != 3 or pairs.shape[1:] != (2, self.n_features_in_):
            raise ValueError(f"pairs must have shape (n_pairs, 2, {self.n_features_in_}); got {pairs.shape}.")
        return metric.between_pairs(pairs)

    def pair_score(self, pairs) -> np.ndarray:
        """Minus the distance within each pair: larger is nearer."""
        return -self.pair_distance(pairs)

    # -- for a search over parameters -------------------------------------------------------------

    def default_ranges(self) -> Stages:
        """The ranges in which a search looks for parameters; ``ValueError`` if the learner has none."""
        raise ValueError(f"There are no default ranges for {type(self).__name__}: pass space={{...}}.")

    def precompute(self, X: np.ndarray, y: np.ndarray) -> Precomputed:
        """Make from these rows, once, what many fits with other parameters can share."""
        return Precomputed()

    def warm_start(self) -> dict[str, Any]:
        """Parameters with which another fit starts where this one ended; empty for a learner without a start."""
        return {"init": self.get_mahalanobis_matrix()} if "init" in self.get_params(deep=False) else {}

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]
