"""Linear classifiers: exact in every norm, in the units of the pipeline's input, against an independent solver."""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import SVC, LinearSVC

from holdfast import certify

MODELS = {
    "logistic": LogisticRegression(max_iter=2000),
    "svc": LinearSVC(random_state=0, max_iter=20_000),
    "ridge": RidgeClassifier(),
    "sgd": SGDClassifier(random_state=0),
    "lda": LinearDiscriminantAnalysis(),
    "perceptron": Perceptron(random_state=0),
    "centroid": NearestCentroid(),
}
DATA = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}
NORMS = {"l2": 2, "linf": np.inf, "l1": 1, "ellipsoid": None}


@cache
def fitted(name, data, *steps):
    X, y = DATA[data](return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    return make_pipeline(StandardScaler(), *steps, clone(MODELS[name])).fit(X[::2], labels[::2]), X[1::6]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", MODELS)
def test_radii_are_exact(name, data, norm):
    model, X = fitted(name, data)
    d = X.shape[1]
    A0 = np.diag(1 / X.var(axis=0)) + 0.1 * np.min(1 / X.var(axis=0))
    certificate = certify(model, X, norm=A0 if norm == "ellipsoid" else NORMS[norm])
    np.testing.assert_array_equal(certificate.prediction, model.predict(X))
    assert certificate.exact.all()
    assert (model.predict(certificate.adversarial) != certificate.prediction).all()
    # Nothing a hair inside the radius changes the answer: towards the witness and at random.
    rng = np.random.default_rng(0)
    steps = np.concatenate([(certificate.adversarial - X)[None], rng.normal(size=(20, len(X), d)) * X.std(axis=0)])
    if norm == "ellipsoid":
        lengths = np.sqrt(np.einsum("smd,de,sme->sm", steps, A0, steps))
    else:
        lengths = np.linalg.norm(steps, ord=NORMS[norm], axis=2)
    moved = X + steps * ((certificate.radius * (1 - 1e-12)) / lengths)[..., None]
    assert (model.predict(moved.reshape(-1, d)).reshape(21, -1) == certificate.prediction).all()


def test_a_box_against_linear_programs():
    model, X = fitted("logistic", "iris")
    lower, upper = X.min(axis=0), X.max(axis=0)
    certificate = certify(model, X, norm=np.inf, lower=lower, upper=upper, frozen=[1])
    scaler, last = model[0], model[-1]
    W, b = last.coef_ / scaler.scale_, last.intercept_ - last.coef_ @ (scaler.mean_ / scaler.scale_)
    scores, y = X @ W.T + b, np.searchsorted(model.classes_, certificate.prediction)
    for t, x in enumerate(X):
        best = np.inf
        for c in {0, 1, 2} - {y[t]}:
            # min R : (w_c − w_y)·δ ≥ s_y − s_c, |δ_i| ≤ R, inside the box
            rows = [np.append(W[y[t]] - W[c], 0.0)]
            rows += [np.append(sign * np.eye(4)[i], -1.0) for i in range(4) for sign in (1, -1)]
            levels = [scores[t, c] - scores[t, y[t]], *np.zeros(8)]
            bounds = [(lo - v, up - v) for lo, up, v in zip(lower, upper, x, strict=True)] + [(0, None)]
            bounds[1] = (0, 0)
            solved = linprog([0, 0, 0, 0, 1], A_ub=rows, b_ub=levels, bounds=bounds, method="highs")
            best = min(best, solved.fun if solved.status == 0 else np.inf)
        if np.isfinite(best):
            assert certificate.radius[t] == pytest.approx(best, rel=1e-7)
        else:
            assert certificate.radius[t] == np.inf
            assert np.isinf(certificate.upper[t])
    assert np.isfinite(certificate.upper).any()


@pytest.mark.parametrize("name", ["logistic", "ridge", "centroid"])
def test_behind_pca_and_a_normalizer(name):
    model, X = fitted(name, "wine", PCA(3), Normalizer())
    X = X[::4]
    certificate = certify(model, X)
    assert (certificate.radius > 0).any()
    assert (certificate.radius <= certificate.upper).all()
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(50, *X.shape))
    steps *= (certificate.radius / np.linalg.norm(steps, axis=2))[..., None]
    moved = (X + steps).reshape(-1, X.shape[1])
    assert (model.predict(moved).reshape(50, -1) == certificate.prediction).all()


def test_a_linear_svc_of_two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVC(kernel="linear")).fit(X[::4], y[::4])
    certificate = certify(model, X[1::10])
    assert certificate.exact.all()
    assert (certificate.radius > 0).all()


def test_what_cannot_be_certified_is_refused_by_name():
    X, y = load_iris(return_X_y=True)
    cases = [
        (SVC(), "SVC\\(kernel='rbf'\\)"),
        (SVC(kernel="linear"), "use LinearSVC or LogisticRegression"),
        (RandomForestClassifier(n_estimators=2), "RandomForestClassifier cannot be certified"),
    ]
    for model, message in cases:
        with pytest.raises(TypeError, match=message):
            certify(model.fit(X, y), X)
    with pytest.raises(ValueError, match="only metric='euclidean'"):
        certify(NearestCentroid(metric="manhattan").fit(X, y), X)
    with pytest.raises(ValueError, match="unequal priors"):
        certify(NearestCentroid(priors=[0.5, 0.25, 0.25]).fit(X, y), X)


def test_a_subclass_that_predicts_otherwise_is_refused():
    class Contrary(LogisticRegression):
        def predict(self, X):
            return super().predict(X)[::-1]

    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="Contrary cannot be certified"):
        certify(Contrary(max_iter=500).fit(X, y), X)
