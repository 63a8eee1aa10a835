"""Fits of recipes on one fold, and the verdicts on all their heads."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from holdfast.learners import Precomputed, TripletLearner
from holdfast.search.families import Recipe
from holdfast.search.verdict import Verdict, verdict

_WORST = Verdict(0.0, 0.0)


class Trial(NamedTuple):
    """A recipe with some of its heads, by number."""

    recipe: Recipe
    heads: list[int]


def run_trials(
    trials: list[Trial], X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, radius: float, threat
) -> list[tuple[list[Verdict], float]]:
    """For each trial the verdicts on its heads and the seconds of the fit; what cannot be fitted certifies nothing."""
    X_train, y_train = np.ascontiguousarray(X[train]), y[train]
    made: dict[tuple, Precomputed] = {}  # triplets and bases, shared by trials with the same number of targets
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit warns
        warnings.simplefilter("ignore", UserWarning)  # of small classes, of pruned ones: too
        for trial in trials:
            began = time.perf_counter()
            fitted = clone(trial.recipe.estimator)
            try:
                _fit(fitted, X_train, y_train, made)
            except ValueError:  # such as a single class in the training part of a fold
                found.append(([_WORST] * len(trial.heads), time.perf_counter() - began))
                continue
            seconds = time.perf_counter() - began
            verdicts = [
                _on_head(
                    trial.recipe, trial.recipe.heads[h], fitted, X_train, y_train, X[test], y[test], radius, threat
                )
                for h in trial.heads
            ]
            found.append((verdicts, seconds))
    return found


def _fit(estimator, X: np.ndarray, y: np.ndarray, made: dict[tuple, Precomputed]) -> None:
    """Fit, with triplets and bases that were made before where there are some."""
    if not isinstance(estimator, TripletLearner):
        estimator.fit(X, y)
        return
    key = (type(estimator), estimator.n_neighbors, estimator.n_impostors)
    if key not in made:
        made[key] = estimator.precompute(X, y)
    made[key].fit(estimator, X, y)


def _on_head(recipe: Recipe, head, fitted, X_train, y_train, X_test, y_test, radius: float, threat) -> Verdict:
    classifier = recipe.classifier(head, fitted, n_jobs=1)
    if classifier is not fitted:
        try:
            classifier.fit(X_train, y_train)
        except ValueError:  # fewer rows are left than vote, or too many are in conflict
            return _WORST
    return verdict(classifier, X_test, y_test, radius, threat)
