"""Pipelines of tables with words and gaps: certified in the user's columns, tried by predict and in a second way."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)

from holdfast import CertifiedKNeighborsClassifier, Euclidean, Threat, attack, certify
from holdfast.certificates import CertifiedAccuracy, poisoning_tolerance
from holdfast.certificates.columns import Encoding
from holdfast.certificates.readers import voter_for

NUMBERS, WORDS = ["age", "income", "months"], ["job", "town"]


def table(n=70, seed=0):
    """Numbers with gaps, words with gaps, a column of integers that are codes, a column nobody reads."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "age": rng.integers(18, 80, n), "income": rng.lognormal(1, 0.5, n), "job": rng.choice(["a", "b", "c"], n),
        "months": rng.normal(24, 6, n), "town": rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1]),
        "code": rng.integers(0, 3, n), "note": [f"row {i}" for i in range(n)],
    })  # fmt: skip
    y = np.where((frame.age > 50) ^ (frame.job == "a"), "yes", "no")
    frame.loc[::7, "income"] = np.nan
    frame.loc[3::9, "town"] = None
    return frame, y


TRAIN, TEST = table(), (table(12, seed=1)[0])
numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
one_hot = OneHotEncoder(handle_unknown="ignore")
filled = make_pipeline(
    SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder(drop="first", handle_unknown="ignore")
)


def columns(words=one_hot, remainder="drop", **options):
    return ColumnTransformer([("num", numbers, NUMBERS), ("cat", words, WORDS)], remainder=remainder, **options)


PIPELINES = {
    "one-hot": make_pipeline(columns(), KNeighborsClassifier(5)),
    "dense": make_pipeline(columns(sparse_threshold=0), KNeighborsClassifier(1)),
    "filled words": make_pipeline(columns(filled), KNeighborsClassifier(3)),
    "infrequent": make_pipeline(
        columns(OneHotEncoder(min_frequency=0.2, handle_unknown="infrequent_if_exist")), KNeighborsClassifier(3)
    ),
    "ordinal": make_pipeline(
        columns(OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)),
        KNeighborsClassifier(1),
    ),
    "target": make_pipeline(columns(TargetEncoder()), MinMaxScaler(), KNeighborsClassifier(3)),
    "scaled before it is filled": make_pipeline(
        ColumnTransformer([("num", make_pipeline(StandardScaler(), SimpleImputer(strategy="median")), NUMBERS)]),
        PCA(2), KNeighborsClassifier(1),
    ),
    "pca of everything": make_pipeline(columns(sparse_threshold=0), PCA(4), LogisticRegression()),
    "codes are words": make_pipeline(
        ColumnTransformer([("c", OneHotEncoder(), ["code"]), ("n", "passthrough", ["age", "months"])]),
        NearestCentroid(),
    ),
    "ours": make_pipeline(columns(sparse_threshold=0), CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=3)),
    "nested, weighted": make_pipeline(
        ColumnTransformer(
            [("inner", ColumnTransformer([("a", StandardScaler(), [0]), ("w", one_hot, [1])]), ["age", "job"]),
             ("m", FunctionTransformer(), make_column_selector("months"))],
            transformer_weights={"inner": 2.0},
        ),
        KNeighborsClassifier(3),
    ),
    "union": make_pipeline(
        ColumnTransformer([("n", "passthrough", ["age", "months"])]),
        FeatureUnion([("s", StandardScaler()), ("p", PCA(1))]), KNeighborsClassifier(1),
    ),
    "weighted votes": make_pipeline(columns(), KNeighborsClassifier(5, weights="distance")),
    "manhattan": make_pipeline(columns(sparse_threshold=0), SelectKBest(k=6), KNeighborsClassifier(1, p=1)),
    "selected": make_pipeline(columns(sparse_threshold=0), VarianceThreshold(0.05), LogisticRegression()),
    "bins": make_pipeline(
        ColumnTransformer(
            [("n", make_pipeline(SimpleImputer(), KBinsDiscretizer(4, strategy="uniform")), NUMBERS),
             ("c", one_hot, WORDS)]
        ),
        LogisticRegression(),
    ),
}  # fmt: skip
FITTED = {name: model.fit(*TRAIN) for name, model in PIPELINES.items()}
THREATS = {
    "l2": Threat(unit={"age": 5.0}, frozen=["code"]),
    "linf": Threat(np.inf, unit={"age": 5.0}, frozen=["code", "job"], lower={"age": 0}),
    "l1": Threat(1, only_up=["months"], frozen=["code"]),
}


def moved(rows: pd.DataFrame, delta: np.ndarray) -> pd.DataFrame:
    """Numbers moved; gaps stay gaps."""
    out = rows.copy()
    out[NUMBERS] = out[NUMBERS].astype(float) + delta
    return out


@pytest.mark.parametrize("threat", THREATS.values(), ids=THREATS)
@pytest.mark.parametrize("name", FITTED)
def test_no_move_inside_the_radius_changes_an_answer(name, threat):
    model = FITTED[name]
    found = certify(model, TEST, threat=threat, n_jobs=1)
    np.testing.assert_array_equal(found.prediction, model.predict(TEST))
    assert (found.radius > 0).mean() > 0.5
    moves, at = threat.bind(Encoding(7, list(TEST.columns))), [list(TEST.columns).index(c) for c in NUMBERS]
    rng, seen = np.random.default_rng(0), np.isfinite(found.upper)
    ways = found.adversarial.loc[seen, NUMBERS].to_numpy(float) - TEST.loc[seen, NUMBERS].to_numpy(float)
    tried = []
    for trial in range(8):
        full = np.zeros((len(TEST), 7))
        full[:, at] = rng.normal(size=(len(TEST), 3)) * [10, 1, 5]
        if trial < 3:  # towards the witness
            full[np.ix_(seen, at)] = np.nan_to_num(ways)
        full[:, at] = np.where(TEST[NUMBERS].isna(), 0.0, full[:, at])
        size = np.maximum(moves.lengths(full), 1e-12)
        full *= (0.9999 * np.minimum(found.radius, 50.0) / size)[:, None]
        base = np.zeros_like(full)
        base[:, at] = np.nan_to_num(TEST[NUMBERS].to_numpy(float))
        full = moves.enforce(base + full, base) - base  # after scaling: a longer move could leave the box
        tried.append(moved(TEST, full[:, at]))
    np.testing.assert_array_equal(model.predict(pd.concat(tried)), np.tile(found.prediction, 8))
    assert (model.predict(found.adversarial[seen]) != found.prediction[seen]).all()


@pytest.mark.parametrize("k", [1, 3])
def test_the_radius_is_that_of_the_encoded_table_with_its_indicators_frozen(k):
    """A second way: the classifier alone, on complete rows, its one-hot columns frozen, in units of the scaler."""
    X, y = TRAIN
    X = X.dropna()
    y = y[X.index]
    front = ColumnTransformer([("n", StandardScaler(), ["age", "months"]), ("c", OneHotEncoder(), WORDS)])
    model = make_pipeline(front, KNeighborsClassifier(k)).fit(X, y)
    rows = TEST.dropna()
    scale = model[0].named_transformers_["n"].scale_
    Z = np.asarray(model[0].transform(rows), float)
    alone = Threat(unit=np.append(1 / scale, np.ones(Z.shape[1] - 2)), frozen=list(range(2, Z.shape[1])))
    expected = certify(model[-1], Z, threat=alone, n_jobs=1)
    found = certify(model, rows, reference=(X, y), n_jobs=1)
    np.testing.assert_allclose(found.radius, expected.radius, rtol=1e-6)
    np.testing.assert_allclose(found.upper, expected.upper, rtol=1e-3)


def test_filled_numbers_and_words_stand_still():
    model = FITTED["one-hot"]
    found = certify(model, TEST, n_jobs=1)
    assert list(found.adversarial.columns) == list(TEST.columns)
    assert found.adversarial.index.equals(TEST.index)
    seen = np.isfinite(found.upper)
    pd.testing.assert_frame_equal(
        found.adversarial.loc[seen, ["job", "town", "note"]], TEST.loc[seen, ["job", "town", "note"]], check_dtype=False
    )
    assert found.adversarial.loc[seen, "income"].isna().equals(TEST.loc[seen, "income"].isna())
    assert found.adversarial.loc[~seen].isna().all(axis=None)


def test_the_voter_tells_which_coordinates_stand_for_a_category():
    voter = voter_for(FITTED["one-hot"])
    rows = voter.check_rows(TEST)
    assert set(voter.categories) == {"job", "town"}
    assert (rows[:, list(voter.categories["job"])].sum(axis=1) == 1).all()


@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
@pytest.mark.parametrize("handle", ["error", "ignore", "infrequent_if_exist"])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.filterwarnings("ignore:Found unknown categories", "ignore:.*have values that the model was not fitted on")
def test_every_way_of_one_hot_encoding_is_read(drop, handle, sparse):
    """The chain's image is that of the steps (checked for every row), unknown words included where they are taken."""
    words = OneHotEncoder(
        drop=drop, handle_unknown=handle, sparse_output=sparse, min_frequency=2 if "infrequent" in handle else None
    )
    model = make_pipeline(columns(words), KNeighborsClassifier(3)).fit(*TRAIN)
    rows = TEST if handle == "error" else pd.concat([TEST, TEST.assign(town="elsewhere")], ignore_index=True)
    found = certify(model, rows, method="lower", witness=False, n_jobs=1)
    np.testing.assert_array_equal(found.prediction, model.predict(rows))
    assert (found.radius > 0).any()


@pytest.mark.parametrize("encode", ["ordinal", "onehot", "onehot-dense"])
def test_bins_against_every_bin(encode):
    """The nearest bin with another answer, in L∞: a certificate is no larger, and a witness lies in such a bin."""
    X, y = TRAIN[0][["age", "months"]].to_numpy(float), TRAIN[1]
    model = make_pipeline(KBinsDiscretizer(4, encode=encode, strategy="uniform"), StandardScaler(with_mean=False),
                          LogisticRegression()).fit(X, y)  # fmt: skip
    rows = X[:12]
    found = certify(model, rows, norm=np.inf, n_jobs=1)
    edges = model[0].bin_edges_
    middles = np.array([(a + b) / 2 for own in edges for a, b in pairwise(own)]).reshape(2, -1)
    places = np.stack(np.meshgrid(*middles), axis=-1).reshape(-1, 2)
    bins = np.stack(np.meshgrid(range(4), range(4)), axis=-1).reshape(-1, 2)
    low = np.array([[np.append(-np.inf, edges[j][1:-1])[b[j]] for j in (0, 1)] for b in bins])
    high = np.array([[np.append(edges[j][1:-1], np.inf)[b[j]] for j in (0, 1)] for b in bins])
    answers = model.predict(places)
    for row, radius, upper, said in zip(rows, found.radius, found.upper, found.prediction, strict=True):
        away = np.maximum(np.maximum(low - row, row - high), 0.0).max(axis=1)
        truth = away[answers != said].min(initial=np.inf)
        assert radius <= truth * (1 + 1e-9)
        assert upper >= truth * (1 - 1e-9)
        nearest_edge = np.abs(np.concatenate([edges[j][1:-1] - row[j] for j in (0, 1)])).min()
        assert radius >= min(truth, nearest_edge) * (1 - 1e-4)


def test_words_the_model_does_not_know():
    rows = TEST.assign(job="new")
    known, strict = FITTED["one-hot"], make_pipeline(columns(OneHotEncoder()), KNeighborsClassifier(3)).fit(*TRAIN)
    with pytest.warns(UserWarning, match="^12 of 12 rows, the first is row 0, .* not fitted on, in 'job':"):
        found = certify(known, rows, n_jobs=1)
    assert (found.adversarial["job"].dropna() == "new").all()
    assert (found.to_frame()["unknown_words"] == 1).all()
    assert found.to_frame()["gaps_filled"].tolist() == (TEST["income"].isna() * 1).tolist()
    assert "; 12 rows with unknown words" in repr(found)
    with pytest.raises(ValueError, match="unknown categories"):
        certify(strict, rows)


def test_arrays_of_objects_and_gaps_without_words():
    X = TRAIN[0][["age", "job", "months"]].to_numpy(dtype=object)
    front = ColumnTransformer([("n", StandardScaler(), [0, 2]), ("c", OneHotEncoder(), [1])])
    model = make_pipeline(front, KNeighborsClassifier(3)).fit(X, TRAIN[1])
    found = certify(model, X[:5], n_jobs=1)
    assert isinstance(found.adversarial, np.ndarray)
    assert found.adversarial[0, 1] == X[0, 1]
    Z = TRAIN[0][NUMBERS].to_numpy(float)
    filled = make_pipeline(SimpleImputer(), StandardScaler(), KNeighborsClassifier(1)).fit(Z, TRAIN[1])
    assert certify(filled, Z[:5], n_jobs=1).adversarial.dtype == float
    with pytest.raises(ValueError, match="NaN"):
        certify(make_pipeline(StandardScaler(), KNeighborsClassifier(1)).fit(np.nan_to_num(Z), TRAIN[1]), Z)


class Sampler:
    """As a sampler of imbalanced-learn: it acts in fit only."""

    def fit_resample(self, X, y):
        return X, y


def test_searches_frozen_models_and_samplers_are_looked_through():
    model = FITTED["one-hot"]
    radius = certify(model, TEST, n_jobs=1).radius
    search = GridSearchCV(PIPELINES["one-hot"], {"kneighborsclassifier__n_neighbors": [5]}, cv=2).fit(*TRAIN)
    for wrapped in (search, FrozenEstimator(model)):
        np.testing.assert_array_equal(certify(wrapped, TEST, n_jobs=1).radius, radius)
    sampled = Pipeline([("front", model[0]), ("sampler", Sampler()), ("vote", model[-1])])
    voter = voter_for(sampled)
    np.testing.assert_array_equal(
        voter.chain.image(voter.check_rows(TEST)), voter_for(model).chain.image(voter.check_rows(TEST))
    )


def test_attack_poisoning_and_scores_take_tables():
    model = FITTED["one-hot"]
    found = attack(model, TEST, n_jobs=1)
    assert (found.changed_to[found.success] != found.prediction[found.success]).all()
    assert poisoning_tolerance(model, TEST).shape == (len(TEST),)
    scores = cross_val_score(PIPELINES["one-hot"], *TRAIN, scoring=CertifiedAccuracy(0.1), cv=2)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (SimpleImputer(missing_values=0), "missing_values=0"),
        (FunctionTransformer(np.abs), "known are np.log1p"),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), None),
    ],
)
def test_what_cannot_be_folded_is_named(step, words):
    X = TRAIN[0][["age", "months"]].round()
    model = make_pipeline(step, KNeighborsClassifier(1)).fit(X, TRAIN[1])
    if words is None:  # only known values reach the vote
        return
    with pytest.raises(ValueError, match=words):
        certify(model, X[:3])


def test_words_that_reach_a_scaler_are_named():
    front = ColumnTransformer([("c", OrdinalEncoder(), ["job"]), ("n", "passthrough", ["age"])])
    model = make_pipeline(front, StandardScaler(), KNeighborsClassifier(1)).fit(*TRAIN)
    assert (certify(model, TEST, n_jobs=1).radius >= 0).all()
    with pytest.raises(ValueError, match="'age' holds words"):
        certify(model, TEST.assign(age="old"))


@pytest.mark.parametrize("encoder", [OrdinalEncoder(), OneHotEncoder(), one_hot])
def test_numbers_in_a_column_of_words_are_named(encoder):
    """As after a recoding of yes to 1; scikit-learn raises a TypeError that names no column."""
    model = make_pipeline(ColumnTransformer([("c", encoder, ["job"])]), KNeighborsClassifier(1)).fit(*TRAIN)
    for numbers in (TEST.assign(job=1.0), TEST.assign(job=np.arange(len(TEST)))):
        with pytest.raises(ValueError, match="'job' holds numbers, but the model was fitted on words there, such as"):
            certify(model, numbers)


def test_poisoning_at_the_jumps_of_a_quantile_transformer():
    """Rounded values, scaled: which side of a jump the model sees is up to rounding, and so are the votes."""
    hurt = 0
    for seed in range(290, 296):
        rng = np.random.default_rng(seed)
        x = np.round(rng.normal(size=40), 1) * rng.choice([1.0, 0.1, 3.7])
        X, y = np.column_stack([x, 0.01 * rng.normal(size=40)]), rng.integers(0, 2, 40)
        model = make_pipeline(StandardScaler(), QuantileTransformer(n_quantiles=40), KNeighborsClassifier(5)).fit(X, y)
        voters = model[-1].kneighbors(model[:-1].transform(X), return_distance=False)
        lead = np.abs(2 * y[voters].sum(axis=1) - 5)
        tolerance = poisoning_tolerance(model, X)
        assert (tolerance <= np.maximum((lead + 1) // 2 - 1, 0)).all()
        hurt += int((tolerance > 0).sum())
    assert hurt > 20
