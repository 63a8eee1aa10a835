"""A model that was changed after fit says so, before compiled code sees its arrays."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import (
    CertifiedKNeighborsClassifier,
    CertifiedPrototypeClassifier,
    FixedMetric,
    attack,
    certify,
    poisoning_tolerance,
    save,
)

X, y = load_iris(return_X_y=True)
NAN = X.copy()
NAN[3, 2] = np.nan

CHANGES = {
    "k = 0": ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1; got 0"),
    "k < 0": ({"n_neighbors": -3}, "n_neighbors must be an integer of at least 1; got -3"),
    "k > n": ({"n_neighbors": 151}, "n_neighbors=151 is more than the 150 points that can vote"),
    "k = 2.5": ({"n_neighbors": 2.5}, "n_neighbors must be an integer"),
    "k = None": ({"n_neighbors": None}, "n_neighbors must be an integer"),
    "codes": ({"reference_codes_": y + 1}, "reference_codes_ must be from 0 to 2.*got 1 to 3"),
    "codes below": ({"reference_codes_": y - 1}, "reference_codes_ must be from 0 to 2.*got -1 to 1"),
    "codes of floats": ({"reference_codes_": y * 1.0}, "reference_codes_ must be whole numbers"),
    "fewer codes": ({"reference_codes_": y[:-1]}, r"reference_codes_ must have shape \(150,\); got \(149,\)"),
    "a list": ({"reference_codes_": y.tolist()}, "reference_codes_ must be an array"),
    "NaN points": ({"reference_": NAN}, "reference_ must be finite"),
    "float32 points": ({"reference_": X.astype(np.float32)}, "float64"),
    "narrow points": ({"reference_": X[:, :2]}, r"reference_ must have shape \(any, 4\)"),
    "NaN components": ({"components_": np.full((4, 4), np.nan)}, "components_ must be finite"),
    "flat components": ({"components_": np.ones(4)}, r"components_ must have shape \(any, any\)"),
    "no components": ({"components_": np.ones((0, 4))}, "components_ must be"),
    "wide components": ({"components_": np.ones((2, 5))}, "must have shape"),
    "classes": ({"classes_": np.array([2, 1, 0])}, "classes_ must be in ascending order"),
    "a class twice": ({"classes_": np.array([0, 1, 1])}, "classes_ must be in ascending order"),
    "no classes": ({"classes_": np.array([])}, "classes_ must have at least 1"),
    "one class": ({"classes_": np.array([0])}, "reference_codes_ must be from 0 to 0"),
    "labels of two types": ({"classes_": np.array([0, "a", None], dtype=object)}, "ascending order"),
    "features": ({"n_features_in_": 3}, "n_features_in_ must be 4"),
    "names": ({"feature_names_in_": np.array(["a", "b"], dtype=object)}, "feature_names_in_ must have shape"),
}


@pytest.fixture
def model():
    return CertifiedKNeighborsClassifier().fit(X, y)


@pytest.mark.parametrize("case", list(CHANGES))
@pytest.mark.parametrize("use", ["predict", "predict_proba", "certify", "attack", "pipeline", "poisoning", "save"])
def test_a_changed_model_says_so(tmp_path, model, case, use):
    changes, words = CHANGES[case]
    whole = make_pipeline(StandardScaler(), model)
    whole[0].fit(X)
    uses = {
        "predict": lambda: model.predict(X[:3]),
        "predict_proba": lambda: model.predict_proba(X[:3]),
        "certify": lambda: model.certify(X[:3]),
        "attack": lambda: attack(model, X[:3]),
        "pipeline": lambda: certify(whole, X[:3]),
        "poisoning": lambda: poisoning_tolerance(model, X[:3]),
        "save": lambda: save(model, tmp_path / "m.holdfast"),
    }
    vars(model).update(changes)
    with pytest.raises(ValueError, match=words):
        uses[use]()
    assert list(tmp_path.iterdir()) == []


def test_set_params_within_range_is_fine(model):
    assert model.set_params(n_neighbors=150).predict(X[:3]).shape == (3,)
    assert model.set_params(n_neighbors=np.int64(1)).score(X, y) == 1


def test_prototypes_are_validated_too():
    model = CertifiedPrototypeClassifier().fit(X, y)
    model.validate()
    model.reference_codes_ = np.array([0, 1, 7])
    with pytest.raises(ValueError, match="reference_codes_ must be from 0 to 2"):
        model.predict(X)


def test_rows_that_overflow_under_the_metric_are_refused():
    model = CertifiedKNeighborsClassifier(FixedMetric(1e300 * np.eye(4))).fit(X, y)
    with pytest.raises(ValueError, match="not finite under the metric"):
        model.predict(1e200 * X[:3])
