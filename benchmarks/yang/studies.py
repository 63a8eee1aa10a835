"""The experiments outside the grid of cells: toy examples, sensitivity, convergence, the bound as tau grows, times."""

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from benchmarks.yang.protocol import Round, make_round
from benchmarks.yang.seconds import seconds
from benchmarks.yang.store import load
from benchmarks.yang.toy import SETS, run
from holdfast import LMNN, CertifiedKNeighborsClassifier, FixedMetric, Perturbation
from holdfast.learn import Triplets, adversarial_margins, knn_triplets
from holdfast.learn.solvers import LBFGS, ProjectedGradient, Solver
from holdfast.paper import generalization_bound

#: Mean margins the paper prints for its toy examples.
TOY_PUBLISHED = {
    "separability": {"Euclidean": 0.17, "LMNN": 0.15, "LMNN-PL": 0.16},
    "multicollinearity": {"Euclidean": 0.83, "LMNN": 0.05, "LMNN-PL": 0.70},
}


def toy(data_dir: str | None = None, folder: Path | None = None, seeds: int = 5) -> pd.DataFrame:
    """M, mean margin and accuracy on the two toy examples, on a few samples of each."""
    rows: list[dict[str, Any]] = []
    for name in SETS:
        for seed in range(seeds):
            for method, (M, margin, accuracy) in run(name, seed).items():
                rows.append(
                    {
                        "example": name,
                        "sample": seed,
                        "method": method,
                        "margin": margin,
                        "published_margin": TOY_PUBLISHED[name][method],
                        "accuracy": accuracy,
                        "M": json.dumps(np.round(M, 3).tolist()),
                    }
                )
    return pd.DataFrame(rows)


def sensitivity(data_dir: str | None = None, folder: Path | None = None, name: str = "mnist") -> pd.DataFrame:
    """Test accuracy of LMNN-PL as mu, tau or weight changes and the other two stay at their tuned values."""
    part = make_round(name, 0, "paper", data_dir)
    triplets = knn_triplets(part.X_train, part.y_train)
    tau_max = float(np.percentile(adversarial_margins(LMNN(), part.X_train, triplets), 90))
    tuned, origin = _tuned(name, folder, tau_max)
    grids = {
        "mu": np.linspace(0.1, 0.9, 9),
        "tau": tau_max * np.linspace(0.1, 1.0, 10),
        "weight": 4.0 / tuned["tau"] ** 2 * np.array([0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0]),
    }
    rows = []
    for parameter, grid in grids.items():
        for value in np.sort(np.append(grid, tuned[parameter])):
            learner = _lmnn_pl({**tuned, parameter: float(value)})
            accuracy = _accuracy(_quiet(learner, part, triplets), part)
            rows.append((name, parameter, float(value), accuracy, value == tuned[parameter], origin))
    return pd.DataFrame(rows, columns=["dataset", "parameter", "at", "accuracy", "tuned", "origin"])


def convergence(data_dir: str | None = None, folder: Path | None = None, name: str = "mnist") -> pd.DataFrame:
    """Test accuracy of LMNN-PL along training: the paper's schedule, and the default solver."""
    part = make_round(name, 0, "paper", data_dir)
    triplets = knn_triplets(part.X_train, part.y_train)
    tau_max = float(np.percentile(adversarial_margins(LMNN(), part.X_train, triplets), 90))
    tuned, origin = _tuned(name, folder, tau_max)
    rows = []
    solvers: dict[str, Solver] = {"paper's schedule": ProjectedGradient(), "L-BFGS (default)": LBFGS()}
    for solver_name, solver in solvers.items():

        def note(progress, solver_name=solver_name) -> None:
            if progress.iteration <= 20 or progress.iteration % 10 == 0:
                # The variable is M for the first solver, a factor L of it for the second.
                M = progress.x if solver_name.startswith("paper") else progress.x.T @ progress.x
                accuracy = _accuracy(FixedMetric(M).fit(part.X_train), part)
                rows.append((name, solver_name, progress.iteration, progress.value, accuracy, origin))

        learner = _lmnn_pl(tuned).set_params(solver=solver, callback=note)
        _quiet(learner, part, triplets)
    return pd.DataFrame(rows, columns=["dataset", "solver", "iteration", "objective", "accuracy", "origin"])


def bound(data_dir: str | None = None, folder: Path | None = None, name: str = "australian") -> pd.DataFrame:
    """The parts of Theorem 1 as tau grows, for LMNN and LMNN-PL."""
    part = make_round(name, 0, "paper", data_dir)
    triplets = knn_triplets(part.X_train, part.y_train)
    tau_max = float(np.percentile(adversarial_margins(LMNN(), part.X_train, triplets), 90))
    tuned, origin = _tuned(name, folder, tau_max)
    rows = []
    for method, learner in {
        "LMNN": LMNN(mu=tuned["mu"], perturbation=None, n_jobs=1),
        "LMNN-PL": _lmnn_pl(tuned),
    }.items():
        fitted = _quiet(learner, part, triplets)
        for tau in np.linspace(0.02, 0.5, 13):
            found = generalization_bound(fitted, part.X_train, part.y_train, float(tau))
            logs = [value / math.log(10) for value in (found.log_K, found.log_deviation, found.log_bound)]
            share = found.n_hat / found.n_admissible
            rows.append((name, method, tau, found.n_hat, share, found.B, *logs, found.vacuous, origin))
    columns = ["dataset", "method", "tau", "n_hat", "robust_share", "B", "log10_K", "log10_deviation", "log10_bound"]
    return pd.DataFrame(rows, columns=[*columns, "vacuous", "origin"])


STUDIES: dict[str, Callable[..., pd.DataFrame]] = {
    "toy": toy,
    "sensitivity": sensitivity,
    "convergence": convergence,
    "bound": bound,
    "seconds": seconds,
}


def _tuned(name: str, folder: Path | None, tau_max: float) -> tuple[dict[str, float], str]:
    """mu, tau and weight of LMNN-PL as a run in the folder found them in round 0, or else default ones."""
    rows = load(folder) if folder is not None else pd.DataFrame()
    if len(rows):
        rows = rows[(rows["dataset"] == name) & (rows["method"] == "LMNN-PL") & (rows["round"] == 0)]
        rows = rows.sort_values("draws")
    if len(rows):
        found = json.loads(rows["parameters"].iloc[-1])
        plain = {key.removeprefix("perturbation__"): value for key, value in found.items()}
        return plain, f"tuned with {rows['draws'].iloc[-1]} draws"
    tau = tau_max / 2.0
    return {"mu": 0.5, "tau": tau, "weight": 1.0 / tau**2}, "not tuned"


def _lmnn_pl(p: dict[str, float]) -> LMNN:
    return LMNN(mu=p["mu"], perturbation=Perturbation(tau=p["tau"], weight=p["weight"]), n_jobs=1)


def _quiet(learner: LMNN, part: Round, triplets: Triplets) -> LMNN:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return learner.fit(part.X_train, part.y_train, triplets=triplets)


def _accuracy(learner, part: Round) -> float:
    voter = CertifiedKNeighborsClassifier(learner, n_neighbors=3, n_jobs=1).fit(part.X_train, part.y_train)
    return float(np.mean(voter.predict(part.X_test) == part.y_test))
