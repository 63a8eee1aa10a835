"""What it costs ``certify`` to check a model before it promises anything: processor time with the checks and without.

The checks are replaced by functions that do nothing, and both are timed in turn, so that the pace of the machine, which
changes by the minute, is the same for both. Steps and models of scikit-learn that passed are not asked again as
long as they are what they were, to the last bit; ``first`` is a call that asks all.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.speed.problems import digits
from holdfast import CertifiedKNeighborsClassifier
from holdfast import certify as certify_rows
from holdfast.base import affine
from holdfast.certificates import readers as linear
from holdfast.certificates import scikit_neighbors as scikit_learn

_SHORT, _LONG = 101, 15  # rounds of each, in turn, of calls below and above 100 ms; the medians are compared
_ROWS, _TRAIN = (200, 1_000), 1_000
# Where each check is called from, by name, and what stands in its place.
_CHECKS: dict[str, Callable] = {
    "holdfast.base.affine._checked": lambda step, map_, n_in: map_,
    "holdfast.certificates.readers._check_scores": lambda *_: None,
    "holdfast.certificates.scikit_neighbors.check_distances": lambda *_: None,
    "holdfast.certificates.scikit_neighbors.fingerprint": lambda *_: None,
    "holdfast.certificates.scikit_neighbors._ask_model": lambda *_: None,
    "holdfast.certificates.scikit_neighbors._ask_labels": lambda *_: None,
    "holdfast.certificates.api._just_inside": lambda voter, moves, rows, bounds: (
        rows,
        np.zeros(len(rows), bool),
    ),
    "holdfast.certificates.pipelines.Front._check": lambda *_: None,
    "holdfast.models.classifiers.VotingClassifier.validate": lambda self: None,
}


@contextmanager
def without_checks() -> Iterator[None]:
    """Certify on trust, for as long as this lasts."""
    with ExitStack() as stack:
        for name, nothing in _CHECKS.items():
            stack.enter_context(patch(name, nothing))
        yield


def checks(n_queries: tuple[int, ...] = _ROWS) -> list[dict]:
    """Processor time of certify with its checks and without, in turn: median ms, and the share of the checks."""
    problem = digits()
    X, y = problem.X_train[:_TRAIN], problem.y_train[:_TRAIN]
    models = {
        "1-NN": CertifiedKNeighborsClassifier(n_neighbors=1),
        "3-NN": CertifiedKNeighborsClassifier(n_neighbors=3),
        "scaler, scikit-learn's 1-NN": make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
        "scaler, scikit-learn's 3-NN": make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
        "components, scikit-learn's 1-NN in a tree": make_pipeline(PCA(8), KNeighborsClassifier(1)),
        "scaler, logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
    }
    rows = []
    for name, model in models.items():
        model.fit(X, y)
        for n in n_queries if "3-NN" not in name else n_queries[:1]:
            x = np.resize(problem.X_test, (n, X.shape[1]))  # 540, and some of them again
            first, again, trusted = _in_turn(lambda model=model, x=x: certify_rows(model, x, n_jobs=1))
            row = {"model": name, "n": len(x), "ms_first": first, "ms": again, "ms_without": trusted}
            rows.append(row | {"share_first": 1 - trusted / first, "share": 1 - trusted / again})
    return rows


def _in_turn(run: Callable[[], object]) -> np.ndarray:
    """Median milliseconds of processor time: with all checks, with those that are left the second time, without."""
    run()
    start = time.thread_time()
    run()
    times = np.empty((_SHORT if time.thread_time() - start < 0.1 else _LONG, 3))
    for k in range(len(times)):
        for column in np.roll(range(3), k):
            with ExitStack() as stack:
                if column == 0:
                    for module in (affine, linear, scikit_learn):
                        module._PASSED.clear()
                elif column == 2:
                    stack.enter_context(without_checks())
                start = time.thread_time()
                run()
                times[k, column] = 1e3 * (time.thread_time() - start)
    return np.median(times, axis=0)
