"""Pipelines that take tables in model files: read back whole, and refused once their parts no longer fit together."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from holdfast import certify, load, save
from holdfast.datasets import Reading, TableEncoder
from holdfast.datasets.columns import Days

rng = np.random.default_rng(0)
X = pd.DataFrame(
    {"age": rng.integers(18, 80, 60), "income": rng.lognormal(1, 1, 60), "job": rng.choice(list("abc"), 60)}
)
X.loc[::9, "income"] = np.nan
y = np.where((X.age > 45) ^ (X.job == "a"), "yes", "no")


def made(words=None, last=None, **options):
    words = OneHotEncoder(handle_unknown="ignore") if words is None else words
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    front = ColumnTransformer([("n", numbers, ["age", "income"]), ("w", words, ["job"])], **options)
    return make_pipeline(front, last or KNeighborsClassifier(3)).fit(X, y)


MODELS = {
    "one-hot": made(),
    "dropped": made(OneHotEncoder(drop="first"), LogisticRegression()),
    "ordinal": made(OrdinalEncoder(), sparse_threshold=0, remainder="passthrough"),
    "union": make_pipeline(
        SimpleImputer(), FeatureUnion([("a", StandardScaler()), ("b", "passthrough")]), KNeighborsClassifier(1)
    ).fit(X[["age", "income"]], y),
}


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(tmp_path, name):
    model = MODELS[name]
    again, rows = load(save(model, tmp_path / "m.holdfast")), X[list(model.feature_names_in_)][:12]
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    one, other = (certify(each, rows, method="lower", witness=False).radius for each in (model, again))
    np.testing.assert_array_equal(one, other)


def _front(model):
    return model[0].named_transformers_


BREAKS = {
    "a category twice": lambda m: _front(m)["w"].categories_.__setitem__(0, np.array(list("aab"), dtype=object)),
    "fewer categories": lambda m: _front(m)["w"].categories_.__setitem__(0, np.array(list("ab"), dtype=object)),
    "a category that is a list": lambda m: _front(m)["w"].categories_[0].__setitem__(0, ["x"]),
    "an infinite filling": lambda m: _front(m)["n"][0].statistics_.__setitem__(0, np.inf),
    "an indicator of no column": lambda m: setattr(_front(m)["n"][0].indicator_, "features_", np.array([7])),
    "columns swapped": lambda m: m[0].transformers_.__setitem__(0, ("n", _front(m)["n"], ["income", "age"])),
    "a column that is not there": lambda m: m[0].transformers_.__setitem__(1, ("w", _front(m)["w"], [9])),
    "places that overlap": lambda m: m[0].output_indices_.__setitem__("w", slice(0, 3)),
    "a weight that is no number": lambda m: setattr(m[0], "transformer_weights", {"n": float("nan")}),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_model_that_was_changed_is_refused(tmp_path, name):
    model = made()
    BREAKS[name](model)
    with pytest.raises(ValueError, match=r"must|does not agree|are not|names a column|incomplete"):
        save(model, tmp_path / "m.holdfast")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (made(OneHotEncoder(min_frequency=0.3, handle_unknown="infrequent_if_exist")), "min_frequency"),
        (
            make_pipeline(ColumnTransformer([("n", SimpleImputer(), make_column_selector(dtype_include="number"))]),
                          KNeighborsClassifier(1)).fit(X, y),
            "lists of columns",
        ),
    ],
    ids=["counts", "selector"],
)  # fmt: skip
def test_what_a_file_cannot_hold_is_said(tmp_path, model, words):
    with pytest.raises(ValueError, match=words):
        save(model, tmp_path / "m.holdfast")


def test_how_a_table_was_read_is_in_the_file(tmp_path):
    """And checked; a file of an earlier version has nothing of it."""
    frame = pd.DataFrame({"d": ["1/31/2024", "2/1/2024"] * 4, "n": [1.0, -999, 3, 4.5] * 2})
    encoder = TableEncoder(dates=["d"], reading=Reading(",", missing=("-999",)))
    model = make_pipeline(encoder, StandardScaler(), KNeighborsClassifier(1)).fit(frame, [0, 1, 1, 0] * 2)
    found = load(save(model, tmp_path / "m.holdfast"))[0]
    assert (
        found.reading_
        == encoder.reading_
        == Reading(",", None, ("-999",), {"d": Days("month", 19753.0, 19754.0)}, ["d"])
    )
    wrong_ones = (Reading(";"), Reading(whole=["x"]), Reading(missing=[1]), Reading(dates={"d": Days("year")}), {})
    for wrong in wrong_ones:
        model.set_params(tableencoder__reading=None)
        model[0].reading_ = wrong
        with pytest.raises(ValueError, match="reading_"):
            save(model, tmp_path / "n.holdfast")
    del model[0].reading_, model[0].reading
    found = load(save(model, tmp_path / "o.holdfast"))[0]
    assert found.transform(frame[:1]).tolist() == [[19753, 1]]
    assert found.transform(frame[1:2].assign(d="2024-02-01")).tolist() == [[19754, -999]]
