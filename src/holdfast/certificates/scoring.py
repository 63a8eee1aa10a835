"""Certified accuracy as a scikit-learn score, so that models can be selected by it."""

import numpy as np
from sklearn.base import BaseEstimator

from holdfast.certificates.certify import certify


class CertifiedAccuracy(BaseEstimator):
    """Share of rows that are right and certified to stay so within ``radius``: ``scorer(model, X, y)``.

    Works wherever scikit-learn takes ``scoring=``, for models that :func:`holdfast.certify` takes; scikit-learn turns
    an error into NaN unless ``error_score="raise"`` is set.

    Parameters
    ----------
    radius : float
        In the units of the rows the model is given.
    norm : {2, numpy.inf, 1} or array-like, default=2
    method : {"lower", "auto"}, default="lower"
        The fast lower bound, or the exact search, which then decides at ``radius`` only.
    n_jobs : int or None, default=1
        Threads of one score; searches run many at once.
    lower, upper : float or array-like of shape (n_features,), optional
        A box that moved rows must lie in.
    frozen : array-like of bool or int, optional
        Features that cannot be moved.
    threat : Threat, optional
        In place of norm, lower, upper and frozen.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from holdfast import CertifiedKNeighborsClassifier
    >>> from holdfast.certificates import CertifiedAccuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = cross_val_score(CertifiedKNeighborsClassifier(), X, y, scoring=CertifiedAccuracy(0.1))
    >>> bool(0.7 < scores.mean() < 0.97)
    True
    """

    def __init__(
        self,
        radius: float = 0.1,
        norm=2,
        method: str = "lower",
        n_jobs: int | None = 1,
        lower=None,
        upper=None,
        frozen=None,
        threat=None,
    ):
        self.radius = radius
        self.norm = norm
        self.method = method
        self.n_jobs = n_jobs
        self.lower = lower
        self.upper = upper
        self.frozen = frozen
        self.threat = threat

    def __call__(self, estimator, X, y) -> float:
        """The certified accuracy at ``radius``."""
        return self.score_and_tie_break(estimator, X, y)[0]

    def score_and_tie_break(self, estimator, X, y) -> tuple[float, float]:
        """The certified accuracy at ``radius``, and the accuracy, which decides between equal ones."""
        certificate = certify(
            estimator, X, threat=self.threat, norm=self.norm, lower=self.lower, upper=self.upper, frozen=self.frozen,
            method=self.method, witness=False, n_jobs=self.n_jobs, at=self.radius if self.method == "auto" else None,
        )  # fmt: skip
        y = np.asarray(y)  # a fold may have labels that none of the rows of training has: those rows count as wrong
        accuracy = (certificate.prediction == y).mean()
        return float(certificate.certified_accuracy(y, radii=self.radius)), float(accuracy)
