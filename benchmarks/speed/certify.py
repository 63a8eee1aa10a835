"""Certificates: milliseconds a point on one thread, how many searches end, how tight the lower bound is.

``python -m benchmarks.speed.certify`` prints the table; with ``HOLDFAST_DATA`` naming a folder that holds
``mnist.npz``, exact 1-NN with 60,000 × 784 reference points too, and the memory it takes.
"""

import os
import resource
import time
from argparse import ArgumentParser
from pathlib import Path

import numpy as np

from benchmarks.speed.problems import DATA_VARIABLE, digits
from benchmarks.speed.rows import table, write
from holdfast import LMNN
from holdfast.certificates import Bounds, Budget, NeighborProblem, exact_1nn, exact_knn, knn_lower

COLUMNS = ["problem", "metric", "certificate", "k", "n", "ms", "bar_ms", "closed", "tightness", "peak_mb"]
_TRAIN = 1_000
_CLOSED = 1e-6  # relative gap below which the two bounds are said to meet


def certify(n_queries: int = 200) -> list[dict]:
    """Digits with two metrics, and mnist if it is there."""
    problem = digits()
    X, y, x = problem.X_train[:_TRAIN], problem.y_train[:_TRAIN], problem.X_test[:n_queries]
    p = X.shape[1]
    rng = np.random.default_rng(0)
    rotations = [np.linalg.qr(rng.normal(size=(p, p)))[0] for _ in range(2)]
    metrics = {
        "random": rotations[0] @ np.diag(np.linspace(0.5, 2.0, p)) @ rotations[1],
        "LMNN": LMNN(mu=0.5, perturbation=None).fit(X, y).components_,
    }
    rows = []
    for name, L in metrics.items():
        rows += digits_rows(name, X @ L.T, y, L, x @ L.T)
    return rows + mnist_rows()


def digits_rows(metric: str, U: np.ndarray, y: np.ndarray, L: np.ndarray, queries: np.ndarray) -> list[dict]:
    """Every engine at the sizes of the bars; tightness is the mean of lower / exact."""
    rows = []

    def row(certificate, k, bar, engine, budget=None):
        problem = NeighborProblem(U, y, L, n_neighbors=k)
        bounds, ms = timed(engine, problem, queries, budget)
        rows.append({"problem": "digits", "metric": metric, "certificate": certificate, "k": k, "n": len(queries)})
        rows[-1] |= {"ms": ms, "bar_ms": bar}
        return bounds

    lower = {k: row("lower bound", k, 1.0, knn_lower) for k in (1, 3, 5, 11)}
    of_lower = {k: rows[i] for i, k in enumerate(lower)}
    budget = Budget(500_000)  # about half a second
    for k, bar, engine in ((1, 1.0, exact_1nn), (3, 20.0, exact_knn), (5, 500.0, exact_knn)):
        bounds = row("exact", k, bar, engine, None if engine is exact_1nn else budget)
        rows[-1]["closed"] = float(np.mean(bounds.upper <= bounds.lower * (1 + _CLOSED)))
        of_lower[k]["tightness"] = float(np.mean(lower[k].lower / bounds.upper))
    return rows


def mnist_rows(n_queries: int = 10) -> list[dict]:
    """Exact 1-NN with the 60,000 training points of mnist.npz, for a few of the test points."""
    path = Path(os.environ.get(DATA_VARIABLE, "")) / "mnist.npz"
    if DATA_VARIABLE not in os.environ or not path.is_file():
        return []
    with np.load(path, allow_pickle=False) as stored:
        train, test = stored["train_idx"], stored["test_idx"][:n_queries]
        X, y = stored["X"], stored["y"][train]
        x, X = X[test] / 255.0, X[train] / 255.0
    p = X.shape[1]
    rng = np.random.default_rng(0)
    L = np.linalg.qr(rng.normal(size=(p, p)))[0] * np.linspace(0.5, 2.0, p)
    U, queries = X @ L.T, x @ L.T
    del X
    codes = np.unique(y, return_inverse=True)[1]
    problem = NeighborProblem(U, codes, L)
    bounds, ms = timed(exact_1nn, problem, queries)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    closed = float(np.mean(bounds.upper <= bounds.lower * (1 + _CLOSED)))
    row = {"problem": f"mnist {len(U)} × {p}", "metric": "random", "certificate": "exact", "k": 1, "n": n_queries}
    return [row | {"ms": ms, "bar_ms": 500.0, "closed": closed, "peak_mb": peak}]


def timed(engine, problem: NeighborProblem, queries: np.ndarray, budget: Budget | None = None) -> tuple[Bounds, float]:
    """The bounds, and milliseconds a query on one thread; compiled and charted before the clock starts."""
    prediction = problem.vote(queries)
    engine(problem, queries[:1], prediction[:1], n_jobs=1, budget=budget)
    start = time.perf_counter()
    bounds = engine(problem, queries, prediction, n_jobs=1, budget=budget)
    return bounds, 1e3 * (time.perf_counter() - start) / len(queries)


if __name__ == "__main__":
    ArgumentParser(description=__doc__).parse_args()
    measured = certify()
    write("certify", measured)
    print(table(measured, COLUMNS))
