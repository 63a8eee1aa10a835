"""The same certificates and counterfactuals again: with threads, by rows, in batches, under load, on Dask."""

import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, PowerTransformer, StandardScaler

from holdfast import CertifiedKNeighborsClassifier, Threat, certify, counterfactuals
from holdfast.certificates import Certificate
from tests.adversary.setups import quietly
from tests.adversary.tally import Tally


def _columns(scaler) -> ColumnTransformer:
    """Numbers scaled, words as indicators."""
    return ColumnTransformer([("numbers", scaler, slice(0, 8)), ("words", OneHotEncoder(handle_unknown="ignore"), [8])])


MODELS = {
    "holdfast 7": lambda: CertifiedKNeighborsClassifier(n_neighbors=7),
    "scaled holdfast 3": lambda: make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(n_neighbors=3)),
    "components": lambda: make_pipeline(PCA(5), CertifiedKNeighborsClassifier(n_neighbors=2)),
    "normalised": lambda: make_pipeline(Normalizer(), CertifiedKNeighborsClassifier(n_neighbors=1)),
    "table 3": lambda: make_pipeline(_columns(StandardScaler()), CertifiedKNeighborsClassifier(n_neighbors=3)),
    "bent table": lambda: make_pipeline(_columns(PowerTransformer()), LogisticRegression()),
    "weighted 3": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(3, weights="distance")),
    "manhattan 4": lambda: KNeighborsClassifier(4, p=1),
    "within": lambda: RadiusNeighborsClassifier(3.0, weights="distance", outlier_label="most_frequent"),
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "kd_tree 5": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(5, algorithm="kd_tree")),
}
THREATS = {
    "free": {},
    "up": {"only_up": [0, 2], "unit": {0: 2.0}},
    "relations": {"relations": [({0: 1.0, 1: 1.0}, "<=", 12.0), ({2: 1.0, 3: -1.0}, ">=", -9.0)]},
    "box": {"lower": 1.0, "upper": 5.0, "frozen": [3]},
}
_BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
WAYS = ["again", "8 threads", "row by row", "batches", "dask"]


@dataclass(frozen=True)
class Repeat:
    """One case: a model, a norm, a budget that binds, a second way to certify, a threat, and the size asked at."""

    seed: int
    model: str
    norm: str
    budget: int
    way: str
    threat: str = "free"
    at: float | None = None


cases = st.builds(
    Repeat,
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(MODELS)),
    st.sampled_from(["l2", "l2", "linf", "l1"]),
    st.sampled_from([0, 10, 100]),
    st.sampled_from(WAYS),
    st.sampled_from(sorted(THREATS)),
    st.sampled_from([None, None, 0.1, 0.5]),
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
    n = n // 2 if name == "weighted 3" else n  # its bounds look at every pair of points
    X = rng.normal(size=(n, d)) + 3.0
    y = ((X[:, 0] - 3) * (X[:, 1] - 3) > 0).astype(int) + (X[:, 2] > 4)
    rows = rng.normal(size=(2 if name in ("bent table", "weighted 3") else 5, d)) + 3.0
    if "table" in name:
        X, rows = (pd.DataFrame(Z).rename(columns=str).assign(word=rng.choice(["a", "b"], len(Z))) for Z in (X, rows))
    model = MODELS[name]().fit(X, y)
    return model, rows, {"reference": (X, y)} if "tree" in name else {}


def attack(case: Repeat, *ways: str) -> Tally:
    """The second certificate is the first; so are those in further ways."""
    return quietly(_attack, case, ways)


def _attack(case: Repeat, further: tuple[str, ...] = ()) -> Tally:
    tally = Tally()
    model, rows, options = fitted(case.seed, case.model)
    threat = {**THREATS[case.threat]}
    if "table" in case.model and case.threat == "box":
        threat = {"lower": {"0": 1.0}, "upper": {"0": 5.0}, "frozen": ["3"], "free": {"word": ["a", "b"]}}
    norm = {"l2": 2, "linf": np.inf, "l1": 1}[case.norm]
    options |= {"threat": Threat(norm, **threat), "budget": case.budget, "at": case.at}
    first = certify(model, rows, n_jobs=1, **options)
    for way in (case.way, *further):
        compare(tally, first, repeat(way, model, rows, options), way)
    return tally


def repeat(way: str, model, rows, options) -> Certificate:
    """The certificate, in another way."""
    if way == "8 threads":
        return certify(model, rows, n_jobs=8, **options)
    if way in ("row by row", "batches"):
        step = 1 if way == "row by row" else 2
        parts = [certify(model, rows[i : i + step], n_jobs=1, **options) for i in range(0, len(rows), step)]
        return Certificate.concatenate(parts)
    if way == "dask":
        import dask
        import dask.array

        if isinstance(rows, pd.DataFrame):
            import dask.dataframe

            collection = dask.dataframe.from_pandas(rows, npartitions=2)
        else:
            collection = dask.array.from_array(rows, chunks=(3, -1))
        with dask.config.set(scheduler="synchronous"):
            return certify(model, collection, n_jobs=1, **options)
    return certify(model, rows, n_jobs=1, **options)


def compare(tally: Tally, first: Certificate, second: Certificate, way: str) -> None:
    """Bit for bit; witnesses in other batches to 1e-9, where the model's own matrix products round otherwise."""
    batches = way in ("row by row", "batches", "dask")
    for name in ("radius", "upper", "adversarial")[: 2 if batches or hasattr(first.adversarial, "iloc") else 3]:
        a, b = getattr(first, name), getattr(second, name)
        near = batches and name == "upper"
        with np.errstate(invalid="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | (near & (np.abs(a - b) <= 1e-9 * np.abs(a)))
        _count(tally, same.reshape(len(a), -1).all(axis=1), f"{name} ({way})", a, b)
    a, b = np.asarray(first.prediction), np.asarray(second.prediction)
    _count(tally, (a == b) | (batches & (first.radius == 0)), f"prediction ({way})", a, b)


def compare_counterfactuals(tally: Tally, model, rows, threat: Threat) -> None:
    """Answers and bounds with eight threads, and of rows alone."""
    first = counterfactuals(model, rows, threat=threat, n_jobs=1)
    second = counterfactuals(model, rows, threat=threat, n_jobs=8)
    parts = [counterfactuals(model, rows[i : i + 1], threat=threat, n_jobs=1) for i in range(len(rows))]
    for name in ("size", "lower_bound"):
        a, b = np.asarray(getattr(first, name)), np.asarray(getattr(second, name))
        alone = np.concatenate([np.asarray(getattr(part, name)) for part in parts])
        _count(tally, (a == b) | (np.isnan(a) & np.isnan(b)), f"{name} (8 threads)", a, b)
        _count(tally, (a == alone) | (np.isnan(a) & np.isnan(alone)), f"{name} (row by row)", a, alone)


def _count(tally: Tally, same: np.ndarray, what: str, a: np.ndarray, b: np.ndarray) -> None:
    tally.tries += len(same)
    if not same.all():
        i = int(np.argmin(same))
        tally.breaks.append(f"{what} of {(~same).sum()} rows differ: {a[i]} and {b[i]}")
