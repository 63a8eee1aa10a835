"""Random models, tables, threats and questions, and what must hold for every answer.

``python -m tests.explanations.cases 10000`` runs that many answers and prints the counts.
"""

import sys
import traceback
from collections import Counter
from dataclasses import replace

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from holdfast import (
    CertifiedKNeighborsClassifier,
    Euclidean,
    Threat,
    certify,
    counterfactuals,
)

MODELS = {
    "knn1": lambda: CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=1),
    "knn3": lambda: CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=3),
    "sklearn1": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
    "sklearn4": lambda: make_pipeline(MinMaxScaler(), KNeighborsClassifier(4)),
    "sklearn5": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(5)),
    "centroid": lambda: make_pipeline(StandardScaler(), NearestCentroid()),
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "ridge": RidgeClassifier,
}


def table(rng: np.random.Generator, n: int):
    """Clusters in a few features of very different units, two or three classes."""
    d, classes = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    X = rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(classes, d))[y]
    scale = 10.0 ** rng.integers(-3, 5, d)
    X = X * scale + rng.choice([0.0, 1.0, 10.0]) * scale
    return (np.round(X, 2) if rng.random() < 0.3 else X), y


def threat_for(rng: np.random.Generator, X: np.ndarray) -> Threat:
    """A threat with units, and with some of the limits."""
    d = X.shape[1]
    norm = [2, 1, np.inf, "A"][rng.choice(4, p=[0.5, 0.2, 0.2, 0.1])]
    unit = X.std(axis=0) + 1e-9
    options: dict = {"unit": unit}
    if norm == "A":
        B = np.eye(d) + 0.3 * rng.normal(size=(d, d)) / d
        norm, options = B @ B.T, {}
    if rng.random() < 0.4:
        options["frozen"] = np.flatnonzero(rng.random(d) < 0.3)[: d - 1]
    if rng.random() < 0.3:
        options["only_up"] = [int(rng.integers(d))]
    elif rng.random() < 0.3:
        options["only_down"] = [int(rng.integers(d))]
    if rng.random() < 0.3:
        options["lower"], options["upper"] = X.min(axis=0), np.quantile(X, 0.9, axis=0)
    return Threat(norm, **options)


def question_for(rng: np.random.Generator, classes: np.ndarray, d: int) -> dict:
    """A target, a number of answers and other wishes."""
    options: dict = {}
    if rng.random() < 0.5:
        options["target"] = classes[rng.integers(len(classes))]
    if rng.random() < 0.15:
        options["max_features"] = int(rng.integers(1, d + 1))
    if rng.random() < 0.15:
        options["n"], options["diverse"] = 2, str(rng.choice(["features", "points"]))
    if rng.random() < 0.15:
        options["slack"] = 0.05
    options["near_data"] = [None, True, False][rng.choice(3, p=[0.6, 0.2, 0.2])]
    return options


def run_case(seed: int, rows: int = 5) -> Counter:
    """One model, one threat, one question, a few rows; raises if an answer is wrong."""
    rng = np.random.default_rng(seed)
    X, y = table(rng, 55 + rows)
    name = str(rng.choice(list(MODELS)))
    train = (X[rows:], y[rows:])
    model = MODELS[name]().fit(*train)
    threat, options = threat_for(rng, train[0]), question_for(rng, model.classes_, X.shape[1])
    found = counterfactuals(model, X[:rows], threat=threat, reference=train, budget=300, n_jobs=1, **options)
    check(model, X[:rows], threat, train, options, found, rng)
    return Counter(f"{name.rstrip('12345')} {word}" for word in found.status) + Counter(
        {"answers": len(found), "valid": int(found.valid.sum()), "closest": int(found.closest.sum())}
    )


def check(model, X, threat, train, options, found, rng) -> None:
    """Valid by the model's own predict, all together and each alone; every limit kept; bounds in order, and sound."""
    moves = threat.moves(X.shape[1])
    prediction = model.predict(X)[found.row]
    points, x = found.points[found.valid], X[found.row][found.valid]
    asked = options.get("target")
    if len(points):
        answers = model.predict(points)
        alone = np.array([model.predict(point[None])[0] for point in points])
        assert (answers == alone).all()
        assert (answers != prediction[found.valid] if asked is None else answers == asked).all()
        limits(moves, points, x, train[0], options)
        np.testing.assert_allclose(moves.lengths(points - x), found.size[found.valid], rtol=1e-12)
    assert np.isnan(found.values[~found.valid]).all()
    assert (found.lower_bound <= found.size).all()
    assert (found.closest <= found.valid).all()
    if options.get("slack") and len(points):
        noise = Threat(threat.norm, unit=threat.unit, frozen=threat.frozen)
        held = certify(model, points, threat=noise, reference=train if needs(model) else None, budget=300)
        assert (held.radius >= options["slack"]).all()
    if not (options["near_data"] or {"slack", "max_features"} & set(options)):  # else fewer rows are possible
        if options["near_data"] is None and moves.lower is None:
            moves = replace(moves, lower=train[0].min(axis=0), upper=train[0].max(axis=0))
        attack_bound(model, X, moves, found, asked, rng)


def needs(model) -> bool:
    """Whether the model does not tell its rows."""
    return hasattr(model, "steps") and isinstance(model[-1], KNeighborsClassifier)


def limits(moves, points, x, train, options) -> None:
    """Every limit of the threat, exactly."""
    if moves.frozen is not None:
        assert (points == x)[:, moves.frozen].all()
    for mask, sign in ((moves.only_up, 1.0), (moves.only_down, -1.0)):
        if mask is not None:
            assert (sign * (points - x)[:, mask] >= 0).all()
    low = -np.inf if moves.lower is None else moves.lower
    high = np.inf if moves.upper is None else moves.upper
    if options["near_data"] or (options["near_data"] is None and moves.lower is None):
        low, high = np.maximum(low, train.min(axis=0)), np.minimum(high, train.max(axis=0))
    assert ((points >= np.minimum(low, x)) & (points <= np.maximum(high, x))).all()
    if "max_features" in options:
        assert ((points != x).sum(axis=1) <= options["max_features"]).all()


def attack_bound(model, X, moves, found, asked, rng, draws: int = 200) -> None:
    """No random possible row below the first bound has the answer."""
    for entry in np.flatnonzero((found.number == 1) & (found.lower_bound > 0)):
        row = X[found.row[entry]]
        bound = min(found.lower_bound[entry], 1e3)
        step = rng.normal(size=(draws, len(row))) * (1.0 if moves.unit is None else moves.unit)
        if found.valid[entry]:  # where the boundary is near
            step[: draws // 2] = (found.values[entry] - row) * (1 + 0.1 * rng.normal(size=(draws // 2, len(row))))
        moved = moves.enforce(row + step, np.broadcast_to(row, step.shape))
        length = moves.lengths(moved - row)
        share = np.minimum(1.0, 0.9999 * bound * rng.random(draws) ** 0.2 / np.maximum(length, 1e-300))
        moved = moves.enforce(row + share[:, None] * (moved - row), np.broadcast_to(row, step.shape))
        inside = moves.lengths(moved - row) < bound
        if inside.any():
            answers = model.predict(moved[inside])
            assert not (answers != found.prediction[entry] if asked is None else answers == asked).any()


if __name__ == "__main__":
    total: Counter = Counter()
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    while total["answers"] < int(sys.argv[1]):
        if seed % 20 == 0:
            print(f"seed {seed}", dict(sorted(total.items())), flush=True)
        try:
            total += run_case(seed, rows=25)
        except Exception as problem:
            where = traceback.extract_tb(problem.__traceback__)[-1]
            print(f"seed {seed}, {where.name} {where.lineno}: {problem!r:.300}", flush=True)
            total["failed"] += 1
        seed += 1
    print(f"seeds up to {seed}", dict(sorted(total.items())))
