"""Given metrics as learners, so that baselines need no code of their own."""

from functools import partial

import numpy as np
from sklearn.utils.validation import validate_data

from holdfast.backends import backend_for
from holdfast.learn.spaces import check_metric, components_in_any_units
from holdfast.learners.base import MetricLearner
from holdfast.learners.ranges import Ranges


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
        p = backend_for(X).count_features(X, partial(validate_data, self))
        self.components_ = np.eye(p) if self.M is None else components_in_any_units(check_metric(self.M, p))
        return self

    def default_ranges(self) -> Ranges:
        """No parameter is searched."""
        return {}


class Euclidean(MetricLearner):
    """``M = I``: the Euclidean distance.

    Examples
    --------
    >>> from holdfast import Euclidean
    >>> Euclidean().fit([[1.0, 7.0]]).get_mahalanobis_matrix()
    array([[1., 0.],
           [0., 1.]])
    """

    def fit(self, X, y=None):
        """Count the features; y is ignored."""
        self.components_ = np.eye(backend_for(X).count_features(X, partial(validate_data, self)))
        return self

    def default_ranges(self) -> Ranges:
        """There is no parameter to search."""
        return {}
