"""Metrics that are given, not learned, as learners: baselines share one code path."""

import numpy as np

from holdfast.learners.base import MetricLearner
from holdfast.metric import check_metric, components_of
from holdfast.rows import source_of


class FixedMetric(MetricLearner):
    """A metric you already have: ``fit`` checks it against the data and learns nothing.

    Parameters
    ----------
    M : array-like of shape (n_features, n_features) or None
        Symmetric and positive semi-definite; None is the identity.

    Examples
    --------
    >>> from holdfast import FixedMetric
    >>> FixedMetric([[4.0, 0.0], [0.0, 0.0]]).fit([[1.0, 7.0]]).transform([[1.0, 7.0]])
    array([[2.]])
    """

    def __init__(self, M=None):
        self.M = M

    def fit(self, X, y=None):
        """Check M; y is ignored."""
        p = source_of(X).count_features(self, X)
        self.components_ = np.eye(p) if self.M is None else components_of(check_metric(self.M, p))
        return self


class Euclidean(MetricLearner):
    """``M = I``: the distance that was there before.

    Examples
    --------
    >>> from holdfast import Euclidean
    >>> Euclidean().fit([[1.0, 7.0]]).get_mahalanobis_matrix()
    array([[1., 0.],
           [0., 1.]])
    """

    def fit(self, X, y=None):
        """Count the features; y is ignored."""
        self.components_ = np.eye(source_of(X).count_features(self, X))
        return self
