"""Fits of recipes on one fold, and the verdicts on all their heads."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from holdfast.learners import Precomputed, TripletLearner
from holdfast.numerics.threads import single_threaded_blas
from holdfast.search.families import Recipe
from holdfast.search.neighbor_votes import neighbor_verdicts
from holdfast.search.verdict import Criterion, ScoredRows, Verdict, verdict

_WORST = Verdict(0.0, 0.0)


class Trial(NamedTuple):
    """A recipe with some of its heads, by number."""

    recipe: Recipe
    heads: list[int]


def run_trials(
    trials: list[Trial],
    X: np.ndarray,
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    asked: Criterion,
    n_searched: int,
) -> list[tuple[list[Verdict], float]]:
    """For each trial the verdicts on its heads and the seconds of the fit; what cannot be fitted certifies nothing.

    Parameters
    ----------
    trials : list of Trial
    X, y : ndarrays
        All rows and labels.
    train, test : int ndarrays
        The fold.
    asked : Criterion
    n_searched : int
        As for :func:`~holdfast.search.neighbor_votes.neighbor_verdicts`.
    """
    question = asked.about(X[test], y[test])
    X, y = np.ascontiguousarray(X[train]), y[train]
    made: dict[tuple, Precomputed] = {}  # triplets and bases, shared by trials with the same number of targets
    found = []
    with warnings.catch_warnings(), single_threaded_blas():  # once, in place of once for each fit and certificate
        warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit warns
        warnings.simplefilter("ignore", UserWarning)  # of small classes, of pruned ones: too
        for trial in trials:
            began = time.perf_counter()
            fitted = clone(trial.recipe.estimator)
            try:
                _fit(fitted, X, y, made)
            except ValueError:  # such as a single class in the training part of a fold
                found.append(([_WORST] * len(trial.heads), time.perf_counter() - began))
                continue
            seconds = time.perf_counter() - began
            found.append((_verdicts(trial, fitted, X, y, question, n_searched), seconds))
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


def _verdicts(trial: Trial, fitted, X: np.ndarray, y: np.ndarray, question: ScoredRows, n_searched) -> list[Verdict]:
    """The verdict on each head of a fitted recipe."""
    heads = [trial.recipe.heads[h] for h in trial.heads]
    if trial.recipe.votes_by_neighbors:
        return neighbor_verdicts(fitted, X, y, heads, question, n_searched)
    found = []
    for head in heads:
        classifier = trial.recipe.classifier(head, fitted, n_jobs=1)
        found.append(verdict(classifier if classifier is fitted else classifier.fit(X, y), question))
    return found
