"""Numbers under an encoder: the opponent moves them as the threat says, or as any number where it says nothing."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

from holdfast import CertifiedKNeighborsClassifier, Threat
from tests.adversary.setups import certified, quietly
from tests.adversary.tally import Tally

ENCODERS = {
    "one-hot": lambda: OneHotEncoder(),
    "one-hot, unknown": lambda: OneHotEncoder(handle_unknown="ignore", drop="first"),
    "infrequent": lambda: OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=6),
    "ordinal": lambda: OrdinalEncoder(),
    "ordinal, unknown": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "target": lambda: TargetEncoder(cv=3),
}
CLASSIFIERS = {
    "logistic": LogisticRegression,
    "centroid": NearestCentroid,
    "brute 3": lambda: KNeighborsClassifier(3, algorithm="brute"),
    "holdfast 1": lambda: CertifiedKNeighborsClassifier(n_neighbors=1),
    "holdfast 3": lambda: CertifiedKNeighborsClassifier(n_neighbors=3),
}
SAID = ["nothing", "integer", "up", "box", "free", "frozen", "one of them"]
SIZES = {
    "l2": np.linalg.norm,
    "linf": lambda v, axis: np.abs(v).max(axis=axis),
    "l1": lambda v, axis: np.abs(v).sum(axis),
}
ENCODED = ["rooms", "code"]
TRIES = 400  # moves of a row


@dataclass(frozen=True)
class EncodedCase:
    """One case: names of what to build, and a seed."""

    seed: int
    encoder: str
    classifier: str
    said: str
    norm: str
    fractions: bool  # whether the encoded numbers have some


cases = st.builds(
    EncodedCase,
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(ENCODERS)),
    st.sampled_from(sorted(CLASSIFIERS)),
    st.sampled_from(SAID),
    st.sampled_from(sorted(SIZES)),
    st.booleans(),
)


def attack(case: EncodedCase) -> Tally:
    """Certify rows of a table with encoded numbers, and move all that the threat lets move."""
    return quietly(_attack, case)


def _attack(case: EncodedCase) -> Tally:
    rng, tally = np.random.default_rng(case.seed), Tally()
    n = 60
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "word": rng.choice(["x", "y"], n)})
    X["rooms"], X["code"] = rng.choice([1, 2, 3, 4, 6], n), rng.choice([0, 1, 5], n)
    if case.fractions:
        X["code"] = X["code"] + 0.5
    y = np.where(X["a"] + 1.5 * (X["rooms"] == 3) - (X["code"] > 3) + (X["word"] == "x") > 0.7, "yes", "no")
    front = ColumnTransformer(
        [
            ("n", StandardScaler(), ["a", "b"]),
            ("e", ENCODERS[case.encoder](), ENCODED),
            ("w", OneHotEncoder(), ["word"]),
        ]
    )
    model = make_pipeline(front, CLASSIFIERS[case.classifier]()).fit(X, y)
    unit = {"a": 10.0 ** rng.uniform(-1, 1), "rooms": 10.0 ** rng.uniform(-1, 1), "code": 10.0 ** rng.uniform(-1, 1)}
    rows = X.sample(4, random_state=int(rng.integers(2**31))).reset_index(drop=True)
    norm = {"l2": 2, "linf": np.inf, "l1": 1}[case.norm]
    found = certified(tally, model, rows, threat=Threat(norm, unit=unit, **_said(case.said)), budget=50)
    if found is None:
        return tally
    tally.expect(bool((found.radius <= found.upper).all()), "a radius is longer than its own witness")
    seen = np.isfinite(found.upper)
    if seen.any():
        changed = model.predict(found.adversarial[seen].astype(dict.fromkeys(["a", "b", *ENCODED], float)))
        tally.expect(bool((changed != found.prediction[seen]).all()), "a witness does not change the answer")
    for i in range(len(rows)):
        tried, size = _moves(case, X, rows.iloc[i], unit, float(found.radius[i]), rng)
        inside = size < found.radius[i]
        try:
            answers = model.predict(tried[inside]) if inside.any() else np.array([])
        except ValueError:  # an encoder that refuses values it does not know
            known = np.all([tried[name].isin(X[name].unique()) for name in ENCODED], axis=0) & inside
            inside, answers = known, model.predict(tried[known]) if known.any() else np.array([])
        wrong = np.flatnonzero(answers != found.prediction[i])
        tally.tries += len(answers)
        if wrong.size:
            least = size[inside][wrong].min()
            tally.worst = max(tally.worst, found.radius[i] / max(least, 1e-12))
            tally.breaks.append(f"row {i}: radius {found.radius[i]:.4g}, but a move of {least:.4g} changes the answer")
    return tally


def _said(said: str) -> dict:
    """What the threat says of the encoded numbers."""
    return {
        "integer": {"integer": ENCODED},
        "up": {"integer": ENCODED, "only_up": ["rooms"], "only_down": ["code"]},
        "box": {"integer": ENCODED, "lower": {"rooms": 2}, "upper": {"rooms": 5, "code": 4}},
        "free": {"free": ENCODED},
        "frozen": {"frozen": ENCODED},
        "one of them": {"frozen": ["rooms"], "integer": ["code"]},
    }.get(said, {})


def _moves(case: EncodedCase, X: pd.DataFrame, row: pd.Series, unit: dict, radius: float, rng):
    """Moved rows that the threat allows, and their sizes in its units; about as large as the radius at most."""
    tried = pd.DataFrame([row] * TRIES).reset_index(drop=True).astype(dict.fromkeys(["a", "b", *ENCODED], float))
    scale = min(radius, 10.0)
    tried["a"] += scale * rng.uniform(-1, 1, TRIES) * unit["a"] * rng.integers(0, 2, TRIES)
    tried["b"] += scale * rng.uniform(-1, 1, TRIES) * rng.integers(0, 2, TRIES)
    for name in ENCODED:
        if case.said == "frozen" or (case.said == "one of them" and name == "rooms"):
            continue
        values = np.unique(X[name]) if case.said == "free" else np.arange(-2.0, 9.0)
        if case.said == "nothing":  # then it is a number like any other
            values = np.append(values, row[name] + 1e-9)
        low, high = {"up": {"rooms": (0, 99), "code": (-99, 0)}}.get(case.said, {}).get(name, (-99, 99))
        values = values[(values >= row[name] + low) & (values <= row[name] + high)]
        if case.said == "box":
            low, high = (2, 5) if name == "rooms" else (-99, 4)
            values = values[(values >= min(low, row[name])) & (values <= max(high, row[name]))]
        moved = rng.random(TRIES) < 0.5
        if values.size:
            tried[name] = np.where(moved, rng.choice(values, TRIES), tried[name])
    columns = ["a", "b"] if case.said in ("free", "frozen") else ["a", "b", *ENCODED]
    move = (tried[columns] - row[columns].astype(float)) / pd.Series({"b": 1.0, **unit})[columns]
    return tried, SIZES[case.norm](move.to_numpy(), axis=1) * (1 + 1e-9)
