"""Lemmas C1, C2, M1, M2 and M3: words, gaps and monotone maps as numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from holdfast import Threat, certify
from holdfast.certificates.columns import Encoding
from holdfast.certificates.maps import MONOTONE
from holdfast.certificates.pipelines import chain_of
from tests.sizes import every_pair

WORDS = np.array([["a", "x"], ["b", "y"], ["c", "x"], ["a", "z"], ["a", "x"]], dtype=object)
ENCODERS = [
    OneHotEncoder(drop=drop, handle_unknown=unknown, sparse_output=sparse, **rare)
    for drop in (None, "first", "if_binary")
    for unknown in ("error", "ignore")
    for sparse in (True, False)
    for rare in ({}, {"min_frequency": 2}, {"max_categories": 2})
] + [OrdinalEncoder(), OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)]


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("encoder", ENCODERS, ids=str)
def test_c1_an_encoder_is_a_sum_over_indicators(encoder):
    encoder.fit(WORDS)
    encoding, chain = chain_of([encoder], 2)
    rows = np.array([[a, b] for a in "abc" for b in "xyz"], dtype=object)
    if encoder.handle_unknown != "error":
        rows = np.vstack([rows, [["new", "x"], ["a", None]]])
    out = encoder.transform(rows)
    np.testing.assert_array_equal(out.toarray() if hasattr(out, "toarray") else out, chain.image(encoding.encode(rows)))


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
@pytest.mark.parametrize("first", [True, False])
def test_c2_an_imputer_is_affine_in_values_and_gaps(strategy, first):
    rng = np.random.default_rng(0)
    X = rng.normal(5, 2, size=(30, 3))
    X[::4, 0] = X[1::5, 2] = np.nan
    steps = [SimpleImputer(strategy=strategy, add_indicator=True), StandardScaler()]
    pipeline = make_pipeline(*(steps if first else steps[::-1])).fit(X)
    encoding, chain = chain_of([pipeline], 3)
    np.testing.assert_allclose(chain.image(encoding.encode(X)), pipeline.transform(X), rtol=1e-12, atol=1e-12)


def test_c2_a_filled_number_stands_still():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(2, size=40)
    model = make_pipeline(SimpleImputer(), KNeighborsClassifier(1)).fit(X, y)
    rows = np.array([[np.nan, 0.1], [0.2, np.nan], [0.2, 0.1], [np.nan, np.nan]])
    found = certify(model, rows, n_jobs=1)
    assert found.radius[3] == np.inf
    for row, still in ((0, 0), (1, 1)):
        filled = np.where(np.isnan(rows[row]), model[0].statistics_, rows[row])
        alone = certify(model, filled[None], frozen=[still], n_jobs=1)
        assert found.radius[row] == pytest.approx(alone.radius[0], rel=1e-9)


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.lognormal(0, 0.6, size=(50, 3)) * [1, 10, 0.1]
    return X, (np.log(X) @ [1.0, -1.0, 0.5] > -3).astype(int)


X, Y = data()
STEPS = {
    "quantile": QuantileTransformer(n_quantiles=20),
    "normal": QuantileTransformer(n_quantiles=20, output_distribution="normal"),
    "yeo-johnson": PowerTransformer(),
    "box-cox": PowerTransformer(method="box-cox"),
    "log1p": FunctionTransformer(np.log1p),
    "sqrt": FunctionTransformer(np.sqrt),
    "clip": MinMaxScaler(clip=True),
}


@pytest.mark.parametrize("name", STEPS)
@settings(max_examples=12, deadline=None)
@given(low=st.floats(0.01, 20), width=st.floats(1e-3, 20), place=st.floats(0, 1))
def test_m1_and_m2_a_map_stays_between_its_ends_and_below_its_slope(name, low, width, place):
    step = STEPS[name].fit(X)
    map_ = MONOTONE[type(step)](step, 1, 3)
    high, middle = low + width, low + place * width
    a, b, c = map_(np.array([low, middle, high]))
    assert a - map_.error(a, c) <= b <= c + map_.error(a, c)
    if middle > low:
        assert abs(b - a) <= map_.slope(low, high) * (middle - low) + 2 * map_.error(a, c)


@pytest.mark.parametrize(("name", "norm", "last"), every_pair(STEPS, [np.inf, 2, 1], ["scores", "neighbors"]))
def test_m1_and_m2_no_move_inside_changes_an_answer(name, norm, last):
    last = {"scores": LogisticRegression(), "neighbors": KNeighborsClassifier(3)}[last]
    model = make_pipeline(STEPS[name], StandardScaler(), last).fit(X, Y)
    rows = data(1)[0][:4]
    rng = np.random.default_rng(0)
    threat = Threat(norm, unit=[1.0, 10.0, 0.1], frozen=[2] if norm == 1 else None, lower=0.01)
    found = certify(model, rows, threat=threat, method="lower", n_jobs=1)
    assert (found.radius > 0).any()
    moves = threat.bind(Encoding(3))
    ways, tried = np.nan_to_num(found.adversarial - rows), []
    for trial in range(12):
        step = ways if trial == 0 else rng.choice([-1.0, 1.0], size=rows.shape) * [1, 10, 0.1]
        step = step if trial % 2 else step * rng.uniform(size=rows.shape)
        step *= (0.99999 * np.minimum(found.radius, 1e3) / np.maximum(moves.lengths(step), 1e-300))[:, None]
        tried.append(moves.enforce(rows + step, rows))
    np.testing.assert_array_equal(model.predict(np.concatenate(tried)), np.tile(found.prediction, 12))
    seen = np.isfinite(found.upper)
    if seen.any():
        assert (model.predict(found.adversarial[seen]) != found.prediction[seen]).all()


def test_m1_a_linear_classifier_behind_logarithms_is_exact_in_l_infinity():
    """``w·log(x)`` falls most at a corner of the box: the radius is the root of a function of one number."""
    model = make_pipeline(FunctionTransformer(np.log), LogisticRegression()).fit(X, Y)
    rows = X[:4]
    found = certify(model, rows, norm=np.inf, n_jobs=1)
    w, b = model[-1].coef_[0], model[-1].intercept_[0]
    for row, radius in zip(rows, found.radius, strict=True):
        sign = np.sign(w @ np.log(row) + b)
        low, high = 0.0, row.min() * (1 - 1e-12)
        for _ in range(200):
            size = 0.5 * (low + high)
            worst = w @ np.log(row - sign * np.sign(w) * size) + b
            low, high = (size, high) if worst * sign > 0 else (low, size)
        assert radius <= low * (1 + 1e-9)
        assert radius == pytest.approx(low, rel=1e-3)


def test_m2_two_coordinates_of_one_feature_are_both_counted():
    union = FeatureUnion([("raw", StandardScaler()), ("log", FunctionTransformer(np.log))])
    model = make_pipeline(union, LogisticRegression()).fit(X, Y)
    rng = np.random.default_rng(0)
    for norm in (np.inf, 2, 1):
        found = certify(model, X[:5], norm=norm, n_jobs=1)
        step = rng.normal(size=(100, 5, 3))
        step *= (0.99999 * found.radius / np.linalg.norm(step, ord=norm, axis=2))[..., None]
        answers = model.predict((X[:5] + step).reshape(-1, 3)).reshape(100, 5)
        assert (answers == found.prediction).all()


def test_a_monotone_step_behind_a_mixing_one_is_refused():
    from sklearn.decomposition import PCA

    model = make_pipeline(PCA(2), PowerTransformer(), KNeighborsClassifier(1)).fit(X, Y)
    with pytest.raises(ValueError, match="it must come first on its columns"):
        certify(model, X[:2])


@pytest.mark.parametrize("norm", [2, np.inf])
def test_m3_a_frozen_feature_at_a_jump_counts_with_both_sides(norm):
    """Frequent values are jumps of quantiles, and a scaler before them rounds: our side need not be the model's."""
    tries = 0
    for seed in (8, 11):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.normal(size=80), rng.choice([0.1, 0.7, 1.3, 2.9], size=80)])
        y = (X[:, 0] + X[:, 1] > 0.8).astype(int)
        steps = StandardScaler(), QuantileTransformer(n_quantiles=int(rng.integers(20, 80)))
        model = make_pipeline(*steps, KNeighborsClassifier(1)).fit(X, y)
        rows = X[:20] + np.outer(0.05 * rng.normal(size=20), [1.0, 0.0])
        found = certify(model, rows, norm=norm, frozen=[1], method="lower", witness=False)
        some = np.flatnonzero((found.radius > 0) & (found.radius < 1e6))
        ways = found.radius[some, None] * np.linspace(-1.0, 1.0, 201) * (1 - 1e-9)
        moved = rows[some][:, None] + ways[:, :, None] * [1.0, 0.0]
        assert (model.predict(moved.reshape(-1, 2)).reshape(ways.shape) == found.prediction[some, None]).all()
        tries += some.size
    assert tries > 20
