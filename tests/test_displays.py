"""The displays draw what they say."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

from holdfast import LMNN, CertifiedKNeighborsClassifier
from holdfast.report import BoundaryDisplay, CertifiedAccuracyDisplay, MarginDisplay, MetricDisplay

X, y = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(LMNN(), n_neighbors=1)).fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def flat():
    knn = CertifiedKNeighborsClassifier(n_neighbors=1)
    return make_pipeline(StandardScaler(), knn).fit(X[::2, 2:], y[::2])


def test_certified_accuracy(model):
    display = CertifiedAccuracyDisplay.from_estimator(model, X[1::2], y[1::2])
    assert (display.certified <= display.attacked).all()
    assert display.certified[0] == model.score(X[1::2], y[1::2])
    assert len(display.ax_.lines) == 2
    assert display.figure_ is display.ax_.figure
    again = display.plot(ax=display.ax_, name="again")
    assert again is display
    assert len(display.ax_.lines) == 4


def test_margin(model):
    display = MarginDisplay.from_estimator(model, X[1::2], y[1::2], scale=X[::2].std(axis=0))
    assert display.margins.shape == (75,)
    assert sum(patch.get_height() for patch in display.ax_.patches) == 75
    reference = (X[::2], y[::2])
    knn = make_pipeline(StandardScaler(), KNeighborsClassifier(1)).fit(*reference)
    MarginDisplay.from_estimator(knn, X[1::2], y[1::2], reference=reference, ax=display.ax_)
    with pytest.raises(ValueError, match="no feature can move"):
        MarginDisplay.from_estimator(model, X[1::2], y[1::2], frozen=np.ones(4, bool))
    bent = make_pipeline(PowerTransformer(), KNeighborsClassifier(1)).fit(*reference)
    with pytest.raises(ValueError, match="has a Normalizer or a monotone step"):
        MarginDisplay.from_estimator(bent, X[1::2], y[1::2])


def test_metric(model):
    names = ["a", "b", "$c", "d"]
    display = MetricDisplay.from_estimator(model, feature_names=names)
    learner, scale = model[-1].learner_, model[0].scale_
    np.testing.assert_allclose(display.M, learner.get_mahalanobis_matrix() / np.outer(scale, scale))
    assert len(display.ax_.images) == 1
    own = MetricDisplay.from_estimator(learner, scale=1 / scale)
    np.testing.assert_allclose(own.M, display.M)
    display.figure_.canvas.draw()
    with pytest.raises(ValueError, match="3 feature_names for 4"):
        MetricDisplay(np.eye(4), names[:3])


@pytest.mark.parametrize("norm", [2, np.inf, 1, np.diag([1.0, 4.0])])
def test_boundary(flat, norm):
    rows, labels = X[1::4, 2:], y[1::4]
    display = BoundaryDisplay.from_estimator(flat, rows, labels, norm=norm, grid_resolution=40)
    # Inside its ball nothing changes: the corners of each ball, drawn in by a hair, are answered alike.
    for row, radius, answer in zip(rows, display.certificate.radius, display.certificate.prediction, strict=True):
        corners = row + 0.999 * radius * display.ball
        assert (flat.predict(corners) == answer).all()
    assert display.ax_.collections
    display.figure_.canvas.draw()


def test_boundary_wants_two_features(model):
    with pytest.raises(ValueError, match="two features"):
        BoundaryDisplay.from_estimator(model, X, y)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"holdfast\[plot\]"):
        MetricDisplay(np.eye(2)).plot()
