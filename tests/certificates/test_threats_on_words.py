"""Threats and counterfactuals on columns of words, behind a ColumnTransformer."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from holdfast import Threat, certify, counterfactuals

UNIT = {"age": 1.0, "income": 100.0}
MODELS = {"neighbours": KNeighborsClassifier(3), "linear": LogisticRegression()}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 160
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "income": rng.normal(3000, 800, n),
            "race": rng.choice(list("abc"), n),
            "job": rng.choice(["x", "y"], n),
        }
    )
    frame.loc[125, "age"] = np.nan
    y = np.where(frame.income / 800 + (frame.race == "a") + rng.normal(0, 0.5, n) > 4, "yes", "no")
    return frame, y


@pytest.fixture(scope="module", params=MODELS)
def model(request, table):
    X, y = table
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    front = ColumnTransformer([("n", numbers, ["age", "income"]), ("c", OneHotEncoder(), ["race", "job"])])
    return make_pipeline(front, MODELS[request.param]).fit(X[:120], y[:120])


def test_a_free_word_takes_every_value(model, table):
    X, y = table[0][120:], table[1][120:]
    found = certify(model, X, y, threat=Threat(norm=np.inf, unit=UNIT, free=["race"]), at=0.5)
    verdicts = found.stable
    stable = np.array([verdict is True for verdict in verdicts])
    assert stable.any()
    assert (verdicts == False).any()  # noqa: E712
    rng = np.random.default_rng(1)
    for _ in range(60):
        moved = X.copy()
        moved["race"] = rng.choice(list("abc"), len(X))
        for name, unit in UNIT.items():
            moved[name] += 0.5 * unit * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], len(X))
        assert (model.predict(moved) == found.prediction)[stable].all()
    broken = np.array([verdict is False for verdict in verdicts])
    witness = found.adversarial[broken]
    assert (model.predict(witness) != found.prediction[broken]).all()
    assert (witness["job"] == X["job"][broken]).all()
    for name, unit in UNIT.items():
        move = (witness[name].astype(float) - X[name][broken]).dropna()
        assert (move.abs() <= 0.5 * unit * (1 + 1e-9)).all()


def test_more_values_never_have_a_larger_radius(model, table):
    X = table[0][120:]
    threats = [Threat(unit=UNIT), Threat(unit=UNIT, free={"race": ["a", "b"]}), Threat(unit=UNIT, free=["race"])]
    radii = [certify(model, X, threat=threat, witness=False).radius for threat in threats]
    for more, fewer in zip(radii[1:], radii, strict=False):
        assert (more <= fewer * (1 + 1e-9)).all()


def test_what_is_wrong_is_said_at_once(model, table):
    with pytest.raises(ValueError, match=r"names 'z', which the model does not know.*'a', 'b', 'c'.*'agee'"):
        certify(model, table[0][120:], threat=Threat(free={"race": ["z"]}, frozen=["agee"]))


def test_counterfactuals_keep_words_and_gaps(model, table):
    X = table[0][120:130]
    threat = Threat(norm=1, unit=UNIT, only_up=["age"])
    found = counterfactuals(model, X, threat=threat, reference=(table[0][:120], table[1][:120]))
    assert found.valid.all()
    assert (model.predict(found.points) != model.predict(X)).all()
    pd.testing.assert_frame_equal(found.points[["race", "job"]], X[["race", "job"]], check_dtype=False)
    assert np.isnan(found.points["age"].loc[125])
    grown = found.points["age"].astype(float) - X["age"]
    assert (grown.dropna() >= 0).all()
    assert set(found.changes["column"]) <= {"age", "income"}
    assert (found.lower_bound <= found.size * (1 + 1e-9)).all()


def test_counterfactuals_change_the_words_they_may(model, table):
    """Against every choice of words by hand, each with the numbers alone."""
    X, reference = table[0][120:126], (table[0][:120], table[1][:120])
    threat = Threat(unit=UNIT, free=["race"], categories=["job"], max_changes=1)
    found = counterfactuals(model, X, "yes", threat=threat, reference=reference, rounding=0.0)
    best, bound = np.full(len(X), np.inf), np.full(len(X), np.inf)
    for race in "abc":
        for job in "xy":
            recoded = X.assign(race=race, job=job)
            alone = Threat(unit=UNIT)
            by_hand = counterfactuals(model, recoded, "yes", threat=alone, reference=reference, rounding=0.0)
            best, bound = np.minimum(best, by_hand.size), np.minimum(bound, by_hand.lower_bound)
    np.testing.assert_allclose(found.size, best, rtol=1e-6)
    assert (found.lower_bound <= best * (1 + 1e-9)).all()
    assert (found.lower_bound >= bound * (1 - 1e-9)).all()
    assert (model.predict(found.points) == "yes").all()
    assert found.closest.all()
    assert set(found.status) <= {"already", "found"}
    words = found.changes[found.changes["column"].isin(["race", "job"])]
    assert len(words)
    for line in words.itertuples(index=False):
        assert (line.column, line[3]) == (line.column, X.loc[line.row, line.column])
        assert line.to == found.points.loc[line.row, line.column] != line[3]


def test_words_are_counted_among_the_features(model, table):
    X, reference = table[0][126:130], (table[0][:120], table[1][:120])
    threat = Threat(unit=UNIT, free=["race", "job"])
    found = counterfactuals(model, X, threat=threat, reference=reference, max_features=1, n=2)
    assert (found.to_frame()["changes"] <= 1).all()
    assert (found.valid | np.isinf(found.lower_bound)).any()
    pairs = [found.changes[found.changes["row"] == row].groupby("number")["column"].agg(set) for row in X.index]
    for pair in pairs:  # the second answer leaves the main feature of the first alone
        assert len(pair) < 2 or not pair[1] & pair[2]
    assert any("no number has to change" in text for text in found.sentences()) == bool((found.size == 0).any())
