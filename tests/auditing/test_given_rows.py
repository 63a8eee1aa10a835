"""The rows of an audit of a user's own model: read as certify reads them, units of the rows they are said to be of."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import holdfast
from holdfast import CertifiedKNeighborsClassifier, Threat, certify
from holdfast.datasets import TableEncoder
from holdfast.report import render_html, render_markdown

COLUMNS = ["a", "b", "c"]


def rows(n: int = 90, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers of three scales, and labels that follow their sum."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3))
    return pd.DataFrame(Z * [5.0, 0.5, 2.0] + [20.0, 1.0, 0.0], columns=COLUMNS), (Z.sum(axis=1) > 0).astype(int)


X, Y = rows()
TRAIN, TEST = slice(0, 60), slice(60, 90)


def audited(model, X_test=X[TEST], y_test=Y[TEST], **options):
    return holdfast.audit(model=model, X=X_test, y=y_test, explain=0, **options)


@pytest.mark.parametrize("kind", [object, Decimal, "mixed"])
def test_numbers_of_dtype_object_are_numbers(kind):
    """As SQL, Decimal and frames of several kinds give them."""
    model = KNeighborsClassifier(1).fit(X[TRAIN], Y[TRAIN])
    given = X.map(Decimal) if kind is Decimal else X.astype(object)
    if kind == "mixed":
        given = X.assign(a=X["a"].astype(object), b=X["b"].astype("Float64"))
    plain = audited(model, reference=(X[TRAIN], Y[TRAIN]))
    result = audited(model, given[TEST], reference=(given[TRAIN], Y[TRAIN]))
    assert not result.frozen.any()
    assert not result.words
    np.testing.assert_array_equal(result.scale, plain.scale)
    np.testing.assert_array_equal(result.X_test, plain.X_test)
    np.testing.assert_array_equal(result.certificates["yours"].radius, plain.certificates["yours"].radius)
    witness = result.certificates["yours"].adversarial
    found = np.isfinite(witness).all(axis=1)
    assert found.any()
    changed = model.predict(pd.DataFrame(witness[found], columns=COLUMNS))
    assert (changed != result.certificates["yours"].prediction[found]).all()
    assert not any("cannot change" in told for told in result.summary()["threat"]["sentences"])


def test_numbers_of_dtype_object_have_standard_deviations():
    """In certify: units from reference rows whose dtype is object."""
    model = KNeighborsClassifier(1).fit(X[TRAIN], Y[TRAIN])
    threat = Threat(unit="std")
    plain, given = (
        certify(model, X[TEST], threat=threat, reference=(known, Y[TRAIN])).radius
        for known in (X[TRAIN], X[TRAIN].astype(object))
    )
    np.testing.assert_array_equal(given, plain)
    with pytest.raises(ValueError, match="unit names 'age', but the rows of training have no such column"):
        certify(model, X[TEST], threat=Threat(unit={"age": "std"}), reference=(X[TRAIN], Y[TRAIN]))


@pytest.mark.parametrize("unit", ["range", {"a": "range"}])
@pytest.mark.parametrize("model", [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())])
def test_ranges_need_the_rows_of_training(unit, model):
    model.fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match="needs rows of training: give the audit reference="):
        audited(model, threat=Threat(unit=unit))
    result = audited(model, threat=Threat(np.inf, unit="range"), reference=(X[TRAIN], Y[TRAIN]))
    np.testing.assert_allclose(result.allowed.threat.unit, np.ptp(X[TRAIN].to_numpy(), axis=0))
    assert "Changes count in ranges of the rows of training." in result.allowed.sentences()


def test_deviations_of_the_rows_of_the_audit_are_said_to_be_theirs():
    model = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    result = audited(model)
    np.testing.assert_allclose(result.scale, X[TEST].to_numpy().std(axis=0))
    summary = result.summary()
    assert summary["radius"]["units"] == result.units == "standard deviations of these 30 rows"
    assert result.certificates["yours"].units == result.units
    assert "Changes count in standard deviations of these 30 rows." in summary["threat"]["sentences"]
    assert any("The rows of training are not known" in note for note in summary["notes"])
    with pytest.raises(ValueError, match="One row has no standard deviation"):
        audited(model, X[60:61], Y[60:61])
    assert len(audited(model, X[60:61], Y[60:61], threat=Threat(unit={"a": 2.0})).X_test) == 1
    constant = audited(model, X[TEST].assign(b=1.0), Y[TEST])
    assert any("counted in units of 1: b" in note for note in constant.notes)


def test_a_model_that_knows_its_rows_is_measured_by_them():
    own = CertifiedKNeighborsClassifier(None, 1).fit(X[TRAIN], Y[TRAIN])
    behind = make_pipeline(StandardScaler(), KNeighborsClassifier(1)).fit(X[TRAIN], Y[TRAIN])
    for model in (own, behind):
        result = audited(model)
        np.testing.assert_allclose(result.scale, X[TRAIN].to_numpy().std(axis=0))
        assert result.units == "standard deviations"
        assert "Changes count in standard deviations of the rows of training." in result.allowed.sentences()
    ranges = audited(own, threat=Threat(unit="range"))
    np.testing.assert_allclose(ranges.allowed.threat.unit, np.ptp(X[TRAIN].to_numpy(), axis=0))


def test_values_of_a_number_are_counted_and_their_rows_named():
    ages = X.assign(a=X["a"].round())
    model = LogisticRegression(max_iter=1_000).fit(ages[TRAIN], Y[TRAIN])
    for known, where in (((ages[TRAIN], Y[TRAIN]), "the rows of training"), (None, "these 30 rows")):
        result = audited(model, ages[TEST], threat=Threat(free=["a"]), reference=known)
        count = ages[TRAIN if known else TEST]["a"].nunique()
        assert f"a may take any of its {count} values in {where}, at no cost." in result.allowed.sentences()
        (column,) = result.summary()["dependence"]
        assert column["values"] == f"another of the {count} values in {where}"
        assert f"no change of a to another of the {count} values in {where} changes" in column["sentences"][0]


@pytest.mark.parametrize("named", [True, False])
def test_a_number_is_a_position_and_a_word_is_a_name(named):
    """Columns that are called by digits: 1 is the second column, "1" the one of that name."""
    table = X.set_axis(["1", "2", "0"], axis=1)
    model = LogisticRegression().fit(table[TRAIN] if named else X[TRAIN].to_numpy(), Y[TRAIN])
    test = table[TEST] if named else X[TEST].to_numpy()
    unit = {0: 5.0, 1: 0.5, 2: 2.0}
    for still in ([1], ["2"]) if named else ([1],):
        by_hand = certify(model, test, threat=Threat(unit=unit, frozen=still))
        moved = np.isfinite(by_hand.upper)
        np.testing.assert_array_equal(by_hand.adversarial[moved, 1], X[TEST].to_numpy()[moved, 1])
        result = audited(model, test, threat=Threat(unit=unit, frozen=still))
        assert result.frozen.tolist() == [False, True, False]
        np.testing.assert_array_equal(result.certificates["yours"].radius, by_hand.radius)
    if named:
        free = Threat(unit={2: "std", "1": "range"}, free=[1]).fitted_to(table)
        assert free.unit == {2: pytest.approx(table["0"].std(ddof=0)), "1": pytest.approx(np.ptp(table["1"]))}
        assert free.free == {1: sorted(table["2"])}


def test_words_that_an_encoder_was_not_fitted_on_are_counted():
    table = X.assign(site=np.array(["hill", "lake"])[Y])
    encode = ColumnTransformer(
        [("words", OneHotEncoder(handle_unknown="ignore"), ["site"]), ("numbers", StandardScaler(), COLUMNS)]
    )
    model = make_pipeline(encode, LogisticRegression()).fit(table[TRAIN], Y[TRAIN])
    strange = table[TEST].assign(site=["sea", *table["site"][61:90]])
    result = audited(model, strange)
    assert any("1 of 30 rows hold values that the model was not trained on" in note for note in result.notes)
    assert any("'sea'" in note for note in result.notes)
    assert not any("not trained on" in note for note in audited(model, table[TEST]).notes)


@pytest.mark.parametrize("kind", ["float", "bool", "int", "string"])
def test_labels_of_every_type(kind):
    labels = {"float": Y.astype(float), "bool": Y == 1, "int": Y, "string": np.array(["no", "yes"])[Y]}[kind]
    model = make_pipeline(MinMaxScaler(), LogisticRegression()).fit(X[TRAIN], labels[TRAIN])
    result = audited(model, X[TEST], labels[TEST], reference=(X[TRAIN], labels[TRAIN]))
    assert result.scores()["yours"]["accuracy"] == pytest.approx(model.score(X[TEST], labels[TEST]))


@pytest.fixture(scope="module")
def encoded():
    """A pipeline that encodes words and whole numbers, and does not read every column; its table and labels."""
    rng = np.random.default_rng(0)
    table = X.assign(rooms=rng.integers(1, 5, len(X)), site=np.array(["hill", "lake"])[rng.integers(0, 2, len(X))])
    y = (X["a"] / 5 - 4 + table["rooms"] - 2.5 > 0).astype(int).to_numpy()
    encode = ColumnTransformer(
        [
            ("words", OneHotEncoder(handle_unknown="ignore"), ["rooms", "site"]),
            ("numbers", StandardScaler(), ["a", "b"]),
        ]
    )
    return make_pipeline(encode, LogisticRegression(C=10.0)).fit(table[TRAIN], y[TRAIN]), table, y


def test_the_report_says_which_columns_are_frozen_and_why(encoded):
    model, table, y = encoded
    told = audited(model, table[TEST], y[TEST], threat=Threat(frozen=["rooms", "b"])).summary()["threat"]
    assert told["frozen"] == {"rooms": "by the threat", "b": "by the threat", "site": "words", "c": "no step reads it"}
    assert "site cannot change: it holds categories, which change only if the threat says so." in told["sentences"]
    assert "c cannot change the answer: no step of the model reads it." in told["sentences"]


@pytest.mark.parametrize("threat", [Threat(integer=["rooms"]), Threat(free=["rooms"])])
def test_numbers_under_an_encoder_move_as_the_threat_says(encoded, threat):
    model, table, y = encoded
    given = table.assign(rooms=table["rooms"].astype(object))
    result = holdfast.audit(
        model=model, X=given[TEST], y=y[TEST], reference=(given[TRAIN], y[TRAIN]), threat=threat, explain=1
    )
    found = result.certificates["yours"]
    unit = pd.Series(result.scale, index=table.columns)[["a", "b", "c", "rooms"]].to_dict()
    with_units = Threat(**threat.get_params() | {"unit": unit})
    by_hand = certify(model, table[TEST], threat=with_units, reference=(table[TRAIN], y[TRAIN]))
    np.testing.assert_array_equal(found.radius, by_hand.radius)
    seen = np.flatnonzero(np.isfinite(found.upper))
    rooms = list(table.columns).index("rooms")
    assert (found.adversarial[seen, rooms] != table[TEST]["rooms"].to_numpy()[seen]).any()
    assert (result.predict("yours", found.adversarial[seen], seen) != found.prediction[seen]).all()


def test_columns_that_happen_to_be_whole_are_no_whole_numbers():
    """The encoder knows which were whole in training; without it the report says which rows it looked at."""
    test = X[TEST].assign(a=X[TEST]["a"].round())
    model = make_pipeline(TableEncoder(), StandardScaler(), LogisticRegression()).fit(X[TRAIN], Y[TRAIN])
    result = holdfast.audit(model=model, X=test, y=Y[TEST], explain=3)
    assert result.explained.whole == []
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[TRAIN], Y[TRAIN])
    summary = holdfast.audit(model=plain, X=test, y=Y[TEST], explain=3).summary()
    assert summary["counterfactuals"]["whole"] == ["a"]
    assert "whole numbers in these rows stay whole (a)" in render_markdown(summary)
    assert "olumns of whole numbers in these rows stay whole" in render_html(summary)
    known = holdfast.audit(model=plain, X=test, y=Y[TEST], reference=(X[TRAIN], Y[TRAIN]), explain=3)
    assert known.explained.whole == []
