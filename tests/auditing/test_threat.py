"""Audits under a threat: what was allowed to move, and whether the answer depends on a column."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import holdfast
from holdfast import Threat, certify
from holdfast.auditing.encoded_threat import encoded_threat
from holdfast.certificates.columns import Encoding
from holdfast.report import render_html, render_markdown

THREAT = Threat(
    norm=np.inf,
    unit={"owed": 10, "paid": 10},
    only_up=["age"],
    integer=["age"],
    free=["sex"],
    relations=[({"paid": 1, "owed": -1}, "<=", 0)],
)


def loans(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 60, n), "owed": rng.uniform(10, 100, n).round()})
    table["paid"] = (table["owed"] * rng.uniform(0, 1, n)).round()
    table["house"], table["sex"] = rng.choice(["own", "rent", "other"], n), rng.choice(["f", "m"], n)
    table["answer"] = np.where(table["paid"] > table["owed"] / 2 + 8 * (table["sex"] == "f"), "good", "bad")
    return table


@pytest.fixture(scope="module")
def audited():
    return holdfast.audit(
        loans(),
        "answer",
        threat=THREAT,
        sensitive=["sex", "house"],
        radius=1.0,
        models=["logistic"],
        tune="none",
        test_size=0.2,
        explain=1,
    )


@pytest.fixture(scope="module")
def used():
    """The audit of a pipeline that takes words."""
    table = loans()
    X, y = table.drop(columns="answer"), table["answer"]
    numbers = (StandardScaler(), ["age", "owed", "paid"])
    encoder = make_column_transformer(numbers, (OneHotEncoder(), ["house", "sex"]))
    model = make_pipeline(encoder, LogisticRegression()).fit(X[:80], y[:80])
    return holdfast.audit(model=model, X=X[80:100], y=y[80:100], threat=THREAT, radius=1.0, explain=1)


def test_moves_are_those_of_the_threat(audited):
    table, found = loans(), audited.certificates["logistic"]
    rows, names = audited.X_test, audited.feature_names
    moved = np.isfinite(found.adversarial).all(axis=1)
    assert moved.any()
    before, after = (pd.DataFrame(each[moved], columns=names) for each in (rows, found.adversarial))
    assert (after["age"] >= before["age"]).all()
    assert (after["age"] % 1 == 0).all()
    assert (after["paid"] <= after["owed"]).all()
    np.testing.assert_array_equal(after.filter(like="house="), before.filter(like="house="))
    assert (after.filter(like="sex=").to_numpy() != before.filter(like="sex=").to_numpy()).any()
    sizes = np.abs(after - before)[["age", "owed", "paid"]].to_numpy() / [1, 10, 10]
    np.testing.assert_allclose(sizes.max(axis=1), found.upper[moved], rtol=1e-9)
    assert audited.units == "units of the threat"
    width = table[["owed", "paid"]].max() - table[["owed", "paid"]].min()
    assert audited.extent == pytest.approx(max(width.max() / 10, np.ptp(table["age"])))


def test_without_units_sizes_are_in_standard_deviations():
    result = holdfast.audit(loans(), "answer", threat=Threat(norm=np.inf), models=["logistic"], tune="none", explain=0)
    model = result.models["logistic"]
    threat = Threat(np.inf, unit=result.scale, frozen=result.encoder.frozen_)
    np.testing.assert_array_equal(
        result.certificates["logistic"].radius, certify(model, result.X_test, threat=threat).radius
    )
    assert result.units == "standard deviations"
    plain = holdfast.audit(loans(), "answer", models=["logistic"], tune="none", explain=0).summary()
    assert plain["threat"]["sentences"][-1] == (
        "house and sex cannot change: they hold categories, which change only if the threat says so."
    )
    assert plain["dependence"] == []


def test_shares_are_those_of_all_values(audited):
    told = {each.column: each for each in audited.dependence}
    assert list(told) == ["sex", "house"]
    rows, model, names = audited.X_test, audited.models["logistic"], audited.feature_names
    for column, each in told.items():
        members = [k for k, name in enumerate(names) if name.startswith(f"{column}=")]
        depends = np.zeros(len(rows), bool)
        for value in np.eye(len(members)):
            changed = rows.copy()
            changed[:, members] = value
            depends |= model.predict(changed) != model.predict(rows)
        found = each.alone["logistic"]
        assert found.dependent == pytest.approx(depends.mean())
        assert found.undecided == 0.0
        assert each.within["logistic"].independent <= found.independent


def test_the_report_says_it_in_every_form(audited):
    summary = audited.summary()
    json.dumps(summary, allow_nan=False)
    html, markdown = render_html(summary), render_markdown(summary)
    for text in (html, markdown):
        for sentence in (
            "What was allowed to move",
            "age can only grow.",
            "house cannot change: it holds categories",
            "units of the threat",
        ):
            assert sentence in text
        for column in ("sex", "house"):
            assert f"Does the answer depend on {column}?" in text
        assert "change sex from" in text
    for each in summary["dependence"]:
        shares = each["models"]["logistic"]["alone"]
        assert shares["independent"] + shares["dependent"] + shares["undecided"] == pytest.approx(1.0)
    weakest = summary["predictions"]["logistic"]["least"][0]
    assert weakest["changes"][0]["feature"] == "sex"
    assert {weakest["changes"][0]["from"], weakest["changes"][0]["to"]} == {"f", "m"}
    del summary["threat"], summary["dependence"], summary["radius"]["units"]  # as written before there were threats
    assert "allowed to move" not in render_html(summary) + render_markdown(summary)


def test_words_of_a_model_in_use(used):
    (each,) = used.dependence
    assert each.column == "sex"
    model, rows = used.models["yours"], used.rows_given
    other = rows.assign(sex=np.where(rows["sex"] == "f", "m", "f"))
    assert each.alone["yours"].dependent == pytest.approx((model.predict(other) != model.predict(rows)).mean())
    summary = used.summary()
    assert "sex may take any of its values in the rows of training, at no cost." in summary["threat"]["sentences"]
    told = "house cannot change: it holds categories, which change only if the threat says so."
    assert told in summary["threat"]["sentences"]
    example = summary["dependence"][0]["examples"][0]
    assert example["becomes"] != example["prediction"]
    assert "sex from" in example["sentence"]
    assert "Does the answer depend on sex?" in render_html(summary)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"threat": Threat(only_up=["height"])}, "only_up names 'height', but the columns are age, owed, paid"),
        ({"threat": Threat(unit={"height": "std"})}, "unit names 'height'"),
        ({"threat": Threat(free=["height"])}, "free names 'height', but the columns are"),
        ({"threat": Threat(only_down=["house"])}, "only_down names 'house', which holds categories"),
        ({"sensitive": ["race"]}, "sensitive names 'race', but the columns are house, sex, age, owed, paid"),
    ],
)
def test_wrong_names_are_told_before_any_work(options, told):
    with pytest.raises(ValueError, match=told):
        holdfast.audit(loans(), "answer", **options)


def test_numbers_as_sensitive_columns():
    reports = []
    result = holdfast.audit(
        loans(60),
        "answer",
        threat=Threat(frozen=["age"]),
        sensitive=["age"],
        models=["logistic"],
        tune="none",
        explain=0,
        progress=lambda *report: reports.append(report),
    )
    counts = [done for stage, done, _ in reports if stage == "Does the answer depend on age?"]
    n = len(result.X_test)
    assert counts == sorted(counts)
    assert {0, n, 2 * n} <= set(counts)  # of one model: the column alone, then with moves besides
    assert next(total for stage, _, total in reports if stage.startswith("Does")) == 2 * n * len(result.models)
    told = result.summary()
    assert told["threat"]["sentences"][-2:] == [
        "age cannot change.",
        "house and sex cannot change: they hold categories, which change only if the threat says so.",
    ]
    ages = np.unique(result.X_train[:, 0])
    model = result.models["logistic"]
    changed = [model.predict(np.column_stack([np.full(len(result.X_test), a), result.X_test[:, 1:]])) for a in ages]
    depends = (np.array(changed) != model.predict(result.X_test)).any(axis=0)
    assert result.dependence[0].alone["logistic"].dependent == pytest.approx(depends.mean())


def test_numbers_that_the_model_encodes_are_what_the_threat_says(tmp_path):
    table = loans()
    X, y = table.drop(columns="answer").assign(rooms=np.arange(len(table)) % 5), table["answer"]
    encoder = make_column_transformer((StandardScaler(), ["age", "owed"]), (OneHotEncoder(), ["house", "rooms"]))
    model = make_pipeline(encoder, LogisticRegression()).fit(X[:80], y[:80])
    asked = {"model": model, "X": X[80:100], "y": y[80:100], "explain": 0}
    with pytest.raises(ValueError, match=r"Column 'rooms' holds numbers that an encoder reads.*integer=\['rooms'\]"):
        holdfast.audit(**asked)
    result = holdfast.audit(**asked | {"explain": 2}, threat=Threat(integer=["rooms"]))
    assert result.explained is None
    assert "No row is explained" in " ".join(result.notes)
    assert result.summary()["threat"]["frozen"] == {"paid": "no step reads it", "house": "words", "sex": "words"}
    moved = result.certificates["yours"].adversarial
    rooms = moved[np.isfinite(moved).all(axis=1)][:, result.feature_names.index("rooms")]
    assert (rooms == rooms.round()).all()
    still = holdfast.audit(**asked, threat=Threat(frozen=["rooms"]))
    assert still.summary()["threat"]["frozen"]["rooms"] == "by the threat"


def test_a_threat_on_raw_columns_is_one_on_encoded_columns():
    names = ["age", "job=a", "job=b", "race=x", "race=y", "paid"]
    groups = {"job": [1, 2], "race": [3, 4]}
    raw = Threat(only_up=["age"], unit={"paid": 10}, free=["race"], relations=[({"paid": 1, "age": -1}, "<=", 9)])
    moves = encoded_threat(raw, names, groups).bind(Encoding(6))
    assert np.flatnonzero(moves.frozen).tolist() == [1, 2, 3, 4]
    assert moves.categories.groups[0].columns.tolist() == [3, 4]
    assert moves.unit.tolist() == [1, 1, 1, 1, 1, 10]
    np.testing.assert_array_equal(moves.relations[0], [[-1, 0, 0, 0, 0, 1]])
    still = Threat(frozen=["race", "age"])
    assert np.flatnonzero(encoded_threat(still, names, groups).bind(Encoding(6)).frozen).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError) as caught:
        encoded_threat(Threat(only_up=["job"], frozen=["zip"], free={"race": ["x"]}), names, groups)
    for part in ("only_up names 'job', which holds categories", "frozen names 'zip'", "some of the values of 'race'"):
        assert part in str(caught.value)
