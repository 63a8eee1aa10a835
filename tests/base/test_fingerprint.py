"""The digest of a fitted object: any change shows, and what cannot be read has none."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from holdfast import certify
from holdfast.base.fingerprint import Passed, fingerprint

X = np.random.default_rng(0).normal(size=(30, 3))
y = X[:, 0] > 0


def test_the_same_object_has_the_same_digest():
    assert fingerprint(StandardScaler().fit(X)) == fingerprint(StandardScaler().fit(X.copy()))


@pytest.mark.parametrize(
    "change",
    [
        lambda step: step.mean_.__setitem__(1, np.nextafter(step.mean_[1], 9.0)),
        lambda step: step.set_params(with_mean=False),
        lambda step: setattr(step, "scale_", step.scale_.astype(np.float32)),
        lambda step: setattr(step, "scale_", step.scale_[None]),
        lambda step: setattr(step, "more_", None),
        lambda step: delattr(step, "var_"),
    ],
)
def test_any_change_shows(change):
    step = StandardScaler().fit(X)
    before = fingerprint(step)
    change(step)
    assert fingerprint(step) not in (before, None)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree", "ball_tree"])
def test_neighbours(algorithm):
    model = KNeighborsClassifier(3, algorithm=algorithm).fit(X, np.where(y, "a", "b").astype(object))
    before = fingerprint(model)
    model.predict(X)  # trees count what they are asked
    assert fingerprint(model) == before is not None
    others = [KNeighborsClassifier(3, algorithm=algorithm, p=1).fit(X, y), KNeighborsClassifier(3).fit(X[::-1], y)]
    if algorithm != "brute":
        others[0]._tree, model._tree = model._tree, others[0]._tree  # the tree of another metric
    else:
        model._fit_X[0, 0] += 1e-15
    assert fingerprint(model) not in (before, None)
    assert len({fingerprint(other) for other in others}) == 2


def test_types_count():
    plain, scaler = FunctionTransformer(), StandardScaler()
    vars(plain).clear(), vars(scaler).clear()
    assert fingerprint(plain) != fingerprint(scaler)


@pytest.mark.parametrize(
    "step",
    [
        FunctionTransformer(np.exp),  # a function
        LogisticRegression(random_state=np.random.RandomState(0)).fit(X, y),  # a generator
        KNeighborsClassifier(metric=lambda a, b: abs(a - b).sum(), algorithm="ball_tree").fit(X, y),
    ],
)
def test_what_cannot_be_read_has_none(step):
    assert fingerprint(step) is None
    passed = Passed()
    passed.add(None)
    assert None not in passed


def test_a_step_that_passed_and_was_changed_is_checked_again(monkeypatch):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    certify(model, X[:2])
    with monkeypatch.context() as patch:
        patch.setattr(StandardScaler, "transform", lambda step, rows: np.clip((rows - step.mean_) / step.scale_, -2, 2))
        with pytest.raises(ValueError, match="does not agree"):
            certify(model, X[:2])
    certify(model, X[:2])
    monkeypatch.setattr(LogisticRegression, "decision_function", lambda vote, rows: np.zeros(len(rows)))
    with pytest.raises(TypeError, match="decision_function"):
        certify(model, X[:2])


def test_a_class_that_can_be_defined_again_has_no_digest():
    class Scaler(StandardScaler):
        """As a user defines one."""

    assert fingerprint(Scaler().fit(np.eye(3))) is None
    assert fingerprint(StandardScaler().fit(np.eye(3))) is not None
