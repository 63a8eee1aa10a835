"""One fold of a cross-validation, and the fits on it."""

import time
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from holdfast.learners import MetricLearner, Precomputed
from holdfast.models import CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier
from holdfast.search.scores import score


@dataclass(frozen=True, eq=False)
class CVFold:
    """Training and test rows, and what the learner precomputes of the training rows for all candidates."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    precomputed: Precomputed

    @classmethod
    def make(cls, learner: MetricLearner, X: np.ndarray, y: np.ndarray, train, test) -> "CVFold":
        """The fold of the rows ``train`` and ``test``."""
        part = np.ascontiguousarray(X[train])
        return cls(part, y[train], X[test], y[test], learner.precompute(part, y[train]))


class CVFoldResult(NamedTuple):
    """The result of a candidate on a fold; ``warm_start`` are parameters with which a fit goes on from there."""

    score: float
    tie_break: float
    seconds: float
    warm_start: dict[str, Any]


def fit_and_score(
    tasks: list[tuple[MetricLearner, dict[str, Any]]], fold: CVFold, scoring, n_neighbors: int, max_iter: int | None
) -> list[CVFoldResult]:
    """Fit some learners, each with its warm start, on one fold and score them; stop fits after ``max_iter``."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit warns
        for learner, start in tasks:
            began = time.perf_counter()
            if max_iter is not None:
                learner.set_params(callback=lambda progress: progress.iteration >= max_iter)
            fold.precomputed.fit(learner.set_params(**start), fold.X, fold.y)
            seconds = time.perf_counter() - began
            classifier = make_classifier(learner, fold.X, fold.y, n_neighbors, n_jobs=1)
            value, tie_break = score(classifier, fold.X_test, fold.y_test, scoring)
            found.append(CVFoldResult(value, tie_break, seconds, {} if max_iter is None else learner.warm_start()))
    return found


def make_classifier(learner: MetricLearner, X, y, n_neighbors: int, n_jobs: int | None = None):
    """A fitted learner as a classifier: nearest prototype if it has prototypes, else k nearest neighbours."""
    if hasattr(learner, "prototypes_"):
        return CertifiedPrototypeClassifier(learner, n_jobs).fit(X, y)
    return CertifiedKNeighborsClassifier(learner, min(n_neighbors, len(X)), n_jobs).fit(X, y)
