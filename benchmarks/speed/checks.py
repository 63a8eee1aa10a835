"""What it costs ``certify`` to check a model before it promises anything: processor time with the checks and without.

The checks are replaced by functions that do nothing, and both are timed in turn, so that the pace of the machine, which
changes by the minute, is the same for both.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.speed.problems import digits
from holdfast import CertifiedKNeighborsClassifier
from holdfast import certify as certify_rows

_ROUNDS = 7  # of each, in turn; the medians are compared
_ROWS, _TRAIN = 200, 1_000
# Where each check is called from, by name, and what stands in its place.
_CHECKS: dict[str, Callable] = {
    "holdfast.affine._checked": lambda step, map_, n_in: map_,
    "holdfast.certificates.voting.linear._check_scores": lambda *_: None,
    "holdfast.certificates.voting.scikit_learn.check_distances": lambda *_: None,
    "holdfast.certificates.voting.reference._ask_model": lambda *_: None,
    "holdfast.certificates.folding.front.Front._check": lambda *_: None,
    "holdfast.models.base.VotingClassifier.validate": lambda self: None,
}


@contextmanager
def without_checks() -> Iterator[None]:
    """Certify on trust, for as long as this lasts."""
    with ExitStack() as stack:
        for name, nothing in _CHECKS.items():
            stack.enter_context(patch(name, nothing))
        yield


def checks(n_queries: int = _ROWS) -> list[dict]:
    """Processor time of certify with its checks and without, in turn: median ms, and the share of the checks."""
    problem = digits()
    X, y, x = problem.X_train[:_TRAIN], problem.y_train[:_TRAIN], problem.X_test[:n_queries]
    models = {
        "1-NN": CertifiedKNeighborsClassifier(n_neighbors=1),
        "3-NN": CertifiedKNeighborsClassifier(n_neighbors=3),
        "scaler, scikit-learn's 1-NN": make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
        "scaler, scikit-learn's 3-NN": make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
        "scaler, logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
    }
    rows = []
    for name, model in models.items():
        model.fit(X, y)
        checked, trusted = _in_turn(lambda model=model: certify_rows(model, x, n_jobs=1))
        rows.append({"model": name, "n": len(x), "ms": checked, "ms_without": trusted, "share": 1 - trusted / checked})
    return rows


def _in_turn(run: Callable[[], object]) -> tuple[float, float]:
    """Median milliseconds of processor time, with checks and without."""
    run()
    times = np.empty((_ROUNDS, 2))
    for k in range(_ROUNDS):
        for column in (0, 1) if k % 2 else (1, 0):
            with ExitStack() as stack:
                if column:
                    stack.enter_context(without_checks())
                start = time.thread_time()
                run()
                times[k, column] = 1e3 * (time.thread_time() - start)
    return float(np.median(times[:, 0])), float(np.median(times[:, 1]))
