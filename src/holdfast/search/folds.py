"""One fold: what can be made of it once for all candidates, and how a candidate does on it."""

import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer

from holdfast.constraints import Triplets, knn_triplets
from holdfast.geometry import TripletGeometry
from holdfast.learners import SCML, TripletLearner
from holdfast.neighbors import CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier


@dataclass(frozen=True, eq=False)
class Fold:
    """The parts of the data, and all that can be made of them before the first candidate is seen."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    triplets: Triplets | None
    basis: np.ndarray | None

    @classmethod
    def of(cls, learner, X, y, codes, train, test) -> "Fold":
        """The fold of rows ``train`` and ``test``, with triplets and bases for the learner."""
        part = np.ascontiguousarray(X[train])
        triplets = triplets_for(learner, part, codes[train]) if isinstance(learner, TripletLearner) else None
        basis = None
        if isinstance(learner, SCML) and learner.basis is None:
            basis = learner.make_basis(part, codes[train])
        if triplets is not None:  # made here once, not in each of the threads that share them
            made = [triplets.indptr, triplets.pairs.indptr]
            if getattr(learner, "perturbation", None) is not None:
                made.append(triplets.slope_pairs.indptr)
        return cls(part, y[train], X[test], y[test], triplets, basis)


def fit_and_score(tasks, fold: Fold, scoring, n_neighbors: int, iterations: int) -> list[tuple]:
    """Score and seconds of some learners on one fold, and where a short fit ended."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit tells
        for learner, start in tasks:
            began = time.perf_counter()
            if fold.basis is not None:
                learner.set_params(basis=fold.basis)
            if start is not None:
                learner.set_params(init=start)
            if iterations:
                learner.set_params(callback=lambda progress: progress.iteration >= iterations)
            fit_learner(learner, fold.X, fold.y, fold.triplets)
            seconds = time.perf_counter() - began
            ended = None
            if iterations:
                ended = learner.w_ if isinstance(learner, SCML) else learner.get_mahalanobis_matrix()
            found.append((_score_of(learner, fold, scoring, n_neighbors), seconds, ended))
    return found


def _score_of(learner, fold: Fold, scoring, n_neighbors: int) -> float:
    model = classifier_of(learner, fold.X, fold.y, n_neighbors, n_jobs=1)
    if scoring == "g_mean":
        return g_mean(fold.y_test, model.predict(fold.X_test))
    scorer = scoring if callable(scoring) else get_scorer(scoring)
    return float(scorer(model, fold.X_test, fold.y_test))


def classifier_of(learner, X, y, n_neighbors: int, n_jobs: int | None = None):
    """A fitted learner as a classifier: nearest prototype if it has prototypes, else k nearest neighbours."""
    if hasattr(learner, "prototypes_"):
        return CertifiedPrototypeClassifier(learner, n_jobs).fit(X, y)
    return CertifiedKNeighborsClassifier(learner, min(n_neighbors, len(X)), n_jobs).fit(X, y)


def fit_learner(learner, X, y, triplets) -> None:
    """Fit, with the triplets at hand if the learner takes any."""
    if isinstance(learner, TripletLearner):
        learner.fit(X, y, triplets=triplets)
    else:
        learner.fit(X, y)


def triplets_for(learner, X: np.ndarray, y: np.ndarray) -> Triplets:
    """The triplets the learner would make (the paper's 3 × 10 for one that makes none)."""
    counts = getattr(learner, "n_neighbors", 3), getattr(learner, "n_impostors", 10)
    return knn_triplets(X, y, *counts, n_jobs=1, neighbors=getattr(learner, "neighbors", "exact"))


def adversarial_margins(learner, X: np.ndarray, triplets: Triplets) -> np.ndarray:
    """``|f| / 2√h`` of every triplet at M = I: Euclidean adversarial margins.

    Parameters
    ----------
    learner : learner
        Its perturbation loss, if it has one, says how moves are measured.
    X : ndarray of shape (n_samples, n_features)
    triplets : Triplets

    Returns
    -------
    ndarray of shape (n_triplets,)
    """
    p = X.shape[1]
    perturbation = getattr(learner, "perturbation", None)
    B = None if perturbation is None else perturbation.slope_matrix(p, X)
    geometry = TripletGeometry(X, triplets, B, True, 1)
    a, b, h = geometry.three_numbers(np.eye(p))
    geometry.close()
    assert h is not None
    return np.abs(b - a) / (2.0 * np.sqrt(np.where(h > 0, h, np.inf)))


def g_mean(y_true, y_pred) -> float:
    """The geometric mean of the recalls of all classes in ``y_true``.

    Parameters
    ----------
    y_true, y_pred : array-likes of shape (n_samples,)

    Returns
    -------
    float

    Examples
    --------
    >>> round(g_mean([0, 0, 0, 0, 1], [0, 0, 0, 1, 1]) ** 2, 9)
    0.75
    """
    y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
    recalls = [np.mean(y_pred[y_true == c] == c) for c in np.unique(y_true)]
    return float(np.prod(recalls) ** (1.0 / len(recalls)))
