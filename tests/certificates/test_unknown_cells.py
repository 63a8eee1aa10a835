"""What a model makes of cells that it was not fitted on: gaps that are filled in, and words that are not known."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler

from holdfast import Threat, certify
from holdfast.certificates import Certificate
from holdfast.certificates.readers import voter_for


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40, 9, 60), "job": rng.choice(list("abc"), 60), "town": ["x", "y"] * 30})
    frame.loc[::7, "age"] = np.nan
    frame.loc[::9, "job"] = np.nan
    return frame, np.where(rng.random(60) < 0.5, "yes", "no")


@pytest.fixture(scope="module")
def model(table):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="ignore")
    filled = make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), one_hot)
    front = ColumnTransformer([("n", numbers, ["age"]), ("f", filled, ["job"]), ("w", one_hot, ["town"])])
    return make_pipeline(front, LogisticRegression()).fit(*table)


def test_gaps_and_unknown_words_are_found_column_by_column(model, table):
    rows = table[0][1:7].reset_index(drop=True)
    rows.loc[1, "age"], rows.loc[2, "job"], rows.loc[3, "job"], rows.loc[4, "town"] = np.nan, np.nan, "new", "nowhere"
    voter = voter_for(model)
    encoded = voter.check_rows(rows)
    gaps, words = voter.encoding.gaps_filled(encoded), voter.encoding.unknown_words(encoded)
    assert {name: np.flatnonzero(mask).tolist() for name, mask in gaps.items()} == {"age": [1], "job": [2]}
    assert {name: np.flatnonzero(mask).tolist() for name, mask in words.items()} == {"job": [3], "town": [4]}


def test_certificates_count_cells_that_the_model_was_not_fitted_on(model, table):
    rows = table[0][1:7].reset_index(drop=True)
    quiet = certify(model, rows, reference=table)
    assert quiet.to_frame()[["gaps_filled", "unknown_words", "far"]].to_numpy().tolist() == [[0, 0, False]] * 6
    assert "rows" not in repr(quiet).replace("6 predictions", "")
    rows.loc[1, "age"], rows.loc[2, "job"], rows.loc[4, "town"], rows.loc[5, "age"] = np.nan, np.nan, "nowhere", 900.0
    rows.loc[4, "job"] = "new"
    with pytest.warns(
        UserWarning, match=r"^1 of 6 rows, the first is row 4, have values .* in 'job', 'town':"
    ) as caught:
        found = certify(model, rows, reference=table)
    assert len(caught) == 1
    frame = found.to_frame()
    assert frame["gaps_filled"].tolist() == [0, 1, 1, 0, 0, 0]
    assert frame["unknown_words"].tolist() == [0, 0, 0, 0, 2, 0]
    assert frame["far"].tolist() == [False] * 5 + [True]
    remarks = "2 rows with gaps that were filled in; 1 row with unknown words; 1 row with numbers far outside"
    assert remarks in repr(found)
    joined = Certificate.concatenate([quiet, found]).to_frame()
    assert joined["unknown_words"].tolist() == [0] * 6 + [0, 0, 0, 0, 2, 0]


def test_a_relation_says_nothing_of_a_gap(table):
    X = table[0][["age"]].assign(size=1.0)
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(X, table[1])
    threat = Threat(relations=[({"size": 1, "age": -1}, "<=", 5)])
    with pytest.raises(
        ValueError, match=r"A relation names age, which has a gap in 1 of 7 rows, the first is row 6: l"
    ):
        certify(model, X[1:8], threat=threat)
    assert len(certify(model, X[1:7], threat=threat)) == 6


SCALERS = [StandardScaler(), MinMaxScaler(), MaxAbsScaler(), make_pipeline(SimpleImputer(), StandardScaler())]


@pytest.mark.parametrize("scaler", [None, *SCALERS], ids=str)
@pytest.mark.parametrize("by_column", [False, True])
def test_far_is_beyond_what_the_model_itself_knows(scaler, by_column):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=80), rng.normal(1000, 1, 80), np.full(80, 3.0)])
    if scaler is None:
        model = KNeighborsClassifier(3).fit(X, X[:, 0] > 0)
    else:
        front = ColumnTransformer([("s", scaler, [0, 1, 2])]) if by_column else scaler
        model = make_pipeline(front, LogisticRegression()).fit(X, X[:, 0] > 0)
    assert not certify(model, X[:10]).far.any()
    away = X[:10].copy()
    away[3, 0], away[5, 1] = 300.0, 4000.0
    away[7, 2] = 3.0001  # a column that was constant: nothing is far there
    assert np.flatnonzero(certify(model, away).far).tolist() == [3, 5]


def test_no_range_is_known_of_a_linear_model_alone():
    X = np.random.default_rng(0).normal(size=(20, 2))
    found = certify(LogisticRegression().fit(X, X[:, 0] > 0), X)
    assert found.far is None
    assert list(found.to_frame()) == ["prediction", "radius", "upper", "exact", "budget_ended"]
