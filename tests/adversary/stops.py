"""Certificates of searches that stopped early: verdicts at one size, and budgets of little work.

Each is held against what the whole search found: no radius above a witness that ``predict`` confirms, no verdict
against it; and against probes inside the radius.
"""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline

from holdfast import CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier, RobustClassifierCV, Threat
from holdfast.certificates import Certificate, dependence
from tests.adversary import setups
from tests.adversary.limits import Limits
from tests.adversary.probes import attack_radius, near_boundary, predict
from tests.adversary.setups import NORMS, STEPS, D, Setup, certified, quietly
from tests.adversary.tally import Tally

WHOLE, CATEGORY = 2, 3  # the columns of whole numbers and of a category
VALUES = (0.0, 1.0, 2.0)
THREATS = [*setups.THREATS, "whole", "relations", "categories", "whole, categories", "relations, categories"]
# Sizes to ask at: parts of the smallest change known of a row.
PARTS = (0.0, 0.3, 0.9, 1 - 1e-9, 1.0, 1 + 1e-9, 1.001, 1.3, 2.0, 5.0)
CLASSIFIERS = {
    **{f"holdfast {k}": (lambda k=k: CertifiedKNeighborsClassifier(n_neighbors=k)) for k in range(1, 8)},
    **{f"brute {k}": (lambda k=k: KNeighborsClassifier(k, algorithm="brute")) for k in range(1, 8)},
    "pruned 3": lambda: CertifiedKNeighborsClassifier(n_neighbors=3, prune=0.1),
    "prototypes": CertifiedPrototypeClassifier,
    "weighted 3": lambda: KNeighborsClassifier(3, weights="distance"),
    "manhattan 3": lambda: KNeighborsClassifier(3, p=1),
    **{
        f"searched {name}": (
            lambda name=name: RobustClassifierCV(0.3, candidates=[name], n_draws=2, cv=2, random_state=0)
        )
        for name in ("euclidean", "prototypes")
    },
    "centroid": NearestCentroid,
    "logistic": LogisticRegression,
}
_OFTEN = [name for name in CLASSIFIERS if name.startswith(("holdfast", "brute"))]  # the searches are theirs


@dataclass(frozen=True)
class Stop:
    """One case: names of what to build, a seed, the size asked at (−1: none) and the work allowed."""

    seed: int
    classifier: str
    steps: str = "none"
    data: str = "normal"
    norm: str = "l2"
    threat: str = "free"
    part: float = 1.3
    budget: int = 200
    witness: bool = True


def _draw(parts, budgets) -> st.SearchStrategy[Stop]:
    return st.builds(
        Stop,
        seed=st.integers(0, 2**32 - 1),
        classifier=st.one_of(st.sampled_from(_OFTEN), st.sampled_from(sorted(CLASSIFIERS))),
        steps=st.sampled_from(["none", "none", *sorted(STEPS)]),
        data=st.sampled_from(["normal", "normal", "lattice", "duplicates", "offset", "units"]),
        norm=st.sampled_from(NORMS),
        threat=st.sampled_from(THREATS),
        part=st.sampled_from(parts),
        budget=st.sampled_from(budgets),
        witness=st.sampled_from([True, True, False]),
    )


verdicts, budgets = _draw(PARTS, [0, 1, 5, 50, 1000]), _draw([-1.0], [0, 1, 2, 3, 5, 10, 30, 100, 40_000])


def attack(case: Stop) -> Tally:
    """Certify the whole and with a stop, and compare; probe the radii of the one that stopped."""
    return quietly(_attack, case)


def _attack(case: Stop) -> Tally:
    rng, tally = np.random.default_rng(case.seed), Tally()
    setup = Setup(case.seed, case.steps, case.classifier, case.data, 3, case.norm, case.threat)
    X, y = setups.table(setup, rng, n=int(rng.choice([14, 40])))  # among few rows a search ends soon
    X[:, WHOLE], X[:, CATEGORY] = np.round(2 * X[:, WHOLE]), rng.choice(VALUES, size=len(X))
    steps = STEPS[case.steps]()
    model = make_pipeline(*steps, CLASSIFIERS[case.classifier]())
    try:
        model.fit(X, y)
        model.predict(X)
    except (ValueError, np.linalg.LinAlgError):  # there is no model to attack
        return tally
    limits, threat = limits_for(case, setup, X, rng)
    rows = _rows(model, X, limits, rng)
    if not len(rows):
        return tally
    whole = certified(tally, model, rows, threat=threat, budget=1000)
    if whole is None:
        return tally
    known = np.where(np.isfinite(whole.upper) & (whole.upper > 0), whole.upper, _any(whole.upper))
    options = {"threat": threat, "budget": case.budget, "witness": case.witness}
    if case.part < 0:
        sizes: list[float | None] = [None] * len(rows)
        some = certified(tally, model, rows, **options)
    else:  # every row at a size of its own
        sizes = [min(case.part * float(size), 1e300) for size in known]
        parts = [certified(tally, model, rows[i : i + 1], at=at, **options) for i, at in enumerate(sizes)]
        some = None if None in parts else Certificate.concatenate(parts)
    if some is None:
        tally.expect(False, "refused with a stop, but not without")
        return tally
    changing = np.zeros(D, bool)
    changing[CATEGORY] = threat.free is not None
    compare(tally, model, rows, limits, some, whole, sizes, changing)
    if threat.free is not None:
        _attack_dependence(tally, model, rows)
    for own in _variants(rows, threat, rng):
        seen = SimpleNamespace(radius=some.radius, prediction=some.prediction, adversarial=whole.adversarial)
        tally.add(attack_radius(model, own, seen, limits, X, rng, rounds=3, singles=2))
    return tally


def limits_for(case: Stop, setup: Setup, X: np.ndarray, rng) -> tuple[Limits, Threat]:
    """What may move, for the opponent and for ``certify``; the opponent changes categories before it moves."""
    limits = setups.limits_for(setup, X, rng)
    if "whole" in case.threat:
        limits = replace(limits, integer=np.arange(D) == WHOLE)
    if "relations" in case.threat:
        A = rng.normal(size=(2, D)) * (rng.random((2, D)) < 0.7)
        A[0, 0] = 1.0
        limits = replace(limits, relations=(A, np.quantile(X @ A.T, 0.8, axis=0) + 1e-6 * np.abs(X).max()))
    if "categories" not in case.threat:
        return limits, limits.threat
    threat = limits.threat.set_params(free={CATEGORY: list(VALUES)})
    return replace(limits, frozen=np.arange(D) == CATEGORY), threat


def _rows(model, X: np.ndarray, limits: Limits, rng) -> np.ndarray:
    """Rows beside the data and near a boundary, that keep the relations."""
    fresh = X[rng.integers(len(X), size=5)]
    fresh[:, :WHOLE] += 0.3 * rng.normal(size=(5, WHOLE)) * X[:, :WHOLE].std(axis=0)
    rows = np.vstack([fresh, near_boundary(model, X, 2, rng)])
    if limits.relations is not None:
        A, b = limits.relations
        rows = rows[(rows @ A.T < b - 1e-9 * (np.abs(rows) @ np.abs(A).T + np.abs(b))).all(axis=1)]
    return rows


def _variants(rows: np.ndarray, threat: Threat, rng):
    """The rows, and with another category at no cost."""
    yield rows
    if threat.free is not None:
        changed = rows.copy()
        changed[:, CATEGORY] = rng.choice(VALUES, size=len(rows))
        yield changed


def _attack_dependence(tally: Tally, model, rows: np.ndarray) -> None:
    """Whether an answer depends on the category alone, against the answers for all its values."""
    found = dependence(model, rows, {CATEGORY: list(VALUES)}, n_jobs=1)
    answers = [predict(model, rows)]
    for value in VALUES:
        changed = rows.copy()
        changed[:, CATEGORY] = value
        answers.append(predict(model, changed))
    same = (np.array(answers) == answers[0]).all(axis=0)
    for row, stable in enumerate(found.certificate.stable):
        tally.expect(stable is not True or bool(same[row]), f"row {row}: independent, but another value changes it")
        tally.expect(stable is not False or not same[row], f"row {row}: dependent, but no value changes it")


def _any(sizes: np.ndarray) -> float:
    """A size of the order of those known, for rows without one."""
    finite = sizes[np.isfinite(sizes) & (sizes > 0)]
    return float(finite.min()) if finite.size else 1.0


def compare(tally: Tally, model, rows, limits: Limits, some, whole, sizes: list, changing: np.ndarray) -> None:
    """What stopped early against witnesses: those of the whole search, and its own where it says ``False``."""
    verdict = [None if at is None else replace(some, at=at).stable[row] for row, at in enumerate(sizes)]
    tally.expect(bool((some.radius <= some.upper).all()), "a radius is longer than its own witness")
    for name, certificate in (("its own", some), ("the whole search's", whole)):
        seen = np.flatnonzero(np.isfinite(certificate.upper))
        if not seen.size:
            continue
        moved = certificate.adversarial[seen]
        changed = predict(model, moved) != certificate.prediction[seen]
        kept = moved.copy()
        kept[:, changing] = rows[seen][:, changing]  # at no cost
        for i, row in enumerate(seen):
            tally.expect(bool(changed[i]), f"witness {row} ({name}) does not change the answer")
            tally.expect(_possible(limits, moved[i], kept[i], rows[row]), f"witness {row} ({name}) is not possible")
            radius, size, at = some.radius[row], certificate.upper[row], sizes[row]
            if some.prediction[row] != certificate.prediction[row]:  # at a tie a row alone may round otherwise
                tally.expect(radius == 0, f"row {row}: radius {radius:.9g}, but another answer in a batch")
                continue
            shorter = np.isinf(radius) or (radius > 0 and limits.compare(kept[i], rows[row], radius) < 0)
            tally.expect(not shorter, f"row {row}: radius {radius:.9g}, but {name} witness has {size:.9g}")
            if at is not None:
                lost = verdict[row] is True and limits.compare(kept[i], rows[row], at) <= 0
                tally.expect(not lost, f"row {row}: stable at {at:.9g}, but {name} witness has {size:.9g}")
    for row, at in enumerate(sizes):
        if verdict[row] is False:
            tally.expect(bool(some.upper[row] <= at), f"row {row}: not stable at {at:.6g}, without a witness")
        elif verdict[row] is True:
            tally.expect(some.radius[row] > at or (at == 0 and not changing.any()), f"row {row}: stable, radius below")


def _possible(limits: Limits, moved: np.ndarray, kept: np.ndarray, row: np.ndarray) -> bool:
    """As ``Limits.possible``, but a witness may touch a relation, in which a category counts as what it became."""
    out = replace(limits, relations=None).possible(kept[None], row[None])[0]
    out &= bool(moved[CATEGORY] in (*VALUES, row[CATEGORY], kept[CATEGORY]))
    if limits.relations is not None:
        A, b = limits.relations
        out &= bool((A @ moved - b <= 1e-9 * (np.abs(A) @ np.abs(moved) + np.abs(b))).all())
    return bool(out)
