"""What one version of holdfast is asked by :mod:`benchmarks.speed.versions`, in a process of its own.

``python -m benchmarks.speed.version_worker import`` (or ``names``, ``first``, ``memory``, ``floor``) prints one row of
JSON; ``repeat`` reads names of tasks, a line each, and answers each with its seconds.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator

_MODELS = 50  # for first calls, of which there is one more than turns


def main() -> None:
    """Do what the first argument says."""
    asked = sys.argv[1]
    if asked == "repeat":
        repeat()
    else:
        ask = {"import": import_alone, "names": import_names, "first": first, "memory": memory, "floor": floor}[asked]
        print(json.dumps(ask()))


def peak_mb() -> float:
    """Peak memory of this process, in MB."""
    return _status_mb("VmHWM")


def peak_private_mb() -> float:
    """Peak memory of this process without the pages of files that it maps, in MB.

    Most of these are read-only pages of LLVM's library, which all processes that use numba share; how many are counted
    depends on the kernel, which maps those it has in its cache around each one that is touched. Libraries are mapped
    before the peak and stay, so that the difference is taken at the end.
    """
    return peak_mb() - _status_mb("RssFile")


def _status_mb(name: str) -> float:
    """A line of ``/proc/self/status``, in MB."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name)) / 1024


def import_alone() -> dict:
    """``import holdfast``."""
    before = time.perf_counter()
    import holdfast  # noqa: F401

    return {"s": time.perf_counter() - before, "mb": peak_mb()}


def import_names() -> dict:
    """The names that the README's example imports."""
    before = time.perf_counter()
    from holdfast import LMNN, CertifiedKNeighborsClassifier, Perturbation, certify  # noqa: F401

    return {"s": time.perf_counter() - before, "mb": peak_mb()}


def first() -> dict:
    """The README's example, imports included, and the processor seconds it took."""
    before = time.perf_counter()
    model, X, y = _readme()
    from holdfast import certify

    certify(model, X, y)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"s": time.perf_counter() - before, "cpu_s": used.ru_utime + used.ru_stime, "mb": peak_mb()}


def memory() -> dict:
    """Peak memory of a process that fits LMNN on digits."""
    from sklearn.datasets import load_digits

    from holdfast import LMNN

    X, y = load_digits(return_X_y=True)
    before = time.perf_counter()
    LMNN(mu=0.5, perturbation=None).fit(X / 16.0, y)  # the default of version 0.1
    return {"s": time.perf_counter() - before, "mb": peak_mb(), "private_mb": peak_private_mb()}


def floor() -> dict:
    """Peak memory of a process that loads digits and calls one small kernel from the cache, without holdfast."""
    from sklearn.datasets import load_digits

    from benchmarks.speed.one_kernel import first

    X, _ = load_digits(return_X_y=True)
    before = time.perf_counter()
    first(X)
    return {"s": time.perf_counter() - before, "mb": peak_mb(), "private_mb": peak_private_mb()}


def repeat() -> None:
    """Answer names of tasks with seconds until the input ends."""
    tasks = _tasks()
    for line in sys.stdin:
        task = tasks[line.strip()]
        before = time.process_time()
        task()
        print(time.process_time() - before, flush=True)


def _readme(k: int = 3):
    """The model of the README's example, with its k or another, and the rows it certifies."""
    from sklearn.datasets import load_wine
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from holdfast import LMNN, CertifiedKNeighborsClassifier, Perturbation

    X, X_test, y, y_test = train_test_split(*load_wine(return_X_y=True), random_state=0)
    lmnn_pl = LMNN(mu=0.5, perturbation=Perturbation(tau=0.5, weight=4.0))
    model = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(lmnn_pl, n_neighbors=k)).fit(X, y)
    return model, X_test, y_test


def _fitted(step: Callable, classifier: Callable) -> Iterator[tuple]:
    """Models of 999 digits, each without another one, with the rows they were fitted on: none was seen before."""
    import numpy as np
    from sklearn.pipeline import make_pipeline

    from benchmarks.speed.problems import digits

    few = digits()
    X, y = few.X_train[:1000], few.y_train[:1000]
    rows = [(np.delete(X, i, axis=0), np.delete(y, i)) for i in range(_MODELS)]
    return iter([(make_pipeline(step(), classifier(1)).fit(*given), given) for given in rows])


def _tasks() -> dict[str, Callable[[], object]]:
    """Training and certifying on one thread, with data ready."""
    import numpy as np
    from sklearn.decomposition import PCA
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import StandardScaler

    from benchmarks.speed.problems import digits, rows7000
    from holdfast import LMNN, CertifiedKNeighborsClassifier, Perturbation, certify

    few, many = digits(), rows7000()
    wine, X_wine, _ = _readme()
    loss = Perturbation(tau=0.2, weight=4.0)
    one: dict = {
        "n_jobs": 1,
        "budget": 60.0,
    }  # seconds a row: every search ends, so that both versions do the same work

    def model(k: int):
        learner = LMNN(mu=0.5, perturbation=None, n_jobs=1)
        return CertifiedKNeighborsClassifier(learner, n_neighbors=k).fit(few.X_train[:1000], few.y_train[:1000])

    models = {k: model(k) for k in (1, 3)}
    fives, _, _ = _readme(5)
    scaled, tree = (_fitted(StandardScaler, KNeighborsClassifier), _fitted(lambda: PCA(8), KNeighborsClassifier))
    again = {name: next(given) for name, given in (("scaled", scaled), ("tree", tree))}

    def theirs(given):
        return certify(given[0], few.X_test[:200], reference=given[1], **one)

    return {
        "train digits LMNN": lambda: LMNN(mu=0.5, perturbation=None, n_jobs=1).fit(few.X_train, few.y_train),
        "train digits LMNN-PL": lambda: LMNN(mu=0.5, n_jobs=1, perturbation=loss).fit(few.X_train, few.y_train),
        "train 7,000 x 23 LMNN": lambda: LMNN(mu=0.5, perturbation=None, n_jobs=1).fit(many.X_train, many.y_train),
        "train 7,000 x 23 LMNN-PL": lambda: LMNN(mu=0.5, n_jobs=1, perturbation=loss).fit(many.X_train, many.y_train),
        "certify digits k=1": lambda: certify(models[1], few.X_test[:200], **one),
        "certify digits k=3": lambda: certify(models[3], few.X_test[:50], **one),
        "certify digits k=3, lower bound": lambda: certify(models[3], few.X_test[:200], method="lower", **one),
        "certify digits k=1, Linf": lambda: certify(models[1], few.X_test[:20], norm=np.inf, **one),
        "certify digits, scikit-learn's 1-NN": lambda: theirs(again["scaled"]),
        "certify digits, scikit-learn's 1-NN, first call": lambda: theirs(next(scaled)),
        "certify digits, scikit-learn's 1-NN in a tree": lambda: theirs(again["tree"]),
        "certify digits, scikit-learn's 1-NN in a tree, first call": lambda: theirs(next(tree)),
        "certify wine k=3": lambda: certify(wine, X_wine, **one),
        "certify wine k=5": lambda: certify(fives, X_wine, **one),
    }


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
