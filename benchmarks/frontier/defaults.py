"""What a learner at its defaults gains over the Euclidean distance, for a vote of 3 neighbours.

    python -m benchmarks.frontier.defaults [--rounds 5] [--only LMNN] [--sets iris wine]

Rows go to ``results/defaults.csv``; those that are there are not made again.
"""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from threadpoolctl import threadpool_limits

from benchmarks.frontier.data import LARGER, UCI, Part, development_round
from benchmarks.speed import peers
from benchmarks.yang.store import write
from holdfast import (
    AML,
    DRIFT,
    LMNN,
    SCML,
    CappedTraceLMNN,
    CertifiedKNeighborsClassifier,
    CertifiedPrototypeClassifier,
    Euclidean,
    FixedMetric,
    LogDetLMNN,
    MarginLVQ,
    MultiPass,
    Perturbation,
    ProxyNCA,
    SpectralNormLMNN,
)
from holdfast.learn.learner import largest_tau
from holdfast.learn.solvers import ProjectedGradient

RESULTS = Path(__file__).with_name("results") / "defaults.csv"
_PEER_SECONDS = 300.0  # after which a peer is given up


def _with_loss(learner, share: float, strength: float):
    """The learner with a perturbation loss whose scale is taken from the data: ``weight · tau² = strength``."""

    def made(X: np.ndarray, y: np.ndarray):
        tau = share * largest_tau(learner, X, y)
        return clone(learner).set_params(perturbation=Perturbation(tau, strength / tau**2))

    return made


METHODS = {
    "Euclidean": Euclidean(),
    "LMNN()": LMNN(),
    "LMNN(mu=0.5)": LMNN(mu=0.5, perturbation=None),
    "LMNN(mu=0.5), paper's schedule": LMNN(mu=0.5, perturbation=None, solver=ProjectedGradient()),
    "LMNN(mu=0.7)": LMNN(mu=0.7, perturbation=None),
    "LMNN(mu=0.9)": LMNN(mu=0.9, perturbation=None),
    "LMNN(mu=0.95)": LMNN(mu=0.95, perturbation=None),
    "LMNN(mu=0.9), paper's schedule": LMNN(mu=0.9, perturbation=None, solver=ProjectedGradient()),
    "MultiPass(LMNN(mu=0.9))": MultiPass(LMNN(mu=0.9, perturbation=None)),
    "MultiPass(LMNN(mu=0.7))": MultiPass(LMNN(mu=0.7, perturbation=None)),
    "LMNN(mu=0.9) + small loss": _with_loss(LMNN(mu=0.9), 0.5, 0.5),
    "LMNN(mu=0.9) + loss": _with_loss(LMNN(mu=0.9), 0.5, 2.0),
    "LMNN(mu=0.5) + loss": _with_loss(LMNN(mu=0.5), 0.5, 2.0),
    "LMNN(mu=0.9) + wide loss": _with_loss(LMNN(mu=0.9), 1.0, 1.0),
    "SCML()": SCML(random_state=0),
    "CappedTraceLMNN()": CappedTraceLMNN(),
    "LogDetLMNN()": LogDetLMNN(),
    "SpectralNormLMNN()": SpectralNormLMNN(),
    "DRIFT()": DRIFT(),
    "AML()": AML(),
    "ProxyNCA()": ProxyNCA(random_state=0),  # votes by its prototypes
    "ProxyNCA(), 3 neighbours": ProxyNCA(random_state=0),
    "ProxyNCA(3, 0.1), no loss": ProxyNCA(3, 0.1, None, True, random_state=0),
    "ProxyNCA(3, 0.1), no loss, 3 neighbours": ProxyNCA(3, 0.1, None, True, random_state=0),
    "MarginLVQ()": MarginLVQ(random_state=0),
}
PEERS = ("pylmnn", "scikit-learn NCA")


def measure(method: str, part: Part) -> dict:
    """Accuracy of the vote, rank of the metric and seconds of the fit."""
    if method == "pylmnn":
        return _pylmnn(part)
    began = time.perf_counter()
    if method == "scikit-learn NCA":
        learner = NeighborhoodComponentsAnalysis(random_state=0).fit(part.X_train, part.y_train)
    else:
        made = METHODS[method]
        learner = made(part.X_train, part.y_train) if callable(made) else clone(made)
        learner.fit(part.X_train, part.y_train)
    seconds = time.perf_counter() - began
    if isinstance(learner, ProxyNCA | MarginLVQ) and "neighbours" not in method:
        voter = CertifiedPrototypeClassifier(learner)
    elif isinstance(learner, ProxyNCA):  # its metric alone
        voter = CertifiedKNeighborsClassifier(FixedMetric(learner.components_.T @ learner.components_), 3)
    else:
        voter = CertifiedKNeighborsClassifier(learner, 3)
    voter.fit(part.X_train, part.y_train)
    accuracy = float(voter.score(part.X_test, part.y_test))
    return {"accuracy": accuracy, "rank": int(np.linalg.matrix_rank(voter.components_)), "seconds": seconds}


def _pylmnn(part: Part) -> dict:
    """The peer in its own environment; see :mod:`benchmarks.speed.peers`."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data.npz")
        codes = np.unique(np.concatenate([part.y_train, part.y_test]), return_inverse=True)[1]
        n = len(part.y_train)
        np.savez(data, X_train=part.X_train, y_train=codes[:n], X_test=part.X_test, y_test=codes[n:])
        found = peers.run("pylmnn", data, 1, timeout=_PEER_SECONDS, repeats=1, warm=False)
    if "error" in found:
        return {"accuracy": np.nan, "rank": 0, "seconds": _PEER_SECONDS, "note": found["error"]}
    return {"accuracy": found["accuracy"], "rank": 0, "seconds": float(np.min(found["seconds"]))}


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="splits of a UCI set; larger ones have at most 2")
    parser.add_argument("--only", nargs="*", default=[*METHODS, *PEERS])
    parser.add_argument("--sets", nargs="*", default=[*UCI, *(name for name in LARGER if name not in UCI)])
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = pd.read_csv(given.results).to_dict("records") if given.results.is_file() else []
    done = {(row["dataset"], row["method"], row["round"]) for row in rows}
    for name in given.sets:
        for number in range(given.rounds if name in UCI and name != "credit" else min(given.rounds, 2)):
            for method in given.only:
                if (name, method, number) in done:
                    continue
                part = development_round(name, number)
                with threadpool_limits(1), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = measure(method, part)
                rows.append({"dataset": name, "method": method, "round": number, **found})
            write(given.results, pd.DataFrame(rows))
    table = pd.DataFrame(rows).pivot_table(index="dataset", columns="method", values="accuracy") * 100
    print(table.round(1).to_string())
    print(table.mean().round(2).to_string())


if __name__ == "__main__":
    main()
