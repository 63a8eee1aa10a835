"""Frames whose columns are renamed, reordered, missing or too many are refused, as predict does."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from holdfast import (
    CertifiedKNeighborsClassifier,
    CertifiedPrototypeClassifier,
    attack,
    certify,
    poisoning_tolerance,
)
from tests.adversary.families import small
from tests.adversary.setups import quietly, sentence

NAMES = ["age", "income", "weight", "height"]
MODELS = {
    "holdfast": lambda: CertifiedKNeighborsClassifier(n_neighbors=3),
    "prototypes": CertifiedPrototypeClassifier,
    "neighbours": lambda: KNeighborsClassifier(3),
    "centroid": NearestCentroid,
    "logistic": LogisticRegression,
    "scaled holdfast": lambda: make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(n_neighbors=3)),
    "scaled neighbours": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
    "scaled logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "normalised": lambda: make_pipeline(Normalizer(), CertifiedKNeighborsClassifier(n_neighbors=1)),
}
CHANGES = {
    "reordered": lambda frame, i: frame[[*NAMES[i:], *NAMES[:i]]],
    "two swapped": lambda frame, i: frame.rename(columns={NAMES[0]: NAMES[i], NAMES[i]: NAMES[0]}),
    "renamed": lambda frame, i: frame.rename(columns={NAMES[i]: NAMES[i] + " "}),
    "upper case": lambda frame, i: frame.rename(columns={NAMES[i]: NAMES[i].upper()}),
    "missing": lambda frame, i: frame.drop(columns=NAMES[i]),
    "too many": lambda frame, i: frame.assign(extra=1.0),
    "one twice": lambda frame, i: frame[[*NAMES, NAMES[i]]],
    "one for another": lambda frame, i: frame[[*NAMES[:i], NAMES[i - 1], *NAMES[i + 1 :]]],
}
FUNCTIONS = {"certify": certify, "attack": attack, "poisoning_tolerance": poisoning_tolerance}


def fitted(name: str, seed: int):
    """A model fitted on a frame, the frame and its labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(40, 4)), columns=NAMES)
    y = (X["age"] * X["income"] > 0).astype(int).to_numpy()
    return quietly(MODELS[name]().fit, X, y), X, y


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
@pytest.mark.parametrize("name", sorted(MODELS))
@small(4)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(CHANGES)), st.integers(1, 3), st.booleans())
def test_other_columns_are_refused(function, name, seed, change, i, in_reference):
    if function == "poisoning_tolerance" and "logistic" in name:
        return  # it has no neighbours that vote
    model, X, y = fitted(name, seed)
    needs = "neighbours" in name
    rows, reference = X[:3], X
    if needs and in_reference:
        reference = CHANGES[change](X, i)
    else:
        rows = CHANGES[change](rows, i)
        with pytest.raises(ValueError):
            model.predict(rows)
    options = {"reference": (reference, y)} if needs else {}
    with pytest.raises(ValueError) as caught:
        FUNCTIONS[function](model, rows, **options)
    assert sentence(caught.value)


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_same_columns_are_accepted(function, name):
    if function == "poisoning_tolerance" and "logistic" in name:
        return
    model, X, y = fitted(name, 0)
    options = {"reference": (X, y)} if "neighbours" in name else {}
    FUNCTIONS[function](model, X[:3], **options)


@pytest.mark.parametrize("threat", [{"frozen": ["Age"]}, {"lower": {"wage": 0.0}}, {"frozen": [7]}])
def test_unknown_columns_of_a_threat_are_refused(threat):
    model, X, _ = fitted("holdfast", 0)
    with pytest.raises(ValueError) as caught:
        certify(model, X[:3], **threat)
    assert sentence(caught.value)
