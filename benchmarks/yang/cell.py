"""One cell of the experiment: a method on one round of a data set, tuned, fitted, scored."""

import json
import os
import platform
import time
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.yang.conditions import Condition, conditions, disturbed
from benchmarks.yang.methods import METHODS
from benchmarks.yang.protocol import Round, make_round
from benchmarks.yang.selection import tune
from holdfast import CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier
from holdfast.learn import MetricLearner
from holdfast.paper import g_mean, margins

RADII = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
PACKAGES = ("holdfast", "numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Cell:
    """A data set, a method, a round, and how they are run."""

    dataset: str
    method: str
    round: int
    draws: int = 50
    folds: int = 5
    preprocessing: str = "paper"

    @property
    def path(self) -> Path:
        """Path of its rows below the folder of cells; every setting that changes the rows is part of it."""
        settings = f"{self.preprocessing}-{self.draws}x{self.folds}"
        return Path(settings, self.dataset, f"{self.method}-{self.round:02d}.parquet")


def run_cell(cell: Cell, data_dir: str | None = None) -> list[dict[str, Any]]:
    """Rows of the cell, one for each condition and score, on one thread."""
    with threadpool_limits(1), joblib.parallel_config("sequential"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        part = make_round(cell.dataset, cell.round, cell.preprocessing, data_dir)
        learner, parameters, tuning = tune(METHODS[cell.method], part, cell.draws, cell.folds)
        began = time.perf_counter()
        learner = clone(learner).fit(part.X_train, part.y_train)
        fitting = time.perf_counter() - began
        scores = score(learner, part)
    common = {
        "dataset": cell.dataset,
        "method": cell.method,
        "round": cell.round,
        "draws": cell.draws,
        "folds": cell.folds if not part.y_validation.size else 1,
        "preprocessing": cell.preprocessing,
        "split": part.split.source,
    }
    told = {
        "n_train": len(part.y_train),
        "n_features": part.X_train.shape[1],
        "parameters": json.dumps(parameters, default=float, sort_keys=True),
        "seconds_tuning": tuning,
        "seconds_fit": fitting,
        "warnings": "; ".join(sorted({str(w.message).partition(".")[0] for w in caught})),
        **machine(),
    }
    return [{**common, **row, **told} for row in scores]


def score(learner: MetricLearner, part: Round) -> list[dict[str, Any]]:
    """Condition, level, score and value: for each condition, the margin, and each certified radius.

    Training rows vote by 3-NN; where there are prototypes, these vote. Margins and certificates are those of what
    votes. Adversarial moves look at training rows, as the paper has it; where prototypes vote there is also
    ``adversarial_proxies_…``, whose moves look at these, and which are far stronger.
    """
    voter: CertifiedKNeighborsClassifier | CertifiedPrototypeClassifier
    if hasattr(learner, "prototypes_"):
        voter, certificate = CertifiedPrototypeClassifier(learner, n_jobs=1), "auto"
    else:
        voter, certificate = CertifiedKNeighborsClassifier(learner, n_neighbors=3, n_jobs=1), "lower"
    voter.fit(part.X_train, part.y_train)
    voting = (voter.reference_, voter.classes_[voter.reference_codes_])
    training = (part.X_train, part.y_train)
    rows, L = [], voter.components_

    def note(condition: str, level: float, score: str, value: float, n: int) -> None:
        rows.append({"condition": condition, "level": level, "score": score, "value": float(value), "n_test": n})

    def classify(name: str, condition: Condition, reference) -> None:
        X, y = disturbed(condition, part, L, reference)
        found = voter.predict(X)
        note(name, condition.level, "accuracy", np.mean(found == y), len(y))
        if part.facts.score == "g_mean":
            note(name, condition.level, "g_mean", g_mean(y, found), len(y))

    for condition in conditions(part):
        classify(condition.name, condition, training)
        if condition.kind == "adversarial" and hasattr(learner, "prototypes_"):
            classify(condition.name.replace("_", "_proxies_", 1), condition, voting)
    right = voter.predict(part.X_test) == part.y_test
    margin = margins(L, part.X_test, part.y_test, voting, n_jobs=1)[right].mean() if right.any() else np.nan
    note("adversarial_margin", 0.0, "margin", margin, int(right.sum()))
    certified = voter.certify(part.X_test, part.y_test, method=certificate, witness=False, n_jobs=1)
    for radius, value in zip(RADII, certified.certified_accuracy(radii=RADII), strict=True):
        note(f"certified_{radius:g}", radius, "certified_accuracy", value, len(part.y_test))
    return rows


def machine() -> dict[str, str]:
    """Versions and machine, on which numbers and seconds depend."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
    }
