"""Verdicts at one size for every test row: stable, not stable (a move that changes the vote), or undecided."""

import csv
import time
from pathlib import Path

import numpy as np

from benchmarks.knn_linf.sets import Entry, Prepared
from holdfast.certificates import Budget, NeighborProblem, Threat, exact_knn
from holdfast.certificates.columns import Encoding

PUBLISHED = Path(__file__).with_name("published") / "knn_linf.csv"
_LEAST = 1e-9  # in place of ε = 0, where only the category changes: verdicts are about moves of some size


def verdicts(data: Prepared, k: int, epsilon: float, work: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions; which rows no move within ε changes; which rows some move does."""
    d = data.X_train.shape[1]
    moves = Threat(np.inf, frozen=data.frozen if data.frozen.any() else None).bind(Encoding(d))
    problem = NeighborProblem(data.X_train, data.y_train, np.eye(d), n_neighbors=k, moves=moves, ties="lowest")
    prediction = problem.vote(data.X_test)
    at = max(epsilon, _LEAST)
    budget = Budget(work, at=at)
    stable, changes = np.ones(len(prediction), bool), np.zeros(len(prediction), bool)
    for value in data.values or [None]:
        rows = data.X_test if value is None else data.X_test.copy()
        if value is not None:
            rows[:, data.sensitive] = value
        todo = np.flatnonzero(~changes)
        found = exact_knn(problem, rows[todo], prediction[todo], inputs=rows[todo], n_jobs=1, budget=budget)
        stable[todo] &= found.lower > at
        changes[todo] |= found.upper <= at
    return prediction, stable & ~changes, changes


def measure(entry: Entry, data: Prepared, k: int, epsilon: float, work: int) -> list[dict]:
    """One row for each property of the published tables."""
    start = time.process_time()
    prediction, stable, changes = verdicts(data, k, epsilon, work)
    ms = 1e3 * (time.process_time() - start) / len(prediction)
    undecided = ~stable & ~changes
    right = prediction == data.y_test
    properties = {"individual": stable} if data.values else {"stability": stable, "robustness": stable & right}
    told = published()
    rows = []
    for name, held in properties.items():
        knave, optcert = told.get((entry.name, name, epsilon, k), (None, None))
        rows.append({
            "dataset": entry.file, "property": name, "epsilon": epsilon, "k": k, "rows": len(prediction),
            "ours": round(100 * float(held.mean()), 2), "undecided": round(100 * float(undecided.mean()), 2),
            "knave": knave, "optcert": optcert, "ms_a_row": round(ms, 3), "work": work,
        })  # fmt: skip
    return rows


def published() -> dict:
    """(set, property, ε, k) → the shares of kNAVe and OptCert, in per cent."""
    with PUBLISHED.open(encoding="utf-8") as file:
        return {
            (row["dataset"], row["property"], float(row["epsilon"]), int(row["k"])): (row["knave"], row["optcert"])
            for row in csv.DictReader(file)
        }
