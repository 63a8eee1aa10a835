"""Every learner, most at their defaults: seconds and peak memory of a fit, each in a fresh process on one thread.

``python -m benchmarks.speed.learners`` prints the table and writes ``results/learners.csv``, from which the
documentation page "Which learner for my data" takes its tables. The peer is scikit-learn's NCA.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.speed.peers import run
from benchmarks.speed.problems import Problem, digits, rows7000, synthetic
from benchmarks.speed.rows import table, write

COLUMNS = ["problem", "learner", "seconds", "peak_mb", "base_mb", "accuracy", "n_iter", "error"]
_PL = {"tau": 0.2, "weight": 20.0}  # rows have unit length
_ONE = {"n_jobs": 1}
_SEEDED = {**_ONE, "random_state": 0}
_PROXIES = {"learner": "ProxyNCA", "n_proxies": 3, "temperature": 0.1, "normalize": True}

# What the tables call it -> (peer, settings).
LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "Euclidean": ("holdfast-learner", {"learner": "Euclidean"}),
    "LMNN": ("holdfast-learner", {"learner": "LMNN", "mu": 0.5, "perturbation": None, **_ONE}),
    "LMNN-PL": ("holdfast-learner", {"learner": "LMNN", "mu": 0.5, "perturbation": _PL, **_ONE}),
    "Reduced LMNN": ("holdfast-learner", {"learner": "Reduced"}),  # behind a PCA that keeps 95 % of the variance
    "SCML": ("holdfast-learner", {"learner": "SCML", **_SEEDED}),
    "SCML-PL": ("holdfast-learner", {"learner": "SCML", "perturbation": _PL, **_SEEDED}),
    "ProxyNCA": ("holdfast-learner", {**_PROXIES, "perturbation": None, **_SEEDED}),
    "ProxyNCA-PL": ("holdfast-learner", {**_PROXIES, "perturbation": _PL, **_SEEDED}),
    "LogDetLMNN": ("holdfast-learner", {"learner": "LogDetLMNN", **_ONE}),
    "CappedTraceLMNN": ("holdfast-learner", {"learner": "CappedTraceLMNN", **_ONE}),
    "SpectralNormLMNN": ("holdfast-learner", {"learner": "SpectralNormLMNN", **_ONE}),
    "DRIFT": ("holdfast-learner", {"learner": "DRIFT", **_ONE}),
    "AML": ("holdfast-learner", {"learner": "AML", **_ONE}),
    "scikit-learn NCA": ("sklearn-nca", {}),
}


def problems() -> list[Problem]:
    """Many classes; many rows; many features."""
    return [digits(), rows7000(), synthetic(1_000, 500, 5)]


def learners(repeats: int, timeout: float) -> list[dict]:
    """One row a learner and problem."""
    rows = []
    for problem in problems():
        with tempfile.TemporaryDirectory() as folder:
            data = problem.save(Path(folder) / "data.npz")
            for name in LEARNERS:
                n, p = problem.X_train.shape
                row = {
                    "problem": problem.name,
                    "n": n,
                    "p": p,
                    "learner": name,
                    **measure(name, data, repeats, timeout),
                }
                print("  ", {key: row.get(key) for key in COLUMNS}, flush=True)
                rows.append(row)
    return rows


def measure(name: str, data: Path, repeats: int, timeout: float) -> dict:
    """The median of ``repeats`` fits, or of one where a fit takes longer than 10 seconds."""
    peer, settings = LEARNERS[name]
    result = run(peer, data, 1, timeout=timeout, warm=True, **settings)
    if repeats > 1 and result.get("median_seconds", 10.0) < 10.0:
        result = run(peer, data, 1, timeout=timeout, warm=True, repeats=repeats, **settings)
    told = {"seconds": result.get("median_seconds"), "base_mb": result.get("before_mb")}
    return told | {key: result.get(key) for key in ("peak_mb", "accuracy", "n_iter", "settings", "error")}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="fits a median is taken of (3)")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds after which a learner is given up (900)")
    chosen = parser.parse_args()
    measured = learners(chosen.repeats, chosen.timeout)
    write("learners", measured)
    print(table(measured, COLUMNS))
