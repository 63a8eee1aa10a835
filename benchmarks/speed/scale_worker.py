"""One measurement of the scale benchmark, in a process of its own; prints one line of JSON.

``python -m benchmarks.speed.scale_worker '{"task": "fit", "n": 10000}'``; the tasks are the functions in TASKS.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from benchmarks.speed.problems import Problem
from benchmarks.speed.worker import _peak_mb, _reset_peak
from holdfast import LMNN, CertifiedKNeighborsClassifier, Euclidean, Perturbation, load_dataset
from holdfast.learn import NeighborSearch, knn_triplets
from holdfast.learn.solvers import LBFGS, StochasticLBFGS

HELD_OUT = 2_000
REFERENCE = 100_000  # rows that vote where metrics learned from different numbers of rows are compared
SOLVERS = {"LBFGS": LBFGS, "StochasticLBFGS": StochasticLBFGS}
_CLASSES, _CLUSTERS, _INFORMATIVE = 10, 4, 15


def clusters(n: int, p: int = 50) -> Problem:
    """Ten classes of four Gaussian clusters in 15 features, and p − 15 features of noise twice as loud.

    All features have about unit variance. Held-out rows come first, so they are the same for every n, and
    the training rows of a smaller n are the first of a larger.
    """
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=1.6, size=(_CLASSES * _CLUSTERS, _INFORMATIVE))
    cluster = np.random.default_rng(1).integers(0, len(centres), HELD_OUT + n)
    X = np.random.default_rng(2).normal(size=(HELD_OUT + n, p))
    X[:, :_INFORMATIVE] += centres[cluster]
    X[:, :_INFORMATIVE] /= np.sqrt(1.0 + 1.6**2)
    y = cluster % _CLASSES
    return Problem(f"clusters-{n}x{p}", X[HELD_OUT:], y[HELD_OUT:], X[:HELD_OUT], y[:HELD_OUT])


def images(name: str) -> Problem:
    """A set of images, PCA to 141 features, rows of unit length, with its customary split."""
    data = load_dataset(name)
    X = np.asarray(data.X, dtype=np.float32) / 255.0
    reduction = PCA(141, random_state=0).fit(X[data.train_idx])
    Z = normalize(reduction.transform(X).astype(np.float64))
    y = np.unique(data.y, return_inverse=True)[1]
    train, test = data.train_idx, data.test_idx
    return Problem(f"{name}-{len(train)}x141", Z[train], y[train], Z[test], y[test])


class Clock:
    """Wall and processor seconds by stage."""

    def __init__(self) -> None:
        self.row: dict = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is inside."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.row[f"{name}_s"] = time.perf_counter() - wall
        self.row[f"{name}_cpu_s"] = time.process_time() - cpu


def fit(
    n: int | None = None,
    images_of: str | None = None,
    learner: str = "LMNN",
    perturbation: dict | None = None,
    neighbors: dict | None = None,
    solver: str = "LBFGS",
    mu: float = 0.5,
) -> dict:
    """Mine, fit, and predict held-out rows: seconds by stage, peak memory and accuracy."""
    problem = clusters(n) if n is not None else images(str(images_of))
    X, y = problem.X_train, problem.y_train
    _compiled(perturbation)
    _reset_peak()
    before, clock = _peak_mb(), Clock()
    if learner == "Euclidean":
        fitted = Euclidean().fit(X)
    else:
        search = NeighborSearch(**(neighbors or {}))
        loss = None if perturbation is None else Perturbation(**perturbation)
        with clock.stage("mine"):
            triplets = knn_triplets(X, y, neighbors=search)
        recipe = LMNN(mu=mu, perturbation=loss, solver=SOLVERS[solver]())
        with clock.stage("fit"):
            fitted = recipe.fit(X, triplets=triplets)
        clock.row |= {"n_triplets": len(triplets), "n_iter": fitted.n_iter_, "n_evaluations": fitted.n_evaluations_}
        clock.row |= {"objective": float(fitted.objective_[-1])}
        del triplets
    clock.row |= {"problem": problem.name, "rows": len(X), "base_mb": before, "peak_mb": _peak_mb()}
    for name, size in (("accuracy", len(X)), ("accuracy_100k", min(len(X), REFERENCE))):
        vote = CertifiedKNeighborsClassifier(fitted, n_neighbors=3).fit(X[:size], y[:size])
        with clock.stage("predict" if name == "accuracy" else "predict_100k"):
            clock.row[name] = float(vote.score(problem.X_test, problem.y_test))
    return clock.row


def certify(n: int, n_neighbors: int, method: str, n_queries: int = 1_000) -> dict:
    """Certify held-out rows against n reference rows under a metric learned from 10,000 of them."""
    problem = clusters(n)
    X, y = problem.X_train, problem.y_train
    learner = LMNN(perturbation=Perturbation(tau=0.5, weight=4.0)).fit(X[:10_000], y[:10_000])
    few = CertifiedKNeighborsClassifier(learner, n_neighbors).fit(X[:500], y[:500])
    few.certify(problem.X_test[:2], method=method)
    model = CertifiedKNeighborsClassifier(learner, n_neighbors).fit(X, y)
    rows = problem.X_test[:n_queries]
    _reset_peak()
    before, clock = _peak_mb(), Clock()
    with clock.stage("predict"):
        model.predict(rows)
    with clock.stage("certify"):
        certificate = model.certify(rows, method=method)
    clock.row |= {"problem": problem.name, "rows": n, "n_queries": len(rows), "base_mb": before, "peak_mb": _peak_mb()}
    clock.row |= {"median_radius": float(np.median(certificate.radius)), "exact": float(certificate.exact.mean())}
    return clock.row


def _compiled(perturbation: dict | None) -> None:
    """A small fit and prediction, so that no compilation is timed."""
    small = clusters(500)
    loss = None if perturbation is None else Perturbation(**perturbation)
    few = LMNN(perturbation=loss).fit(small.X_train, small.y_train)
    CertifiedKNeighborsClassifier(few, 3).fit(small.X_train, small.y_train).predict(small.X_test[:5])


TASKS: dict[str, Callable[..., dict]] = {"fit": fit, "certify": certify}

if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    print(json.dumps(TASKS[asked.pop("task")](**asked)))
