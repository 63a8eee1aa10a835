"""The audit of a model that is already in use."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import holdfast
from holdfast import Threat, certify
from holdfast.report import render_html


@pytest.fixture(scope="module")
def wine():
    data = load_wine(as_frame=True)
    X, y = data.data, pd.Series(data.target_names[data.target])
    train = np.arange(len(y)) % 3 != 0
    return X[train], y[train], X[~train], y[~train]


@pytest.mark.parametrize("names", [True, False])
def test_a_pipeline_as_it_is(wine, names):
    X_train, y_train, X_test, y_test = wine if names else tuple(np.asarray(part) for part in wine)
    model = make_pipeline(MinMaxScaler(), PCA(5), KNeighborsClassifier(3)).fit(X_train, y_train)
    result = holdfast.audit(
        model=model, X=X_test, y=y_test, reference=(X_train, y_train), budget=50, explain=int(names)
    )
    assert set(result.models) == {"yours", "logistic", "knn"}
    unit = np.asarray(X_train, dtype=float).std(axis=0)
    by_hand = certify(
        model, X_test, np.asarray(y_test), threat=Threat(unit=unit), reference=(X_train, y_train), budget=50
    )
    np.testing.assert_array_equal(result.certificates["yours"].radius, by_hand.radius)
    summary = result.summary()
    assert summary["models"][0]["method"] == "KNeighborsClassifier"
    html = render_html(summary)
    assert "KNeighborsClassifier" in html
    if names:
        assert summary["predictions"]["yours"]["least"][0]["id"] is None
        assert summary["data"]["n_train"] == len(X_train)


def test_without_a_reference_there_is_only_the_most_frequent_answer(wine):
    X_train, y_train, X_test, y_test = wine
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
    result = holdfast.audit(model=model, X=X_test, y=y_test, explain=1)
    assert set(result.models) == {"yours"}
    np.testing.assert_array_equal(result.scale, model[0].scale_)
    told = result.summary()["verdict"]["sentence"]
    assert told.startswith("LogisticRegression: ")
    assert "always answering" in told
    assert any("reference" in note for note in result.notes)
    assert result._repr_html_().startswith("<iframe srcdoc=")


def test_a_table_with_the_target_in_it(wine, tmp_path):
    X_train, y_train, X_test, y_test = wine
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
    table = X_test.assign(grower=y_test)
    first = holdfast.audit(table, "grower", model=model, explain=0)
    table.to_csv(tmp_path / "t.csv", index=False)
    second = holdfast.audit(tmp_path / "t.csv", "grower", model=model, explain=0)
    np.testing.assert_allclose(first.certificates["yours"].radius, second.certificates["yours"].radius)


def test_a_saved_model_with_words_in_its_table(tmp_path):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 200)
    frame = pd.DataFrame({"a": rng.normal(size=200) + 3 * kind, "b": rng.normal(size=200),
                          "site": rng.choice(["hill", "lake"], 200), "y": np.array(["no", "yes"])[kind]})  # fmt: skip
    trained = holdfast.audit(frame[:140], "y", tune="none", models=["knn"], explain=0)
    model = holdfast.load(holdfast.save(trained.model(), tmp_path / "m.holdfast"))
    X, y = frame[140:].drop(columns="y"), frame["y"][140:]
    known = frame.iloc[trained.train_rows - 1]
    result = holdfast.audit(model=model, X=X, y=y, reference=(known.drop(columns="y"), known["y"]), explain=1)
    assert result.feature_names == ["a", "b", "site=hill", "site=lake"]
    assert set(result.models) == {"yours", "logistic", "knn"}
    summary = result.summary()
    assert {group["category"] for group in summary["subgroups"]} == {"hill", "lake"}
    assert summary["data"]["n_columns"] == 3
    moved = result.certificates["yours"].adversarial - result.X_test
    assert np.nanmax(np.abs(moved[:, 2:])) == 0


def test_what_is_missing_is_said(wine):
    X_train, y_train, X_test, y_test = wine
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
    for arguments, said in (
        ({"model": model}, "needs rows"),
        ({"model": model, "X": X_test}, "no labels"),
        ({"model": model, "X": X_test, "y": y_test[:3]}, "one label for each"),
        ({"model": model, "X": X_test.drop(columns="ash"), "y": y_test}, "lack the columns 'ash'"),
        ({}, "Give a table"),
        ({"data": X_test, "X": X_test}, "are for audit"),
    ):
        with pytest.raises(ValueError, match=said):
            holdfast.audit(**arguments)
