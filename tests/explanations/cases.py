"""Random models, tables, threats and questions, and what must hold for every answer.

``python -m tests.explanations.cases 10000`` runs that many answers and prints the counts.
"""

import io
import sys
import traceback
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from holdfast import (
    CertifiedKNeighborsClassifier,
    Euclidean,
    Threat,
    certify,
    counterfactuals,
)
from holdfast.certificates.columns import Encoding
from holdfast.explanations.result import as_given

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
    if rng.random() < 0.15:
        options["integer"] = [int(rng.integers(d))]
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
    if seed % 4 == 3:
        return run_words(seed, rows)
    rng = np.random.default_rng(seed)
    X, y = table(rng, 55 + rows)
    name = str(rng.choice(list(MODELS)))
    train = (X[rows:], y[rows:])
    model = MODELS[name]().fit(*train)
    threat, options = threat_for(rng, train[0]), question_for(rng, model.classes_, X.shape[1])
    found = counterfactuals(model, X[:rows], threat=threat, reference=train, budget=300, n_jobs=1, **options)
    check(model, X[:rows], threat, train, options, found, rng)
    return counts(name, found, wishes(threat, options))


def wishes(threat: Threat, asked: dict) -> list[str]:
    """What is asked for beyond the closest change: under each of these fewer answers are proven closest."""
    found = [word for word in ("slack", "max_features", "n") if word in asked]
    if asked["near_data"]:
        found.append("near_data")
    return found + (["integer"] if threat.integer is not None else [])


def counts(name: str, found, wishes: list[str]) -> Counter:
    """What became of the rows; those without an answer say why. ``settled``: proven closest, or proven impossible."""
    texts = [text for text, valid in zip(found.sentences(), found.valid, strict=True) if not valid]
    assert all(text.endswith("which is proven") or "none found within the budget" in text for text in texts)
    settled = int(found.closest.sum() + (found.status == "impossible").sum())
    groups = ["all", *(f"with {word}" for word in wishes)] if wishes else ["all", "plain"]
    return Counter(f"{name.rstrip('12345')} {word}" for word in found.status) + Counter(
        {
            "answers": len(found),
            "valid": int(found.valid.sum()),
            **{f"{group}: answers": len(found) for group in groups},
            **{f"{group}: settled": settled for group in groups},
        }
    )


def run_words(seed: int, rows: int) -> Counter:
    """The same for a table with words and gaps, behind a ColumnTransformer; words change if the threat lets them."""
    rng = np.random.default_rng(seed)
    n = 55 + rows
    frame = pd.DataFrame(
        {"a": rng.normal(40.0, 10.0, n).round(1), "b": rng.gamma(2.0, 500.0, n), "c": rng.normal(size=n)}
    )
    frame["w"], frame["v"] = rng.choice(list("pqr"), n), rng.choice(["yes", "no"], n)
    frame.loc[rng.random(n) < 0.05, "c"] = np.nan
    score = frame["a"] / 10 + frame["b"] / 700 + (frame["w"] == "p") - (frame["v"] == "no") + rng.normal(0.0, 0.5, n)
    y = np.digitize(score, np.quantile(score, [0.5] if rng.random() < 0.5 else [0.33, 0.67]))
    steps = [
        ("n", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b", "c"]),
        ("w", OneHotEncoder(), ["w", "v"]),
    ]
    last = [KNeighborsClassifier(1), KNeighborsClassifier(3), LogisticRegression(max_iter=500)][rng.integers(3)]
    model = make_pipeline(ColumnTransformer(steps), last).fit(frame[rows:], y[rows:])
    options: dict = {"unit": {"a": 10.0, "b": 700.0}}
    if rng.random() < 0.5:
        options |= [{"free": ["w"]}, {"categories": ["w", "v"], "max_changes": 1}, {"free": {"v": ["no", "yes"]}}][
            rng.integers(3)
        ]
    if rng.random() < 0.4:
        options["only_up"] = ["a"]
    if rng.random() < 0.3:
        options["frozen"] = ["b"]
    if rng.random() < 0.2:
        options["integer"] = ["b"] if "frozen" not in options else ["a"]
    threat, asked = Threat([2, 1, np.inf][rng.integers(3)], **options), question_for(rng, model.classes_, 3)
    train = (frame[rows:], y[rows:])
    found = counterfactuals(model, frame[:rows], threat=threat, reference=train, budget=300, n_jobs=1, **asked)
    check_words(model, frame[:rows], options, asked, found)
    if not (asked["near_data"] or "integer" in options or {"slack", "max_features"} & set(asked)):  # else fewer rows
        attack_words(model, frame[:rows], frame[rows:], threat, asked, found, rng)
    return counts("words", found, wishes(threat, asked))


def check_words(model, X, options, asked, found) -> None:
    """Valid as it is printed; what may not change does not."""
    x, points = X.iloc[found.row][found.valid], found.points[found.valid]
    prediction = found.prediction[found.valid]
    if not len(points):
        return
    for table in (points, printed(points, x)):
        answers = model.predict(table)
        assert (answers != prediction if asked.get("target") is None else answers == asked["target"]).all()
    changed = (points != x) & ~(points.isna() & x.isna())
    free = {*options.get("free", []), *options.get("categories", [])}
    assert not changed[[name for name in ("w", "v") if name not in free]].any(axis=None)
    assert (changed[["w", "v"]].sum(axis=1) <= options.get("max_changes", 2)).all()
    assert (points["c"].isna() == x["c"].isna()).all()
    if "only_up" in options:
        assert (points["a"] >= x["a"]).all()
    if "frozen" in options:
        assert (points["b"] == x["b"]).all()
    for name in options.get("integer", []):
        assert ((points[name] == points[name].round()) | (points[name] == x[name])).all()
    if "max_features" in asked:
        assert (changed.sum(axis=1) <= asked["max_features"]).all()


def attack_words(model, X, train, threat, asked, found, rng, draws: int = 100) -> None:
    """No random possible row below the first bound has the answer."""
    unit, words = threat.unit | {"c": 1.0}, {"w": list("pqr"), "v": ["yes", "no"]}
    free = set(threat.free or []) if threat.max_changes is None else set()
    for entry in np.flatnonzero((found.number == 1) & (found.lower_bound > 0)):
        row = X.iloc[[found.row[entry]]]
        step = pd.DataFrame({name: rng.normal(size=draws) * unit[name] for name in "abc"})
        for name in threat.frozen or []:
            step[name] = 0.0
        for name in threat.only_up or []:
            step[name] = step[name].abs()
        step["c"] = step["c"] * (0.0 if row["c"].isna().item() else 1.0)
        size = np.linalg.norm(step / pd.Series(unit), ord=threat.norm, axis=1)
        share = min(found.lower_bound[entry], 20.0) * rng.random(draws) ** 0.2 * 0.9999 / np.maximum(size, 1e-300)
        moved = row.iloc[np.zeros(draws, int)].reset_index(drop=True)
        moved[list("abc")] += step.mul(share, axis=0)
        inside = np.ones(draws, bool)
        if asked["near_data"] is None:
            low, high = train[list("abc")].min(), train[list("abc")].max()
            inside = (((moved[list("abc")] >= low) & (moved[list("abc")] <= high)) | moved[list("abc")].isna()).all(
                axis=1
            )
        for name in free:
            moved[name] = rng.choice(words[name], draws)
        if inside.any():
            answers = model.predict(moved[inside])
            wrong = answers != found.prediction[entry] if asked.get("target") is None else answers == asked["target"]
            assert not wrong.any()


def printed(points, x):
    """The table after a round through text, as a reader would type it in from the changes."""
    text = points.to_csv(index=False)
    return pd.read_csv(io.StringIO(text), dtype={name: points[name].dtype for name in points}).set_index(x.index)


def check(model, X, threat, train, options, found, rng) -> None:
    """Valid by the model's own predict, all together and each alone; every limit kept; bounds in order, and sound."""
    moves = threat.bind(Encoding(X.shape[1]))
    prediction = model.predict(X)[found.row]
    points, x = found.points[found.valid], X[found.row][found.valid]
    asked = options.get("target")
    if len(points):
        typed = np.array([[float(as_given(value)) for value in point] for point in points])
        assert (model.predict(typed) == model.predict(points)).all()
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
    if moves.integer is not None:
        whole = (points == np.rint(points)) | (points == x)
        assert whole[:, moves.integer].all()
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
