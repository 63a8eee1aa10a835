"""What a model makes of cells that it was not fitted on: gaps that are filled in, and words that are not known."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from holdfast.certificates.voting import voter_for


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40, 9, 60), "job": rng.choice(list("abc"), 60), "town": ["x", "y"] * 30})
    frame.loc[::7, "age"] = np.nan
    frame.loc[::9, "job"] = None
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
    rows.loc[1, "age"], rows.loc[2, "job"], rows.loc[3, "job"], rows.loc[4, "town"] = np.nan, None, "new", "nowhere"
    voter = voter_for(model)
    encoded = voter.check_rows(rows)
    gaps, words = voter.encoding.gaps_filled(encoded), voter.encoding.unknown_words(encoded)
    assert {name: np.flatnonzero(mask).tolist() for name, mask in gaps.items()} == {"age": [1], "job": [2]}
    assert {name: np.flatnonzero(mask).tolist() for name, mask in words.items()} == {"job": [3], "town": [4]}
