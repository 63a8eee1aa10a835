"""Tuning: the paper's search, by the paper's score or by certified accuracy."""

import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from benchmarks.yang.methods import Method, learner_for, space_for
from benchmarks.yang.protocol import Round
from benchmarks.yang.seeds import seed
from holdfast import Euclidean
from holdfast.certificates import CertifiedAccuracy
from holdfast.learn import MetricLearner
from holdfast.paper import PerturbationSearchCV

Folds = list[tuple[np.ndarray, np.ndarray]]


def tune(method: Method, part: Round, n_draws: int, n_folds: int) -> tuple[MetricLearner, dict[str, Any], float]:
    """The learner with the best parameters found, these parameters, and the seconds it took.

    Draws and folds depend on data set and round, not on the method.
    """
    learner = learner_for(method, part.facts)
    if isinstance(learner, Euclidean):
        return learner, {}, 0.0
    began = time.perf_counter()
    X, y, folds = tuning_parts(part, n_folds)
    search = PerturbationSearchCV(
        learner,
        space=space_for(method, part.facts),
        n_draws=n_draws,
        scoring=part.facts.score if method.radius is None else CertifiedAccuracy(method.radius),
        cv=folds,
        refit=False,
        n_jobs=1,
        random_state=seed("draws", part.name, part.number),
    ).fit(X, y)
    best = clone(learner).set_params(n_jobs=1, **search.best_params_)
    return best, search.best_params_, time.perf_counter() - began


def tuning_parts(part: Round, n_folds: int) -> tuple[np.ndarray, np.ndarray, Folds]:
    """Rows to tune on, and their parts: folds of the training part, or training and validation part."""
    if not part.y_validation.size:
        shuffled = StratifiedKFold(n_folds, shuffle=True, random_state=seed("folds", part.name, part.number))
        return part.X_train, part.y_train, list(shuffled.split(part.X_train, part.y_train))
    X = np.concatenate([part.X_train, part.X_validation])
    y = np.concatenate([part.y_train, part.y_validation])
    rows = np.arange(len(y))
    n = len(part.y_train)
    return X, y, [(rows[:n], rows[n:])]
