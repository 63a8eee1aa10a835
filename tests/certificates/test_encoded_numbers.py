"""Columns of numbers under an encoder: refused until the threat says what they are, then held against all values."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

from holdfast import Threat, attack, certify, counterfactuals
from holdfast.certificates import dependence
from tests.sizes import every_pair

NAMES = ["x", "rooms", "code", "word", "note"]  # a number, two encoded ones, a word, a number that no step reads
ENCODED = ["rooms", "code"]
UNIT = {"x": 0.5, "rooms": 2.0, "code": 0.25}
ENCODERS = {
    "one-hot": lambda: OneHotEncoder(),
    "one-hot, unknown": lambda: OneHotEncoder(handle_unknown="ignore"),
    "infrequent": lambda: OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=4),
    "ordinal": lambda: OrdinalEncoder(),
    "ordinal, unknown": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "target": lambda: TargetEncoder(cv=3),
}
MODELS = {"linear": lambda: LogisticRegression(C=10.0), "neighbours": lambda: KNeighborsClassifier(3)}
NORMS = {2: np.linalg.norm, np.inf: lambda v: np.abs(v).max(), 1: lambda v: np.abs(v).sum()}
GRID = np.linspace(-6, 6, 601)  # moves of x that are tried
WHOLE = range(-1, 11)  # whole numbers that are tried, besides those of training


def table(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "x": rng.normal(size=n), "rooms": rng.choice([1, 2, 3, 5, 8], n), "code": rng.choice([0.0, 0.5, 2.0], n),
        "word": rng.choice(["a", "b"], n), "note": rng.normal(size=n),
    })  # fmt: skip
    score = X["x"] + 0.8 * (X["rooms"] == 3) - 0.3 * (X["rooms"] == 8) + 0.5 * (X["word"] == "a") - X["code"] / 2
    return X, np.where(score > 0, "yes", "no")


X, Y = table()
ROWS = table(4, seed=1)[0]


def fitted(encoder, model):
    front = ColumnTransformer(
        [("n", StandardScaler(), ["x"]), ("e", ENCODERS[encoder](), ENCODED), ("w", OneHotEncoder(), ["word"])]
    )
    return make_pipeline(front, MODELS[model]()).fit(X, Y)


FITTED = {(e, m): fitted(e, m) for e in ENCODERS for m in MODELS}


def possible(encoder, column, cell, said):
    """What a cell may become, its own value first, with the moves that the values cost."""
    known = sorted(X[column].unique().tolist())
    takes_all = "unknown" in encoder or encoder in ("infrequent", "target")
    whole = sorted({*WHOLE, *known}) if takes_all else known
    changes = {"frozen": [], "free": [(value, 0.0) for value in known]}
    return [(cell, 0.0), *changes.get(said, [(v, (v - cell) / UNIT[column]) for v in whole if float(v).is_integer()])]


@cache
def changes(encoder, model, number):
    """For each pair of values of the encoded numbers the smallest move of x that changes the answer of a row."""
    row, fit = ROWS.iloc[number], FITTED[encoder, model]
    known = {*X["rooms"], *X["code"], *WHOLE, row["rooms"], row["code"]}
    pairs = [pair for pair in product(sorted(known), repeat=2) if fits(encoder, *pair)]
    tried = pd.DataFrame({"x": np.tile(row["x"] + GRID, len(pairs)), "word": row["word"], "note": row["note"]})
    tried[ENCODED] = np.repeat(np.array(pairs, dtype=float), len(GRID), axis=0)
    answers = fit.predict(tried[NAMES]).reshape(len(pairs), -1) != fit.predict(ROWS[number : number + 1])[0]
    return {pair: np.abs(GRID[line]).min(initial=np.inf) for pair, line in zip(pairs, answers, strict=True)}


def fits(encoder, rooms, code):
    """True if the encoder takes such a row."""
    takes_all = "unknown" in encoder or encoder in ("infrequent", "target")
    return takes_all or (rooms in set(X["rooms"]) and code in set(X["code"]))


def nearest(encoder, model, number, said, norm, low=-np.inf, high=np.inf):
    """The smallest change of the answer of a row on a grid of x, over all values of the encoded numbers."""
    row, best = ROWS.iloc[number], np.inf
    for (rooms, a), (code, b) in product(*(possible(encoder, name, row[name], said) for name in ENCODED)):
        if min(low, row["rooms"]) <= rooms <= max(high, row["rooms"]):
            move = changes(encoder, model, number)[rooms, code]
            best = min(best, NORMS[norm](np.array([move / UNIT["x"], a, b])))
    return best


def threat_of(said, norm, **more):
    return Threat(norm, unit=UNIT, **{said: ENCODED}, **more)


@pytest.mark.parametrize(("encoder", "model"), FITTED)
def test_numbers_are_refused_until_the_threat_says_what_they_are(encoder, model):
    wanted = r"Columns 'rooms', 'code' hold numbers that an encoder reads .*integer=\['rooms', 'code'\].*frozen.*free"
    for ask in (certify, attack, counterfactuals):
        with pytest.raises(ValueError, match=wanted):
            ask(FITTED[encoder, model], ROWS.astype({"rooms": float}))
    with pytest.raises(ValueError, match=r"^Column 'code' holds .*integer=\['code'\]"):
        certify(FITTED[encoder, model], ROWS, threat=Threat(frozen=["rooms"]))


@pytest.mark.parametrize(("key", "said", "norm"), every_pair(FITTED, ["frozen", "free", "integer"], NORMS))
def test_against_all_values(key, said, norm):
    encoder, model = key
    fit, rows = FITTED[encoder, model], ROWS[:2]
    found = certify(fit, rows, threat=threat_of(said, norm))
    truth = np.array([nearest(encoder, model, i, said, norm) for i in range(len(rows))])
    step = (GRID[1] - GRID[0]) / UNIT["x"]
    assert (found.radius <= truth).all()
    assert (certify(fit, rows, threat=threat_of(said, norm), method="lower", witness=False).radius <= truth).all()
    assert (found.upper >= truth - step).all()  # the grid has a change no farther than a step beyond the nearest
    assert (found.upper[np.isfinite(truth)] <= truth[np.isfinite(truth)] + step).all()
    seen = np.isfinite(found.upper)
    assert (fit.predict(found.adversarial[seen]) != found.prediction[seen]).all()
    moves = (found.adversarial[seen][["x", *ENCODED]].astype(float) - rows[seen][["x", *ENCODED]]) / pd.Series(UNIT)
    moves = moves if said == "integer" else moves[["x"]]
    np.testing.assert_allclose([NORMS[norm](move) for move in moves.to_numpy()], found.upper[seen])
    if said == "integer":
        cells = found.adversarial[seen][ENCODED].astype(float)
        assert ((cells == cells.round()) | (cells == rows[seen][ENCODED])).all(axis=None)
    finite = truth[np.isfinite(truth)]
    for at in (0.9 * finite.min() - step, 1.1 * finite.min() + step) if finite.size else ():
        stable = certify(fit, rows, threat=threat_of(said, norm), at=max(at, 0.0)).stable
        assert all(verdict is not True for verdict, size in zip(stable, truth, strict=True) if size <= at)
        assert all(verdict is not False for verdict, size in zip(stable, truth - step, strict=True) if size > at)


@pytest.mark.parametrize("limits", [{"only_up": ["rooms"]}, {"only_down": ["rooms"]}, {"upper": {"rooms": 4}}])
@pytest.mark.parametrize("encoder", ["one-hot", "ordinal, unknown"])
def test_limits_hold_for_enumerated_numbers(encoder, limits):
    found = certify(FITTED[encoder, "linear"], ROWS, threat=threat_of("integer", 1, **limits))
    for i, cell in enumerate(ROWS["rooms"]):
        low = cell if "only_up" in limits else -np.inf
        high = cell if "only_down" in limits else 4 if "upper" in limits else np.inf
        truth = nearest(encoder, "linear", i, "integer", 1, low, high)
        assert found.radius[i] <= truth <= found.upper[i] + 0.05
        assert found.exact[i]


def test_numbers_that_no_encoder_knows_are_counted_and_their_moves_found():
    """A float under an OrdinalEncoder leaves its category by any move."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(60, 1))
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(encoder, KNeighborsClassifier(1)).fit(Z, Z[:, 0] > 0)
    with pytest.raises(ValueError, match="Column 0 holds numbers that an encoder reads"):
        certify(model, Z[:5])
    assert certify(model, Z[:5], threat=Threat(integer=[0])).upper.min() < 3
    found = certify(model, Z[:5], threat=Threat(free=[0]))
    assert found.enumerated[0] == tuple(np.sort(Z[:, 0]))
    assert (found.upper == 0).all()


def test_limits_that_cannot_apply_are_refused():
    fit = FITTED["one-hot", "linear"]
    for what, given in (("only_up", ["word"]), ("integer", ["word"]), ("unit", {"word": 2.0}), ("lower", {"word": 0})):
        with pytest.raises(ValueError, match=f"{what} names 'word', which holds words"):
            certify(fit, ROWS, threat=Threat(**{"frozen": ENCODED, what: given}))
    for name in ("word", "note"):
        with pytest.raises(ValueError, match=f"Relation 0 names '{name}'"):
            certify(fit, ROWS, threat=Threat(frozen=ENCODED, relations=[({"x": 1, name: 1}, "<=", 9)]))
    with pytest.raises(ValueError, match="'rooms' is frozen, and a category that may change"):
        certify(fit, ROWS, threat=Threat(frozen=ENCODED, free=["rooms"]))
    with pytest.raises(ValueError, match="an encoder reads 'rooms', 'code'"):
        certify(fit, ROWS, threat=Threat(frozen=ENCODED, free={"group": ["rooms", "code"]}))
    with pytest.raises(ValueError, match="its changes have no size in the norm of a matrix"):
        certify(fit, ROWS, threat=Threat(np.eye(5), integer=ENCODED))
    relation = [({"rooms": 1, "x": 1}, "<=", 20)]
    with pytest.raises(ValueError, match="besides another step or a relation"):
        certify(FITTED["target", "linear"], ROWS, threat=Threat(integer=ENCODED, relations=relation))
    with pytest.raises(ValueError, match=r"counterfactuals does not search .* Threat\(frozen=\['rooms', 'code'\]\)"):
        counterfactuals(fit, ROWS, threat=Threat(integer=ENCODED))
    with pytest.raises(ValueError, match="Column 'rooms' holds words, such as 'many', but the model was fitted on num"):
        certify(fit, ROWS.assign(rooms="many"), threat=Threat(frozen=ENCODED))


def test_what_is_frozen_is_said_with_the_reason():
    fit = FITTED["one-hot", "linear"]
    found = certify(fit, ROWS, threat=Threat(frozen=["rooms"], integer=["code"]))
    reasons = {"rooms": "by the threat", "word": "words", "note": "no step reads it"}
    assert found.frozen == found.to_frame().attrs["frozen"] == reasons
    assert found.enumerated == {"code": (0.0, 2.0)}
    assert "3 columns frozen" in repr(found)
    assert not found.changes_at_no_cost
    plain = LogisticRegression().fit(X[["x", "note"]], Y)
    assert certify(plain, ROWS[["x", "note"]], frozen=["x"]).frozen == {"x": "by the threat"}
    assert certify(plain, ROWS[["x", "note"]]).frozen == {}


def test_a_gap_of_an_encoded_number_stands_still_and_other_steps_may_read_the_number():
    train = X[["x", "rooms"]].astype(float)
    train.loc[::6, "rooms"] = np.nan
    both = FeatureUnion([("e", OneHotEncoder()), ("n", "passthrough")])
    front = ColumnTransformer([("x", StandardScaler(), ["x"]), ("r", OneHotEncoder(), ["rooms"])])
    model = make_pipeline(front, KNeighborsClassifier(3)).fit(train, Y)
    rows = train.iloc[:3].copy()
    found = certify(model, rows, threat=Threat(integer=["rooms"]))
    frozen = certify(model, rows, threat=Threat(frozen=["rooms"]))
    assert np.isnan(rows["rooms"].iloc[0])
    assert found.radius[0] == frozen.radius[0]
    assert np.isnan(found.adversarial["rooms"].iloc[0])
    twice = make_pipeline(ColumnTransformer([("x", StandardScaler(), ["x"]), ("r", both, ["rooms"])]),
                          LogisticRegression()).fit(X[["x", "rooms"]], Y)  # fmt: skip
    rows = ROWS[["x", "rooms"]]
    found = certify(twice, rows, threat=Threat(1, integer=["rooms"]))
    for i in range(len(rows)):
        best = np.inf
        for value in [*X["rooms"].unique(), rows["rooms"].iloc[i]]:
            tried = pd.DataFrame({"x": rows["x"].iloc[i] + GRID, "rooms": float(value)})
            changed = twice.predict(tried) != twice.predict(rows)[i]
            best = min(best, np.abs(GRID[changed]).min(initial=np.inf) + abs(value - rows["rooms"].iloc[i]))
        assert found.radius[i] <= best <= found.upper[i] + 0.03


def test_numbers_of_type_object_are_refused_in_a_sentence():
    front = ColumnTransformer([("x", StandardScaler(), ["x"]), ("r", OneHotEncoder(), ["rooms"])])
    model = make_pipeline(front, LogisticRegression()).fit(X.astype({"rooms": object}), Y)
    with pytest.raises(ValueError, match="fitted on numbers of type object; convert"):
        certify(model, ROWS)


def test_dependence_on_an_encoded_number():
    fit = FITTED["one-hot", "neighbours"]
    found = dependence(fit, ROWS, ["rooms"], threat=Threat(np.inf, frozen=["code"]))
    answers = [
        {str(fit.predict(ROWS[i : i + 1].assign(rooms=value))[0]) for value in X["rooms"].unique()}
        for i in range(len(ROWS))
    ]
    assert found.certificate.stable.tolist() == [len(each) == 1 for each in answers]
