"""Euclidean adversarial margins, from which the ranges of tau are made."""

import numpy as np

from holdfast.learn import Perturbation, TripletGeometry, Triplets, knn_triplets
from holdfast.learners import MetricLearner, TripletLearner


def adversarial_margins(learner: MetricLearner, X: np.ndarray, triplets: Triplets) -> np.ndarray:
    """``|f| / 2√h`` of every triplet at M = I: Euclidean adversarial margins.

    Parameters
    ----------
    learner : learner
        Its perturbation loss, if it has one, defines how moves are measured.
    X : ndarray of shape (n_samples, n_features)
    triplets : Triplets

    Returns
    -------
    ndarray of shape (n_triplets,)
    """
    p = X.shape[1]
    perturbation = getattr(learner, "perturbation", None)
    B = None if not isinstance(perturbation, Perturbation) else perturbation.slope_matrix(p, X.var(axis=0))
    geometry = TripletGeometry(X, triplets, B, True, 1)
    a, b, h = geometry.three_numbers(np.eye(p))
    geometry.close()
    assert h is not None
    return np.abs(b - a) / (2.0 * np.sqrt(np.where(h > 0, h, np.inf)))


def largest_tau(learner: MetricLearner, X: np.ndarray, y: np.ndarray) -> float:
    """The 90th percentile of the Euclidean adversarial margins, the upper end of the paper's range for tau.

    Over the triplets that the learner would find; the paper's 3 targets and 10 impostors for one that finds none.
    """
    if isinstance(learner, TripletLearner):
        triplets = learner.find_triplets(X, y)
    else:
        triplets = knn_triplets(X, y, 3, 10, n_jobs=1)
    return float(np.percentile(adversarial_margins(learner, X, triplets), 90))
