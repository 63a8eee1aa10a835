"""Time one learner on one data set and print the result as one line of JSON.

This file runs inside a peer's own virtual environment, so it imports only the standard library,
numpy and scikit-learn at the top, and each learner inside its own adapter:

    python worker.py --peer pylmnn --data data.npz --settings '{"n_neighbors": 3, "warm": true}'

`data.npz` holds X_train, y_train, X_test and y_test. Two settings are for this file and all the
others for the learner: `warm` (fit once on a few rows before the clock starts, so that imports
and compilation are not counted) and `repeats` (how often to fit; 1 unless told).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import platform
import resource
import statistics
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

Settings = dict[str, Any]
Fitted = tuple[np.ndarray, int | None]  # components L (rows are mapped by X @ L.T), steps taken


def fit_holdfast(X: np.ndarray, y: np.ndarray, settings: Settings) -> Fitted:
    """A learner of holdfast, `learner` (LMNN unless told); `perturbation` is {"tau": ..., "weight": ...}."""
    import holdfast

    settings = dict(settings)
    named = getattr(holdfast, settings.pop("learner", "LMNN"))
    if settings.get("perturbation") is not None:
        settings["perturbation"] = holdfast.Perturbation(**settings["perturbation"])
    learner = named(**settings).fit(X, y)
    return learner.components_, getattr(learner, "n_iter_", None)


def fit_holdfast_scml(X: np.ndarray, y: np.ndarray, settings: Settings) -> Fitted:
    """holdfast's SCML."""
    return fit_holdfast(X, y, {"learner": "SCML", **settings})


def fit_pylmnn(X: np.ndarray, y: np.ndarray, settings: Settings) -> Fitted:
    """PyLMNN, with what today's packages refuse put right (see `_repair_pylmnn`)."""
    _repair_pylmnn()
    from pylmnn import LargeMarginNearestNeighbor

    learner = LargeMarginNearestNeighbor(**settings).fit(X, y)
    return learner.components_, learner.n_iter_ - 1  # it counts the first evaluation as a step


def fit_metric_learn(X: np.ndarray, y: np.ndarray, settings: Settings) -> Fitted:
    """metric-learn's LMNN."""
    from metric_learn import LMNN

    learner = LMNN(**settings).fit(X, y)
    return learner.components_, learner.n_iter_ - 1  # it counts the first evaluation as a step


def fit_metric_learn_scml(X: np.ndarray, y: np.ndarray, settings: Settings) -> Fitted:
    """metric-learn's SCML_Supervised."""
    from metric_learn import SCML_Supervised

    learner = SCML_Supervised(**settings).fit(X, y)
    return learner.components_, learner.n_iter_ + 1  # it keeps the index of the last step


def fit_sklearn_nca(X: np.ndarray, y: np.ndarray, settings: Settings) -> Fitted:
    """scikit-learn's NeighborhoodComponentsAnalysis."""
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    learner = NeighborhoodComponentsAnalysis(**settings).fit(X, y)
    return learner.components_, learner.n_iter_ - 1  # it counts the first evaluation as a step


# The adapter of each peer, and the distribution whose version is reported.
ADAPTERS: dict[str, tuple[Callable[[np.ndarray, np.ndarray, Settings], Fitted], str]] = {
    "holdfast": (fit_holdfast, "holdfast"),
    "holdfast-scml": (fit_holdfast_scml, "holdfast"),
    "holdfast-learner": (fit_holdfast, "holdfast"),
    "pylmnn": (fit_pylmnn, "pylmnn"),
    "metric-learn": (fit_metric_learn, "metric-learn"),
    "metric-learn-scml": (fit_metric_learn_scml, "metric-learn"),
    "sklearn-nca": (fit_sklearn_nca, "scikit-learn"),
}


def _repair_pylmnn() -> None:
    """Let PyLMNN 1.6.4 be imported and fitted, without touching its arithmetic.

    Its package imports GPyOpt for a hyper-parameter search that is not used here, so an empty
    stand-in is put in its place; and it hands scipy a matrix as starting point, which scipy now
    refuses, so the matrix is flattened on the way (the objective reshapes it back by itself).
    """
    if "GPyOpt" in sys.modules:
        return
    methods = types.ModuleType("GPyOpt.methods")
    methods.BayesianOptimization = None  # type: ignore[attr-defined]
    sys.modules["GPyOpt"] = types.ModuleType("GPyOpt")
    sys.modules["GPyOpt.methods"] = methods

    from pylmnn import lmnn

    minimize = lmnn.minimize

    def minimize_flat(*, x0: np.ndarray, **options: Any) -> Any:
        return minimize(x0=x0.ravel(), **options)

    lmnn.minimize = minimize_flat


def measure(peer: str, data: Path, settings: Settings) -> dict[str, Any]:
    """Fit `peer` on the training rows of `data` and return what was measured."""
    fit, distribution = ADAPTERS[peer]
    settings = dict(settings)
    warm, repeats = settings.pop("warm", False), int(settings.pop("repeats", 1))
    with np.load(data) as arrays:
        X, y = arrays["X_train"], arrays["y_train"]
        X_test, y_test = arrays["X_test"], arrays["y_test"]

    if warm:
        rows = _few_rows(y)
        fit(X[rows], y[rows], settings)

    _reset_peak()
    before = _peak_mb()
    seconds, cpu_seconds = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        components, n_iter = fit(X, y, settings)
        seconds.append(time.perf_counter() - wall)
        cpu_seconds.append(time.process_time() - cpu)
    peak = _peak_mb()

    classifier = KNeighborsClassifier(n_neighbors=3).fit(X @ components.T, y)
    return {
        "peer": peer,
        "n": X.shape[0],
        "p": X.shape[1],
        "settings": settings,
        "seconds": seconds,
        "median_seconds": statistics.median(seconds),
        "cpu_seconds": cpu_seconds,
        "before_mb": before,
        "peak_mb": peak,
        "accuracy": float(classifier.score(X_test @ components.T, y_test)),
        "n_iter": None if n_iter is None else int(n_iter),
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in ("numpy", "scipy", "scikit-learn", distribution)},
        },
    }


def _version(distribution: str) -> str:
    """The installed version of `distribution`; "unknown" for a source tree on the path."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _few_rows(y: np.ndarray, per_class: int = 20) -> np.ndarray:
    """Indices of the first `per_class` rows of every class."""
    return np.concatenate([np.flatnonzero(y == label)[:per_class] for label in np.unique(y)])


def _reset_peak() -> None:
    """Set this process's peak memory back to its present memory, where the system can (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_mb() -> float:
    """Peak resident memory of this process in MB (2**20 bytes).

    Linux's `ru_maxrss` is at least the peak of the process that started this one, so the kernel's
    own high-water mark of this process is read there, and `ru_maxrss` elsewhere.
    """
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (2**20 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Read the command line, measure, and print the result as the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", required=True, choices=sorted(ADAPTERS))
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--settings", default={}, type=json.loads, help="a JSON object")
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.peer, arguments.data, arguments.settings)))


if __name__ == "__main__":
    main()
