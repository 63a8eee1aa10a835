"""holdfast against itself: threads, a busy core, the floor, growth with n, and the paper's own problems."""

import multiprocessing
import os
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks.speed.problems import Problem, digits, rows7000, synthetic
from holdfast import LMNN, Perturbation
from holdfast.constraints import knn_triplets
from holdfast.objective import Objective
from holdfast.terms import Pull, Push
from holdfast.threads import single_threaded_blas

PL = Perturbation(tau=0.2, weight=20.0)


def seconds(task: Callable[[], object], repeats: int) -> float:
    """Median time of a task, after one run that does not count."""
    task()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        task()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def _objective(problem: Problem, perturbed: bool, n_jobs: int) -> tuple[Objective, np.ndarray]:
    terms = [(0.1, Pull()), (0.9, Push())] + ([(PL.weight, PL)] if perturbed else [])
    X = np.ascontiguousarray(problem.X_train)
    objective = Objective(X, knn_triplets(X, problem.y_train), terms, n_jobs=n_jobs)
    return objective, 2.0 * np.eye(X.shape[1])


def floor() -> list[dict]:
    """An evaluation against its floor: its matrix products and one pass over each set of pairs."""
    rows = []
    for problem in (digits(), rows7000()):
        for perturbed in (False, True):
            objective, M = _objective(problem, perturbed, n_jobs=1)
            with single_threaded_blas(), objective:
                geometry, X = objective.geometry, objective.geometry.X
                objective(M)
                loops = [loop for loop in (geometry._distance, geometry._slope) if loop is not None]
                products = seconds(lambda: X @ M, 30) + seconds(lambda: X.T @ X, 30)  # noqa: B023
                passes = sum(seconds(lambda loop=loop: loop.forms(X, X), 30) for loop in loops)  # noqa: B023
                whole = seconds(lambda: objective(M), 30)  # noqa: B023
            rows.append(
                {
                    "measure": "evaluation over floor",
                    "problem": f"{problem.name}{' PL' if perturbed else ''}",
                    "ms": 1e3 * whole,
                    "floor_ms": 1e3 * (products + passes),
                    "ratio": whole / (products + passes),
                }
            )
    return rows


def threads() -> list[dict]:
    """What the second core gives, what a busy one takes, and what the machine gives to two fits at once.

    The latter is the most that two threads could gain: two fits on one thread each, in two processes, against
    one. A shared machine may have less than two cores to give.
    """
    rows = []
    for problem in (digits(), rows7000()):
        for perturbation in (None, PL):
            fits = [partial(_fit, problem, perturbation, n_jobs) for n_jobs in (1, 2)]
            times = np.array(
                [[seconds(fit, 3) for fit in fits] for _ in range(3)]
            )  # in turn: the machine's pace changes
            one, two = np.median(times, axis=0)
            with _BusyCore():
                busy = seconds(fits[1], 5)
            name = f"{problem.name}{' PL' if perturbation else ''}"
            rows += [
                {"measure": "one thread over two", "problem": name, "ms": 1e3 * two, "ratio": one / two},
                {"measure": "busy core over idle", "problem": name, "ms": 1e3 * busy, "ratio": busy / two},
                {"measure": "two fits in turn over two at once", "problem": name, "ratio": _two_at_once(fits[0])},
            ]
    return rows


def _fit(problem: Problem, perturbation: Perturbation | None, n_jobs: int) -> object:
    return LMNN(mu=0.9, perturbation=perturbation, n_jobs=n_jobs).fit(problem.X_train, problem.y_train)


def _two_at_once(fit: Callable[[], object]) -> float:
    """How much sooner two processes are done with a fit each than one with both."""
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.starmap(seconds, [(fit, 1)] * 2, chunksize=1)  # compiled, and loaded
        alone = pool.apply(seconds, (fit, 9))
        together = pool.starmap(seconds, [(fit, 9)] * 2, chunksize=1)
    return 2 * alone / max(together)


class _BusyCore:
    """Another process that keeps one core busy."""

    def __enter__(self) -> None:
        self._process = multiprocessing.get_context("spawn").Process(target=_spin, daemon=True)
        self._process.start()
        time.sleep(1.0)

    def __exit__(self, *exc) -> None:
        self._process.kill()
        self._process.join()


def _spin() -> None:
    while True:
        pass


def growth(p: int = 79) -> list[dict]:
    """Time an evaluation, and memory, from 2,500 to 40,000 rows; the log-log slope of the former."""
    rows = []
    for n in (2_500, 5_000, 10_000, 20_000, 40_000):
        problem = synthetic(n, p, 2)
        tracemalloc.start()
        objective, M = _objective(problem, True, n_jobs=2)
        with single_threaded_blas(), objective:
            objective(M)
            peak = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
            took = seconds(lambda: objective(M), 5)  # noqa: B023
        rows.append({"measure": "evaluation", "problem": f"{n} x {p} PL", "ms": 1e3 * took, "array_mb": peak, "n": n})
    slope = np.polyfit(np.log([row["n"] for row in rows]), np.log([row["ms"] for row in rows]), 1)[0]
    return [*rows, {"measure": "log-log slope in n", "problem": f"p = {p}", "ratio": float(slope)}]


def paper() -> list[dict]:
    """LMNN-PL on australian with the authors' parameters, and on mnist after PCA; needs HOLDFAST_DATA."""
    folder = os.environ.get("HOLDFAST_DATA")
    if not folder:
        print("   HOLDFAST_DATA is not set: the paper's problems are left out")
        return []
    with np.load(Path(folder) / "australian.npz") as file:
        X, y = normalize(StandardScaler().fit_transform(file["X"])), file["y"]
    times = []
    with np.load(Path(folder) / "australian_authors_splits.npz") as splits:
        for r in range(20):
            train = splits["train_idx"][r]
            learner = LMNN(
                mu=float(splits["mu"][r]),
                perturbation=Perturbation(tau=float(splits["tau"][r]), weight=float(splits["weight"][r])),
            )
            times.append(seconds(lambda: learner.fit(X[train], y[train]), 3))  # noqa: B023
    rows = [
        {
            "measure": "fit, median of 20 splits",
            "problem": "australian PL",
            "ms": 1e3 * float(np.median(times)),
        }
    ]
    with np.load(Path(folder) / "mnist_2k2k.npz") as file:
        train = file["train_idx"]
        X, y = file["X"][train].astype(float), file["y"][train]
    X = normalize(PCA(141, random_state=0).fit_transform(X))
    learner = LMNN(mu=0.5, perturbation=Perturbation(tau=0.25, weight=30.0))
    took = seconds(lambda: learner.fit(X, y), 3)
    rows.append(
        {
            "measure": f"fit, {learner.n_iter_} iterations to objective {learner.objective_[-1]:.5f}",
            "problem": "mnist_2k2k PCA 141 PL",
            "ms": 1e3 * took,
        }
    )
    return rows
