"""Behind monotone maps a witness is found as behind affine steps, inside the domain of every map."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from holdfast import Threat, certify
from holdfast.certificates.readers import voter_for


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    test = np.arange(len(X)) % 4 == 0
    return X[~test], y[~test], X[test], y[test]


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_a_witness_behind_a_clip_stays_in_the_range_of_training(wine, norm):
    X, y, X_test, _ = wine
    model = make_pipeline(MinMaxScaler(clip=True), LogisticRegression(max_iter=2000)).fit(X, y)
    certificate = certify(model, X_test[:6], norm=norm)
    assert (certificate.upper <= 1.1 * certificate.radius).all()
    assert np.median(certificate.upper / certificate.radius) < 1.001
    moved = np.where(certificate.adversarial != X_test[:6], certificate.adversarial, X.mean(axis=0))
    assert (moved >= X.min(axis=0) - 1e-3).all()
    assert (moved <= X.max(axis=0) + 1e-3).all()


def test_equal_votes_of_three_behind_a_clip():
    """The bound without a search is 0 there; the search starts at a size of its own."""
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.2], [10.0, 10.0], [10.0, -10.0], [-10.0, 10.0]])
    y, row = np.array([0, 1, 2, 0, 1, 2]), np.array([[0.3, 0.3]])
    plain, clipped = (
        certify(make_pipeline(MinMaxScaler(clip=clip), KNeighborsClassifier(3)).fit(X, y), row)
        for clip in (False, True)
    )
    assert clipped.radius[0] > 0.9 * plain.radius[0]
    assert clipped.upper[0] < 1.001 * plain.upper[0]


@pytest.mark.parametrize(
    "step", [PowerTransformer(), QuantileTransformer(n_quantiles=50), MinMaxScaler(clip=True)], ids=str
)
def test_every_row_has_a_witness(wine, step):
    X, y, X_test, _ = wine
    model = make_pipeline(step, KNeighborsClassifier(3)).fit(X, y)
    certificate = certify(model, X_test[:4], norm=np.inf)
    assert np.isfinite(certificate.upper).all()
    assert (model.predict(certificate.adversarial) != certificate.prediction).all()


def test_no_witness_is_sought_where_a_map_has_no_value(wine):
    X, y, X_test, _ = wine
    model = make_pipeline(FunctionTransformer(np.sqrt), StandardScaler(), LogisticRegression(max_iter=2000)).fit(X, y)
    certificate = certify(model, X_test[:4])
    assert np.isfinite(certificate.upper).all()
    assert (certificate.adversarial >= 0).all()


@pytest.mark.parametrize("step", [PowerTransformer(), StandardScaler(), FunctionTransformer(np.sqrt)], ids=str)
def test_a_chain_is_near_its_affine_map(wine, step):
    """At the row itself, and roughly around it."""
    X, y, X_test, _ = wine
    chain = voter_for(make_pipeline(step, LogisticRegression(max_iter=50000)).fit(X, y)).chain
    x = X_test[0]
    map_ = chain.near(x)
    np.testing.assert_allclose(map_(x[None]), chain.image(x[None]), rtol=1e-9)
    moved = x * 1.01
    apart = np.abs(chain.image(moved[None]) - chain.image(x[None])).max()
    assert np.abs(map_(moved[None]) - chain.image(moved[None])).max() < 0.2 * apart


def test_whole_numbers_at_which_a_step_has_no_value_are_left_out():
    """``predict`` has no answer behind the logarithm of 0, so no move goes there."""
    X = np.column_stack([np.arange(1.0, 41.0), np.linspace(-2.0, 2.0, 40)])
    front = ColumnTransformer([("l", FunctionTransformer(np.log), [0])], remainder="passthrough")
    model = make_pipeline(front, LogisticRegression())
    model.fit(X, X[:, 0] > 20)
    found = certify(model, np.array([[1.0, 0.0], [19.0, 0.0]]), threat=Threat(2, integer=[0], frozen=[1]))
    assert (found.radius > 0).all()
    assert (found.radius <= found.upper).all()
