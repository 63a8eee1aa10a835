"""The nearest prototype under a learned metric, with exact certificates."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from holdfast.base.collections import is_dask
from holdfast.models.base import VotingClassifier
from holdfast.numerics.frames import plain_labels


class CertifiedPrototypeClassifier(VotingClassifier):
    """The class of the nearest prototype under a learned metric, each prediction with an exact certificate.

    Parameters
    ----------
    learner : learner with ``components_`` and, after fit, ``prototypes_`` and ``prototype_labels_``
        Such as :class:`~holdfast.ProxyNCA`. An unfitted one is cloned and fitted; a fitted one is taken as
        it is. A learner without prototypes, and None (the Euclidean distance), get class means.
    n_jobs : int or None, default=None
        Threads.

    Attributes
    ----------
    classes_, learner_, components_
        As for :class:`CertifiedKNeighborsClassifier`.
    reference_, reference_codes_ : ndarrays
        The prototypes, and the index of each one's class in ``classes_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import CertifiedPrototypeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(CertifiedPrototypeClassifier().fit(X, y).score(X, y) > 0.9)
    True
    """

    def __init__(self, learner=None, n_jobs: int | None = None):
        self.learner = learner
        self.n_jobs = n_jobs

    def fit(self, X, y):
        """Fit the learner, and take its prototypes.

        The rows of a Dask collection stay where they are.
        """
        y = plain_labels(y)
        source = X, y
        if is_dask(X):
            from holdfast.learn.dask import class_means

            X, y = class_means(X, y)
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.components_ = self._fit_learner(X, y, source)
        prototypes = getattr(self.learner_, "prototypes_", None)
        if prototypes is None:
            self.reference_ = np.array([X[codes == c].mean(axis=0) for c in range(len(self.classes_))])
            self.reference_codes_ = np.arange(len(self.classes_))
            return self
        labels = np.asarray(self.learner_.prototype_labels_)
        unknown = set(labels.tolist()) - set(self.classes_.tolist())
        if unknown:
            raise ValueError(f"The learner's prototypes have labels that y lacks: {sorted(map(str, unknown))}.")
        self.reference_ = np.asarray(prototypes, dtype=np.float64)
        self.reference_codes_ = np.searchsorted(self.classes_, labels)
        return self

    def voters_per_row(self) -> int:
        """k: how many of the nearest reference points vote."""
        return 1
