"""The same certificates again: with threads, by rows, in batches, under load, on Dask."""

import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from holdfast import CertifiedKNeighborsClassifier, certify
from holdfast.certificates import Certificate
from tests.adversary.setups import quietly
from tests.adversary.tally import Tally

MODELS = {
    "holdfast 7": lambda: CertifiedKNeighborsClassifier(n_neighbors=7),
    "scaled holdfast 3": lambda: make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(n_neighbors=3)),
    "components": lambda: make_pipeline(PCA(5), CertifiedKNeighborsClassifier(n_neighbors=2)),
    "normalised": lambda: make_pipeline(Normalizer(), CertifiedKNeighborsClassifier(n_neighbors=1)),
    "kd_tree 5": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(5, algorithm="kd_tree")),
}
_BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
WAYS = ["again", "8 threads", "row by row", "batches", "dask"]


@dataclass(frozen=True)
class Repeat:
    """One case: a model, a norm, a budget that binds, and a second way to certify."""

    seed: int
    model: str
    norm: str
    budget: int
    way: str


cases = st.builds(
    Repeat,
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(MODELS)),
    st.sampled_from(["l2", "l2", "linf", "l1"]),
    st.sampled_from([0, 10, 100]),
    st.sampled_from(WAYS),
)


@contextmanager
def load(processes: int):
    """Busy processes beside, which end with this one."""
    busy = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def fitted(seed: int, name: str, n: int = 80, d: int = 8):
    """A model, rows to certify, and the options it needs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3.0
    y = ((X[:, 0] - 3) * (X[:, 1] - 3) > 0).astype(int) + (X[:, 2] > 4)
    model = MODELS[name]().fit(X, y)
    return model, rng.normal(size=(9, d)) + 3.0, {"reference": (X, y)} if "tree" in name else {}


def attack(case: Repeat) -> Tally:
    """The second certificate is the first."""
    return quietly(_attack, case)


def _attack(case: Repeat) -> Tally:
    tally = Tally()
    model, rows, options = fitted(case.seed, case.model)
    options |= {"norm": case.norm, "budget": case.budget}
    first = certify(model, rows, n_jobs=1, **options)
    compare(tally, first, repeat(case.way, model, rows, options), case.way)
    return tally


def repeat(way: str, model, rows, options) -> Certificate:
    """The certificate, in another way."""
    if way == "8 threads":
        return certify(model, rows, n_jobs=8, **options)
    if way in ("row by row", "batches"):
        step = 1 if way == "row by row" else 4
        parts = [certify(model, rows[i : i + step], n_jobs=1, **options) for i in range(0, len(rows), step)]
        return Certificate.concatenate(parts)
    if way == "dask":
        import dask
        import dask.array

        with dask.config.set(scheduler="synchronous"):
            return certify(model, dask.array.from_array(rows, chunks=(6, -1)), n_jobs=1, **options)
    return certify(model, rows, n_jobs=1, **options)


def compare(tally: Tally, first: Certificate, second: Certificate, way: str) -> None:
    """Bit for bit; in other batches, to 1e-9, because there a matrix product has other bits."""
    batches = way in ("row by row", "batches", "dask")
    for name in ("radius", "upper") if batches else ("radius", "upper", "adversarial"):
        a, b = getattr(first, name), getattr(second, name)
        with np.errstate(invalid="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | (batches & (np.abs(a - b) <= 1e-9 * np.abs(a)))
        _count(tally, same.reshape(len(a), -1).all(axis=1), f"{name} ({way})", a, b)
    a, b = np.asarray(first.prediction), np.asarray(second.prediction)
    _count(tally, (a == b) | (batches & (first.radius == 0)), f"prediction ({way})", a, b)


def _count(tally: Tally, same: np.ndarray, what: str, a: np.ndarray, b: np.ndarray) -> None:
    tally.tries += len(same)
    if not same.all():
        i = int(np.argmin(same))
        tally.breaks.append(f"{what} of {(~same).sum()} rows differ: {a[i]} and {b[i]}")
