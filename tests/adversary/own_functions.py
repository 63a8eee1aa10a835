"""Models that answer by functions of their own around known ones: by a subclass, an attribute, or a changed class."""

import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from types import MethodType

import numpy as np
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from holdfast import CertifiedKNeighborsClassifier, certify
from tests.adversary.limits import Limits
from tests.adversary.probes import attack_radius
from tests.adversary.tally import Tally

CLASSIFIERS: dict[str, Callable] = {
    "logistic": LogisticRegression,
    "5-NN": lambda: KNeighborsClassifier(5),
    "ours": lambda: CertifiedKNeighborsClassifier(n_neighbors=5),
}
D, TRAIN, ROWS = 5, 150, 12


@dataclass(frozen=True)
class Case:
    """Where the own function sits, and what it is around."""

    seed: int
    place: str
    classifier: str
    norm: str
    threshold: float


class Careful(Pipeline):
    """Answers 1 only where it is sure enough."""

    threshold = 0.5

    def predict(self, X):
        return (Pipeline.predict_proba(self, X)[:, 1] >= self.threshold).astype(int)


class CarefulSearch(GridSearchCV):
    """The same, as a search."""

    threshold = 0.5

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] >= self.threshold).astype(int)


class Clipping(Pipeline):
    """Inner steps whose images are cut off."""

    threshold = 0.5

    def transform(self, X):
        return np.clip(super().transform(X), -self.threshold, self.threshold)


def _pipeline(last, *steps) -> Pipeline:
    return make_pipeline(*steps or (StandardScaler(),), last)


def _subclass(case: Case, last, X, y):
    model = Careful(_pipeline(last).steps).fit(X, y)
    model.threshold = case.threshold
    return model


def _search(case: Case, last, X, y):
    model = CarefulSearch(_pipeline(last), {"standardscaler__with_std": [True]}, cv=2).fit(X, y)
    model.threshold = case.threshold
    return model


def _inner(case: Case, last, X, y):
    inner = Clipping(make_pipeline(StandardScaler(), PCA()).steps)
    model = _pipeline(last, inner).fit(X, y)
    model[0].threshold = case.threshold
    return model


def _set_predict(part, case: Case):
    part.predict = MethodType(
        lambda self, rows: (self.predict_proba(rows)[:, 1] >= case.threshold).astype(int), part
    )  # fmt: skip


def _attribute(case: Case, last, X, y):
    model = _pipeline(last).fit(X, y)
    _set_predict(model, case)
    return model


def _on_classifier(case: Case, last, X, y):
    model = _pipeline(last).fit(X, y)
    _set_predict(model[-1], case)
    return model


def _on_frozen(case: Case, last, X, y):
    model = FrozenEstimator(_pipeline(last).fit(X, y))
    _set_predict(model, case)
    return model


def _on_scaler(case: Case, last, X, y):
    model = _pipeline(last).fit(X, y)
    scale = model[0]
    scale.transform = MethodType(
        lambda self, rows: np.clip(StandardScaler.transform(self, rows), -4 * case.threshold, 4 * case.threshold), scale
    )
    return model


def _plain(case: Case, last, X, y):
    return _pipeline(last).fit(X, y)


PLACES: dict[str, Callable] = {
    "subclass of Pipeline": _subclass,
    "subclass of GridSearchCV": _search,
    "inner pipeline": _inner,
    "attribute of the pipeline": _attribute,
    "attribute of the classifier": _on_classifier,
    "attribute of a frozen model": _on_frozen,
    "attribute of the scaler": _on_scaler,
    "the class itself": _plain,
}

cases = st.builds(
    Case,
    seed=st.integers(0, 2**32 - 1),
    place=st.sampled_from(sorted(PLACES)),
    classifier=st.sampled_from(sorted(CLASSIFIERS)),
    norm=st.sampled_from(["l2", "linf", "l1"]),
    threshold=st.sampled_from([0.3, 0.6, 0.8, 0.9]),
)


@contextmanager
def changed(case: Case):
    """While it lasts, pipelines answer 1 only where they are sure, if the case says that the class was changed."""
    before = Pipeline.predict
    if case.place == "the class itself":
        Pipeline.predict = lambda self, rows: (self.predict_proba(rows)[:, 1] >= case.threshold).astype(int)
    try:
        yield
    finally:
        Pipeline.predict = before


def attack(case: Case) -> Tally:
    """The answers are the model's own, and no move shorter than a radius changes them; a refusal is a sentence."""
    rng = np.random.default_rng(case.seed)
    X = rng.normal(size=(TRAIN + ROWS, D))
    y = (X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X)) > 0).astype(int)
    rows, X, y = X[TRAIN:], X[:TRAIN], y[:TRAIN]
    limits = Limits(case.norm)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PLACES[case.place](case, CLASSIFIERS[case.classifier](), X, y)
        with changed(case):
            try:
                certificate = certify(model, rows, threat=limits.threat, n_jobs=1)
            except (TypeError, ValueError) as error:
                tally = Tally(refused=1)
                tally.expect("\n" not in str(error) and "certif" in str(error).lower(), f"not a sentence: {error}")
                return tally
            tally = attack_radius(model, rows, certificate, limits, X, rng, rounds=3)
            same = np.array_equal(certificate.prediction, model.predict(rows))
            tally.expect(same, "a prediction is not that of the model")
    return tally
