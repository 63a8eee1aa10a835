"""holdfast against itself: threads, a busy core, the floor, growth with n, and the paper's own problems."""

import multiprocessing
import os
import time
import tracemalloc
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks.speed.problems import Problem, digits, rows7000, synthetic
from holdfast import LMNN, Perturbation
from holdfast.base.blocks import single_threaded_blas
from holdfast.learn import Pull, Push, knn_triplets
from holdfast.learn.objective import Objective

PL = Perturbation(tau=0.2, weight=20.0)


def seconds(task: Callable[[], object], repeats: int) -> float:
    """Median time of a task, after one run that does not count."""
    return float(np.median(in_turn([task], repeats)))


def in_turn(tasks: list[Callable[[], object]], repeats: int, in_a_row: int = 1) -> np.ndarray:
    """Times of tasks that take turns, of shape (n_tasks, repeats), after one turn that does not count.

    The pace of a machine changes: what is compared is measured side by side. A task that is repeated in real use, and
    finds its data in the cache, is done some times in a row, and the first of these does not count.
    """
    times = np.empty((len(tasks), 1 + repeats))
    for turn in range(1 + repeats):
        for number, task in enumerate(tasks):
            if in_a_row > 1:
                task()
            began = time.perf_counter()
            for _ in range(max(in_a_row - 1, 1)):
                task()
            times[number, turn] = (time.perf_counter() - began) / max(in_a_row - 1, 1)
    return times[:, 1:]


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
                geometry, X = objective.geometry, np.ascontiguousarray(problem.X_train)
                passes = [partial(loop.forms, X, X, slice(0, len(loop.pairs))) for loop in geometry._loops]
                least = [partial(np.dot, X, M), partial(np.dot, X.T, X), *passes]
                times = in_turn([partial(objective, M), *least], 25, in_a_row=5)
            whole, lowest = times[0], times[1:].sum(axis=0)
            rows.append(
                {
                    "measure": "evaluation over floor",
                    "problem": f"{problem.name}{' PL' if perturbed else ''}",
                    "ms": 1e3 * float(np.median(whole)),
                    "floor_ms": 1e3 * float(np.median(lowest)),
                    "ratio": float(np.median(whole / lowest)),
                }
            )
    return rows


def threads() -> list[dict]:
    """Speed-up by a second core, slow-down by a busy one, and the speed-up of two fits at once.

    The latter is the most that two threads could gain: two fits on one thread each, in two processes, against
    one. A shared machine may have less than two cores to give.
    """
    rows = []
    for problem in (digits(), rows7000()):
        for perturbation in (None, PL):
            fits = [partial(_fit, problem, perturbation, n_jobs) for n_jobs in (1, 2)]
            one, two = in_turn(fits, 15)
            ms = 1e3 * float(np.median(two))
            with _BusyCore():
                busy = 1e3 * seconds(fits[1], 9)
            name = f"{problem.name}{' PL' if perturbation else ''}"
            gain = float(np.median(one / two))
            rows += [
                {"measure": "one thread over two", "problem": name, "ms": ms, "ratio": gain},
                {"measure": "busy core over idle", "problem": name, "ms": busy, "ratio": busy / ms},
                {"measure": "two fits in turn over two at once", "problem": name, "ratio": _two_at_once(fits[0])},
            ]
    return rows


def _fit(problem: Problem, perturbation: Perturbation | None, n_jobs: int) -> object:
    return LMNN(mu=0.9, perturbation=perturbation, n_jobs=n_jobs).fit(problem.X_train, problem.y_train)


def _two_at_once(fit: Callable[[], object]) -> float:
    """Speed-up of two fits in two processes at once over the same fits in turn."""
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
    sizes = (2_500, 5_000, 10_000, 20_000, 40_000)
    peaks, objectives = [], []
    with ExitStack() as stack:
        stack.enter_context(single_threaded_blas())
        for n in sizes:
            problem = synthetic(n, p, 2)
            tracemalloc.start()
            objective, M = _objective(problem, True, n_jobs=2)
            objectives.append(partial(stack.enter_context(objective), M))
            objectives[-1]()
            peaks.append(tracemalloc.get_traced_memory()[1] / 2**20)
            tracemalloc.stop()
        times = in_turn(objectives, 7, in_a_row=5)
    slopes = np.polyfit(np.log(sizes), np.log(times), 1)[0]  # of every turn
    rows = [
        {"measure": "evaluation", "problem": f"{n} x {p} PL", "n": n, "ms": 1e3 * np.median(took), "array_mb": peak}
        for n, took, peak in zip(sizes, times, peaks, strict=True)
    ]
    return [*rows, {"measure": "log-log slope in n", "problem": f"p = {p}", "ratio": float(np.median(slopes))}]


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
