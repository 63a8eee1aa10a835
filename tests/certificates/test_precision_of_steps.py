"""Steps that compute in single precision, or are not quite the map they show, are refused; the rest is exact."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from holdfast import certify
from holdfast.base.affine import NotAffine, affine_of
from holdfast.certificates.pipelines import chain_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) * [1.0, 10.0, 0.1] + [5.0, 1e5, 3.0]
Y = (X[:, 0] + RNG.normal(size=60) > 5).astype(int)
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "w": RNG.choice(["x", "y", "z"], 60)})


@pytest.mark.parametrize("encode", ["ordinal", "onehot", "onehot-dense"])
def test_bins_of_rounded_values_are_refused(encode):
    bins = KBinsDiscretizer(4, encode=encode, strategy="uniform", dtype=np.float32)
    with pytest.raises(ValueError, match=r"dtype=float32\) rounds X before it is binned.*dtype=None"):
        certify(make_pipeline(bins, LogisticRegression()).fit(X, Y), X[:2])


@pytest.mark.parametrize("encoder", [OneHotEncoder, OrdinalEncoder])
def test_a_table_in_single_precision_is_refused_and_one_column_of_it_is_exact(encoder):
    single = encoder(dtype=np.float32)
    beside = ColumnTransformer([("w", single, ["w"]), ("n", StandardScaler(), ["a", "b"])])
    double = ColumnTransformer([("w", encoder(), ["w"]), ("n", StandardScaler(), ["a", "b"])])
    found, expected = (
        certify(make_pipeline(steps, LogisticRegression()).fit(FRAME, Y), FRAME[:6], n_jobs=1)
        for steps in (beside, double)
    )
    np.testing.assert_array_equal(found.radius, expected.radius)
    dense = {"sparse_output": False} if encoder is OneHotEncoder else {}
    inner = make_pipeline(encoder(dtype=np.float32, **dense), StandardScaler())
    for steps in (
        ColumnTransformer([("w", single, ["w"])]),
        ColumnTransformer([("w", inner, ["w"]), ("n", "passthrough", ["a", "b"])]),
        FeatureUnion([("w", ColumnTransformer([("w", single, ["w"])]))]),
    ):
        with pytest.raises(ValueError, match=r"all numbers are float32.*fit the encoder with dtype=numpy.float64"):
            certify(make_pipeline(steps, LogisticRegression()).fit(FRAME, Y), FRAME[:2])


@pytest.mark.parametrize("scaler", [StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler])
def test_scalers_fitted_in_single_precision_are_read_to_the_last_bit(scaler):
    step = scaler().fit(X.astype(np.float32))
    assert step.transform(X).dtype == np.float64
    map_ = affine_of(step, 3)
    assert (np.abs(map_(X) - step.transform(X)) <= 1e-15 * map_.magnitudes(X)).all()


class NearlyLinear(TransformerMixin, BaseEstimator):
    """``X @ components_.T``, but for one part in ``1/off``."""

    def __init__(self, off=0.0):
        self.off = off

    def fit(self, X, y=None):
        self.components_ = np.arange(1.0, 1.0 + 2 * X.shape[1]).reshape(2, -1) / 7.0
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return np.asarray(X) @ (self.components_ * (1.0 + self.off)).T


@pytest.mark.parametrize("off", [1e-10, 1e-12])
def test_a_step_that_is_off_by_more_than_rounding_is_refused(off):
    affine_of(NearlyLinear().fit(X), 3)
    with pytest.raises(NotAffine, match="does not agree"):
        affine_of(NearlyLinear(off).fit(X), 3)


def test_f1_the_longest_sum_of_a_chain_is_counted():
    wide = NearlyLinear().fit(np.zeros((2, 3)))
    wide.components_ = RNG.normal(size=(500, 3))
    narrow = NearlyLinear().fit(np.zeros((2, 500)))
    assert chain_of([wide, narrow], 3)[1].affine_map.n_terms == 500
    union = FeatureUnion([(str(i), StandardScaler()) for i in range(9)]).fit(X)
    assert chain_of([union, StandardScaler().fit(np.zeros((2, 27)))], 3)[1].affine_map.n_terms == 27
