"""Models that are not what their type says: subclasses, models changed after fit, several outputs, strange units."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from holdfast import CertifiedKNeighborsClassifier, Threat, certify
from holdfast.base.inputs import numbers_of_functions
from holdfast.certificates import scikit_neighbors as reference
from tests.adversary.probes import near_boundary
from tests.adversary.setups import quietly, sentence

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
y = (X[:, 0] * X[:, 1] > 0).astype(int)


class ClippedNormalizer(Normalizer):
    """Cuts off before it normalises."""

    def transform(self, X, copy=None):
        """Rows of length 1, of cells between −1 and 1."""
        return super().transform(np.clip(X, -1.0, 1.0))


class ClippedNeighbors(CertifiedKNeighborsClassifier):
    """Cuts off before it votes."""

    def predict(self, X):
        """The vote of rows between −1 and 1."""
        return super().predict(np.clip(X, -1.0, 1.0))


class RenamedNeighbors(CertifiedKNeighborsClassifier):
    """Votes as its base class does."""


@pytest.mark.parametrize(
    "model", [make_pipeline(ClippedNormalizer(), KNeighborsClassifier(1)), ClippedNeighbors(n_neighbors=1)]
)
def test_subclasses_that_do_something_else_are_refused(model):
    with pytest.raises((ValueError, TypeError), match="Clipped") as caught:
        certify(model.fit(X, y), X[:2])
    assert sentence(caught.value)


def test_a_subclass_with_the_same_vote_is_certified():
    assert (certify(RenamedNeighbors(n_neighbors=1).fit(X, y), X[:2]).radius > 0).all()


@pytest.mark.parametrize("leaf_size", [1, 30])
def test_rows_changed_under_a_tree_are_refused(leaf_size):
    rows = X.copy()
    model = KNeighborsClassifier(1, algorithm="kd_tree", leaf_size=leaf_size).fit(rows, y)
    rows *= [5.0, 1.0, 0.1]  # scikit-learn does not copy them
    with pytest.raises(ValueError, match=r"rows|distances"):
        certify(model, X[:2])


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree", "ball_tree"])
@pytest.mark.parametrize("code", [2, -1, 10**9])
def test_labels_that_are_no_codes_are_refused_before_anything_is_asked(algorithm, code, monkeypatch):
    model = KNeighborsClassifier(1, algorithm=algorithm).fit(X, y)
    model._y = model._y.copy()
    model._y[5] = code
    for name in ("predict", "predict_proba", "kneighbors"):
        monkeypatch.setattr(KNeighborsClassifier, name, None)
    for given in (None, (X, y)):
        with pytest.raises(ValueError, match="not codes of its 2 classes") as caught:
            certify(model, X[:2], reference=given)
        assert sentence(caught.value)


@pytest.mark.parametrize("name", ["predict", "predict_proba"])
def test_a_version_that_keeps_its_labels_elsewhere_is_noticed(name, monkeypatch):
    def knows() -> bool:
        return reference._answers_with_stored_labels(numbers_of_functions(KNeighborsClassifier))

    assert knows()
    monkeypatch.setattr(KNeighborsClassifier, name, lambda self, rows: np.eye(3) if "proba" in name else np.arange(3))
    assert not knows()
    asked = []
    monkeypatch.setattr(reference, "_ask_labels", lambda *given: asked.append(given))
    reference.stored_points(KNeighborsClassifier(1).fit(X, y), plain=True)
    assert len(asked) == 1


def test_several_outputs_are_refused_and_sparse_weights_are_not():
    with pytest.raises(TypeError, match="several outputs"):
        certify(RidgeClassifier().fit(X, np.column_stack([y, 1 - y, X[:, 2] > 0])), X[:2])
    model = SGDClassifier(random_state=0).fit(X, y)
    dense = certify(model, X[:5]).radius
    np.testing.assert_array_equal(certify(model.sparsify(), X[:5]).radius, dense)


@pytest.mark.parametrize("unit", [5e-324, 1e-300, 1e300])
def test_units_beyond_float64_are_refused(unit):
    with pytest.raises(ValueError, match="unit must be between"):
        certify(KNeighborsClassifier(1).fit(X, y), X[:2], threat=Threat(unit=unit))


@pytest.mark.parametrize("scale", [1e-139, 1e-60, 1e60, 1e140])
def test_radii_at_the_ends_of_float64_do_not_become_infinite(scale):
    """Sizes of 1e±290 units in data of 1e±140: out of range, but never promised as no move at all."""
    model = KNeighborsClassifier(1).fit(X * scale, y)
    for unit in (1e-290, 1e290):
        try:
            found = quietly(certify, model, X[:5] * scale, threat=Threat(unit=unit), witness=False)
        except ValueError as refused:
            assert sentence(refused)  # noqa: PT017
        else:
            assert np.isfinite(found.radius).all()
            assert unit < 1 or (found.radius < 1e-100).all()


def test_lists_of_rows_in_single_precision():
    model = make_pipeline(PCA(), KNeighborsClassifier(1, algorithm="brute")).fit(X + 1e3, y)
    rows = list(near_boundary(model, X + 1e3, 60, np.random.default_rng(0)).astype(np.float32))
    found = certify(model, rows, witness=False)
    assert not ((found.prediction != model.predict(rows)) & (found.radius > 0)).any()
