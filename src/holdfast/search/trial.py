"""Fits of recipes on one fold, and the verdicts on all their heads."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from holdfast.learn import Precomputed, TripletLearner
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
    criterion: Criterion,
    n_searched: int,
) -> list[tuple[list[Verdict], float]]:
    """For each trial the verdicts on its heads and the seconds of the fit; one that cannot be fitted scores 0.

    Parameters
    ----------
    trials : list of Trial
    X, y : ndarrays
        All rows and labels.
    train, test : int ndarrays
        The fold.
    criterion : Criterion
    n_searched : int
        As for :func:`~holdfast.search.neighbor_votes.neighbor_verdicts`.
    """
    scored = criterion.of_share(len(train) / len(y)).about(X[test], y[test])
    X, y = np.ascontiguousarray(X[train]), y[train]
    precomputed: dict[tuple, Precomputed] = {}  # triplets and bases, shared by trials with the same number of targets
    results = []
    with warnings.catch_warnings(), single_threaded_blas():  # once, in place of once for each fit and certificate
        warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit warns
        warnings.simplefilter("ignore", UserWarning)  # about small and pruned classes: likewise
        for trial in trials:
            began = time.perf_counter()
            fitted = clone(trial.recipe.estimator)
            try:
                _fit(fitted, X, y, precomputed)
            except ValueError:  # such as a single class in the training part of a fold
                results.append(([_WORST] * len(trial.heads), time.perf_counter() - began))
                continue
            seconds = time.perf_counter() - began
            results.append((_verdicts(trial, fitted, X, y, scored, n_searched), seconds))
    return results


def _fit(estimator, X: np.ndarray, y: np.ndarray, precomputed: dict[tuple, Precomputed]) -> None:
    """Fit; a learner from triplets uses the triplets and bases in ``precomputed``, which are made on first use."""
    if not isinstance(estimator, TripletLearner):
        estimator.fit(X, y)
        return
    key = (type(estimator), estimator.n_neighbors, estimator.n_impostors)
    if key not in precomputed:
        precomputed[key] = estimator.precompute(X, y)
    precomputed[key].fit(estimator, X, y)


def _verdicts(trial: Trial, fitted, X: np.ndarray, y: np.ndarray, scored: ScoredRows, n_searched) -> list[Verdict]:
    """The verdict on each head of a fitted recipe."""
    heads = [trial.recipe.heads[h] for h in trial.heads]
    if trial.recipe.votes_by_neighbors:
        return neighbor_verdicts(fitted, X, y, heads, scored, n_searched)
    verdicts = []
    for head in heads:
        classifier = trial.recipe.classifier(head, fitted, n_jobs=1)
        verdicts.append(verdict(classifier if classifier is fitted else classifier.fit(X, y), scored))
    return verdicts
