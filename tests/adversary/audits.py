"""Audits of a model in use: columns of every type, units of every kind, right and wrong rows of training."""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import holdfast
from holdfast import Threat, certify
from tests.adversary.setups import CLASSIFIERS, STEPS, quietly, sentence
from tests.adversary.tally import Tally

COLUMNS = ["income", "age", "rooms", "debt"]
DRESSES = ["float", "object", "decimal", "mixed", "nullable"]
UNITS = ["none", "std", "range", "range of one"]
WRONG = ["scaled", "flipped", "the test rows", "more rows", "other units"]
RADIUS = 0.5


@dataclass(frozen=True)
class AuditCase:
    """One case: names of what to audit, and a seed; ``known`` says what is given as the rows of training."""

    seed: int
    steps: str
    classifier: str
    dress: str = "float"
    unit: str = "none"
    known: str = "none"


def _draw(**kinds) -> st.SearchStrategy[AuditCase]:
    return st.builds(
        AuditCase,
        seed=st.integers(0, 2**32 - 1),
        steps=st.sampled_from(["none", "standard", "min-max"]),
        classifier=st.sampled_from(["holdfast 1", "holdfast 3", "brute 1", "logistic", "ridge", "prototypes"]),
        **{name: st.sampled_from(values) for name, values in kinds.items()},
    )


dressed = _draw(dress=DRESSES[1:], unit=["none", "range"], known=["none", "right"])
measured = _draw(unit=UNITS, known=["none", "right"])
wrong = _draw(known=WRONG)


def rows(rng, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns in units far apart, and labels of a line through them, one in twenty wrong."""
    Z = rng.normal(size=(n, len(COLUMNS)))
    y = (Z @ np.array([1.0, -1.0, 0.5, 1.0]) > 0) ^ (rng.random(n) < 0.05)
    return pd.DataFrame(Z * [900.0, 8.0, 1.5, 0.01] + [2_000.0, 40.0, 4.0, 0.05], columns=COLUMNS), y.astype(int)


def dress(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The same numbers in columns of other types."""
    if kind == "object":
        return frame.astype(object)
    if kind == "decimal":
        return frame.map(Decimal)
    if kind == "mixed":
        return frame.assign(age=frame["age"].astype(object), debt=frame["debt"].map(Decimal))
    return frame.astype("Float64") if kind == "nullable" else frame


def strange(kind: str, train: tuple, test: tuple) -> tuple:
    """Rows that the model was not trained on."""
    (X, y), (X_test, y_test) = train, test
    if kind == "scaled":
        return (X - X.mean()) / X.std(), y
    if kind == "flipped":
        return X, 1 - y
    if kind == "the test rows":
        return X_test, y_test
    if kind == "more rows":
        return pd.concat([X, X_test]), np.append(y, y_test)
    return X.assign(income=X["income"] / 1000, age=X["age"] * 365), y


def attack(case: AuditCase) -> Tally:
    """Compare an audit with certificates in the units that it names; or give it wrong rows of training."""
    return quietly(_attack, case)


def _attack(case: AuditCase) -> Tally:
    tally, rng = Tally(), np.random.default_rng(case.seed)
    train, test = rows(rng, 60), rows(rng, 40)
    last = CLASSIFIERS[case.classifier]()
    model = make_pipeline(*STEPS[case.steps](), last) if case.steps != "none" else last
    model.fit(*train)
    unit = {"none": None, "range of one": {"income": "range", "age": 10.0}}.get(case.unit, case.unit)
    threat = None if unit is None else Threat(unit=unit)
    known = None
    if case.known != "none":
        X, y = train if case.known == "right" else strange(case.known, train, test)
        known = dress(X, case.dress), y
    try:
        result = holdfast.audit(
            model=model, X=dress(test[0], case.dress), y=test[1], reference=known, threat=threat, radius=RADIUS,
            explain=0, budget=200, n_jobs=1,
        )  # fmt: skip
    except (ValueError, TypeError) as error:
        tally.expect(sentence(error), f"refused without a sentence: {error!r}")
        needed = (known is None and case.unit.startswith("range")) or case.known in WRONG
        tally.expect(needed, f"refused for no reason: {error}")
        tally.refused += 1
        return tally
    if case.known in WRONG:
        told = [note for note in result.notes if "reference" in note or "trained on" in note]
        tally.expect(bool(told), "rows that the model was not trained on are accepted without a word")
        return tally
    told = " ".join(result.summary()["threat"]["sentences"])
    tally.expect("cannot change" not in told, f"numbers are taken for words: {told}")
    X = train[0] if "the rows of training" in told else test[0]
    tally.add(_compare(result, model, train, test, _units(case.unit, X.to_numpy())))
    return tally


def _units(kind: str, X: np.ndarray) -> np.ndarray:
    """The unit of each column, from the rows that the report names."""
    if kind == "range of one":
        return np.array([np.ptp(X[:, 0]), 10.0, 1.0, 1.0])
    return np.ptp(X, axis=0) if kind == "range" else X.std(axis=0)


def _compare(result, model, train: tuple, test: tuple, unit: np.ndarray) -> Tally:
    """The radii and the shares of a report beside those of certify, and beside moves that predict answers otherwise."""
    tally = Tally()
    found = result.certificates["yours"]
    reference = train if isinstance(model, KNeighborsClassifier) else None
    truth = certify(model, test[0], threat=Threat(unit=unit), reference=reference, budget=200, n_jobs=1)
    for k in range(len(found)):
        tally.expect(
            found.radius[k] <= truth.upper[k] * (1 + 1e-9),
            f"row {k}: radius {found.radius[k]:.4g}, but a move of {truth.upper[k]:.4g} changes the answer",
        )
        if np.isfinite(truth.upper[k]):
            tally.worst = max(tally.worst, found.radius[k] / truth.upper[k])
    right = model.predict(test[0]) == test[1]
    shares = result.scores()["yours"]
    tally.expect(abs(shares["accuracy"] - right.mean()) < 1e-12, "another accuracy than predict's")
    proven = (right & (truth.radius > RADIUS)).mean()
    tally.expect(
        abs(shares["certified"] - proven) < 1e-12, f"proven {shares['certified']:.3f}, by certify {proven:.3f}"
    )
    seen = np.isfinite(found.upper)
    moved = pd.DataFrame(np.asarray(found.adversarial, dtype=np.float64)[seen], columns=COLUMNS)
    if seen.any():
        tally.expect(bool((model.predict(moved) != found.prediction[seen]).all()), "a witness changes nothing")
        size = np.linalg.norm((moved.to_numpy() - test[0].to_numpy()[seen]) / unit, axis=1)
        tally.expect(bool((size <= found.upper[seen] * (1 + 1e-9)).all()), "a witness is longer than upper says")
    return tally
