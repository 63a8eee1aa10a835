"""Contract of every kind of model: its vote is its ``predict``, and its certificate holds."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from holdfast import CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier, Euclidean, Threat, certify
from holdfast.certificates import Moves
from holdfast.certificates.columns import Encoding
from holdfast.certificates.readers import voter_for

DATA = load_iris(return_X_y=True)
MODELS = {
    "neighbors": CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=3),
    "prototypes": CertifiedPrototypeClassifier(Euclidean()),
    "scikit-learn's neighbors": KNeighborsClassifier(3),
    "weighted": KNeighborsClassifier(5, weights="distance"),
    "manhattan": KNeighborsClassifier(1, p=1),
    "minkowski": KNeighborsClassifier(3, p=3, metric_params={"w": [1.0, 2.0, 0.5, 1.0]}),
    "radius": RadiusNeighborsClassifier(1.0, outlier_label="most_frequent"),
    "weighted radius": RadiusNeighborsClassifier(1.0, weights="distance", outlier_label=0),
    "centroids": NearestCentroid(),
    "logistic": LogisticRegression(max_iter=1000),
    "svc": LinearSVC(),
    "ridge": RidgeClassifier(),
    "sgd": SGDClassifier(random_state=0),
    "perceptron": Perceptron(random_state=0),
    "lda": LinearDiscriminantAnalysis(),
}
TWO_CLASSES = {"logistic": LogisticRegression(), "libsvm": SVC(kernel="linear"), "ridge": RidgeClassifier()}
FITTED = {name: (make_pipeline(StandardScaler(), model).fit(*DATA), DATA) for name, model in MODELS.items()}
_PAIR = (DATA[0][50:], DATA[1][50:])
FITTED |= {
    f"{name}, two classes": (make_pipeline(StandardScaler(), model).fit(*_PAIR), _PAIR)
    for name, model in TWO_CLASSES.items()
}
BOUNDS_ONLY = ("weighted", "manhattan", "minkowski", "radius", "weighted radius")  # by distances themselves
every_model = pytest.mark.parametrize(("model", "data"), FITTED.values(), ids=list(FITTED))


@every_model
def test_the_vote_is_predict(model, data):
    voter = voter_for(model)
    rows = voter.check_rows(data[0])
    problem = voter.chain.question(voter.problem, Moves())
    np.testing.assert_array_equal(problem.vote(voter.chain.image(rows)), voter.predict(rows))


@every_model
def test_opponents_are_places_of_the_vote(model, data):
    voter = voter_for(model)
    queries = voter.chain.image(voter.check_rows(data[0]))
    places = list(voter.opponents(queries, voter.predict(data[0]), 1))
    assert places
    assert all(place.shape == queries.shape for place in places)


@every_model
@pytest.mark.parametrize("norm", [2, np.inf, 1])
def test_the_certificate_holds(model, data, norm):
    """No move of a size below the radius changes an answer; a witness does, at the size ``upper``."""
    X, y = data
    threat = Threat(norm, unit=[1.0, 0.5, 2.0, 1.0], frozen=[1], only_up=[2], lower=0.0)
    rows = X[::12]
    found = certify(model, rows, threat=threat)
    moves = threat.bind(Encoding(4))
    rng = np.random.default_rng(0)
    for _ in range(40):
        delta = moves.enforce(rows + rng.normal(size=rows.shape), rows) - rows
        size = moves.lengths(delta)
        far = np.where(np.isfinite(found.radius), found.radius, 1e3) * 0.999
        delta *= np.minimum(1.0, far / np.maximum(size, 1e-12))[:, None]
        np.testing.assert_array_equal(model.predict(rows + delta), found.prediction)
    seen = np.isfinite(found.upper)
    moved = found.adversarial[seen]
    assert (model.predict(moved) != found.prediction[seen]).all()
    np.testing.assert_allclose(moves.lengths(moved - rows[seen]), found.upper[seen])
    np.testing.assert_array_equal(moves.enforce(moved, rows[seen]), moved)


@pytest.mark.parametrize("norm", [2, np.inf, 1])
@pytest.mark.parametrize("name", [name for name in FITTED if "neighbors" not in name and name not in BOUNDS_ONLY])
def test_one_point_or_one_row_per_class_is_exact_in_every_norm(name, norm):
    model, data = FITTED[name]
    assert certify(model, data[0][::5], norm=norm).exact.all()


def test_classes_that_were_renamed_are_refused():
    """Codes of answers are found in classes_ by bisection."""
    for last in (LogisticRegression(max_iter=1000), KNeighborsClassifier(3), NearestCentroid()):
        model = make_pipeline(StandardScaler(), last).fit(*DATA)
        model[-1].classes_ = np.array(["z", "x", "y"])
        with pytest.raises(ValueError, match="classes_ must be in ascending order"):
            certify(model, DATA[0][:2])


def test_distances_that_overflow_are_refused():
    model = KNeighborsClassifier(3, weights="distance").fit(DATA[0] * 1e150, DATA[1])
    with pytest.raises(ValueError, match="to the power 2 overflow: put a scaler before the model"):
        certify(model, DATA[0][:2] * 1e150)
