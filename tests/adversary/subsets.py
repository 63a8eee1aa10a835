"""Small problems, certified through the front door and by enumeration of all sets of k nearest points."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import CertifiedKNeighborsClassifier, FixedMetric, poisoning_tolerance
from holdfast.certificates import L1, L2, Ellipsoid, LInf
from tests.adversary.setups import NORMS, Setup, certified, limits_for, quietly
from tests.adversary.tally import Tally
from tests.certificates.brute_force import exact_radius, make_problem

D = 2
VALUES = (-1.0, 0.0, 1.0)  # of the second feature, where it is a category
THREATS = ["free", "units", "box", "tight box", "up", "frozen", "all", "whole", "category", "relations"]
PARTS = (0.5, 0.99, 1.001, 1.3, 2.0, 5.0)  # of the radius: sizes at which verdicts are asked for
# The oracle's own tolerance: HiGHS meets rows to 1e-7, quadprog to rounding.
_TOLERANCE = {"l2": 1e-9, "ellipsoid": 1e-9, "linf": 2e-6, "l1": 2e-6}


@dataclass(frozen=True)
class Small:
    """One case: n ≤ 10 points, k ≤ 7, 2 to 4 classes; the work that a search may take."""

    seed: int
    k: int
    n_classes: int
    norm: str
    ties: str
    data: str
    threat: str
    metric: str = "identity"
    budget: int = 40_000


cases = st.builds(
    Small,
    st.integers(0, 2**32 - 1),
    st.integers(1, 7),
    st.integers(2, 4),
    st.sampled_from(NORMS),
    st.sampled_from(["nearest", "lowest"]),
    st.sampled_from(["normal", "lattice", "duplicates"]),
    st.sampled_from(THREATS),
    st.sampled_from(["identity", "full", "rank 1"]),
    st.sampled_from([0, 1, 4, 20, 2000, 2000]),
)


def attack(case: Small) -> Tally:
    """No radius above the smallest move of the enumeration, no witness below it, ``exact`` never wrong."""
    return quietly(_attack, case)


def _attack(case: Small) -> Tally:
    if case.threat == "whole" and case.norm == "ellipsoid":  # the price of a step would depend on the other feature
        case = replace(case, norm="l2")
    rng, tally = np.random.default_rng(case.seed), Tally()
    n = int(rng.integers(max(case.k + 1, case.n_classes, 5), max(10, case.k + 3)))
    X = rng.normal(size=(n, D))
    if case.data == "lattice":
        X = np.round(1.5 * X)
    elif case.data == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
    y = rng.integers(case.n_classes, size=n)
    y[: case.n_classes] = range(case.n_classes)
    L = {"identity": np.eye(D), "full": rng.normal(size=(D, D)), "rank 1": rng.normal(size=(1, D))}[case.metric]
    if case.ties == "nearest":
        model = CertifiedKNeighborsClassifier(FixedMetric(L.T @ L), n_neighbors=case.k).fit(X, y)
        L, reference = model.components_, None
    else:
        model, L, reference = KNeighborsClassifier(case.k, algorithm="brute").fit(X, y), np.eye(D), (X, y)
    rows = 0.7 * rng.normal(size=(3, D))
    if case.data == "lattice":
        rows[0] = np.round(rows[0])
    limits = limits_for(Setup(norm=case.norm, threat=case.threat), np.vstack([X, X + 0.1]), rng)
    if case.threat == "whole":
        limits = replace(limits, integer=np.array([False, True]))
    if case.threat == "relations":
        A = rng.normal(size=(2, D))
        limits = replace(limits, relations=(A, (rows @ A.T).max(axis=0) + rng.uniform(0, 0.5, size=2)))
    threat = limits.threat
    if case.threat == "category":
        threat.set_params(free={1: list(VALUES)})
    options = {"threat": threat, "reference": reference, "budget": case.budget}
    certificate = certified(tally, model, rows, **options)
    if certificate is None:
        return tally
    truth = _truth(case, limits, model, X @ L.T, np.searchsorted(model.classes_, y), L, rows, certificate.prediction)
    slack = _TOLERANCE[case.norm]
    room = slack * (1 + np.where(np.isfinite(truth), truth, 0.0))
    _compare(tally, certificate, truth, room, "")
    finite = np.flatnonzero(np.isfinite(truth) & (truth > 0))
    for part in rng.choice(PARTS, size=2, replace=False):
        at = float(part * truth[rng.choice(finite)]) if finite.size else float(part)
        found = certified(tally, model, rows, at=at, **options)
        if found is None:
            tally.expect(False, f"refused at {at:.6g}, but not without")
            continue
        _compare(tally, found, truth, room, f" at {at:.6g}")
        for i, stable in enumerate(found.stable):
            tally.expect(
                stable is not True or truth[i] > at - room[i], f"row {i}: stable at {at:.6g}, not {truth[i]:.6g}"
            )
            tally.expect(
                stable is not False or truth[i] < at + room[i], f"row {i}: lost at {at:.6g}, not {truth[i]:.6g}"
            )
    return tally


def _compare(tally: Tally, certificate, truth: np.ndarray, room: np.ndarray, asked: str) -> None:
    """Bounds on both sides of the truth, and ``exact`` only where they are at it."""
    for i, (radius, upper) in enumerate(zip(certificate.radius, certificate.upper, strict=True)):
        said = f"row {i}{asked}: {{}} {{:.9g}}, but {truth[i]:.9g} by enumeration"
        tally.expect(radius <= truth[i] + room[i], said.format("radius", radius))
        tally.expect(upper >= truth[i] - room[i], said.format("upper", upper))
        if certificate.exact[i]:
            near = np.isinf(truth[i]) if np.isinf(radius) else abs(radius - truth[i]) <= 1e-4 * upper + room[i]
            tally.expect(near, said.format("exact", radius))


def _truth(case: Small, limits, model, points, codes, L, rows, said) -> np.ndarray:
    """The smallest move of every row by enumeration; over all values of the second feature where it is in steps."""
    norm = Ellipsoid(limits.norm) if case.norm == "ellipsoid" else {"l2": L2, "linf": LInf, "l1": L1}[case.norm]()
    scale = np.ones(D) if limits.unit is None else limits.unit
    stepwise = case.threat in ("whole", "category")
    # The oracle measures in units: x / unit in place of x.
    options = {name: None if side is None else side / scale for name, side in
               (("lower", limits.lower), ("upper", limits.upper))}  # fmt: skip
    problem = make_problem(
        points, codes, L * scale, case.k, norm, n_classes=case.n_classes, ties=case.ties,
        frozen=np.array([False, True]) if stepwise else limits.frozen, only_up=limits.only_up,
        only_down=limits.only_down, relations=limits.relations, **options,
    )  # fmt: skip
    out = np.full(len(rows), np.inf)
    for i, row in enumerate(rows):
        code = int(np.searchsorted(model.classes_, said[i]))
        for value in _values(case, row[1]):
            place = np.array([row[0], value])
            rest = exact_radius(problem, place @ L.T, code, place / scale)
            price = abs(value - row[1]) if case.threat == "whole" else 0.0
            out[i] = min(out[i], _together(case.norm, price, rest))
    return out


def _values(case: Small, own: float) -> list[float]:
    """What the second feature can be before the first moves: itself, or other whole numbers or categories."""
    if case.threat == "whole":
        return [own, *np.arange(np.floor(own) - 12, np.ceil(own) + 13)]
    return [own, *VALUES] if case.threat == "category" else [own]


def _together(norm: str, price: float, rest: float) -> float:
    """The size of a move of both features, of which one costs ``price`` and the other ``rest``."""
    if not price or not np.isfinite(rest):
        return rest
    return {"l2": float(np.hypot(price, rest)), "linf": max(price, rest), "l1": price + rest}[norm]


@dataclass(frozen=True)
class Labels:
    """One case of flipped labels, on data with many equal distances."""

    seed: int
    k: int
    algorithm: str
    data: str
    scaled: bool = False


label_cases = st.builds(
    Labels,
    st.integers(0, 2**32 - 1),
    st.integers(1, 7),
    st.sampled_from(["holdfast", "brute", "kd_tree", "ball_tree"]),
    st.sampled_from(["binary", "lattice", "duplicates", "normal"]),
    st.booleans(),
)


def attack_labels(case: Labels) -> Tally:
    """As many labels as are tolerated, flipped where it hurts: the prediction of the refitted model stays."""
    return quietly(_attack_labels, case)


def _attack_labels(case: Labels) -> Tally:
    rng, tally = np.random.default_rng(case.seed), Tally()
    X = rng.normal(size=(24, 3))
    if case.data == "binary":
        X = (X > 0).astype(float)
    elif case.data == "lattice":
        X = np.round(X)
    elif case.data == "duplicates":
        X[12:] = X[:12]
    y = rng.integers(2 + case.seed % 2, size=24)
    y[:3] = y[-3:] = [0, 1, 1 + case.seed % 2]
    rows = X[rng.integers(24, size=6)] if case.data != "normal" else rng.normal(size=(6, 3))

    def fit(labels):
        last = CertifiedKNeighborsClassifier(n_neighbors=case.k)
        if case.algorithm != "holdfast":
            last = KNeighborsClassifier(case.k, algorithm=case.algorithm)
        return (make_pipeline(StandardScaler(), last) if case.scaled else last).fit(X, labels)

    model = fit(y)
    tolerance = poisoning_tolerance(model, rows, reference=None if case.algorithm == "holdfast" else (X, y))
    said = model.predict(rows)
    for i, row in enumerate(rows):
        if not tolerance[i]:
            continue
        far = (((X - row) / (X.std(axis=0) if case.scaled else 1.0)) ** 2).sum(axis=1)
        edge = np.sort(far)[case.k - 1]
        voters = np.flatnonzero((far <= edge * (1 + 1e-12)) & (y == said[i]))  # all that may be among the nearest
        for _ in range(12):
            flipped = y.copy()
            who = rng.choice(voters, size=min(int(tolerance[i]), len(voters)), replace=False)
            flipped[who] = rng.choice(np.setdiff1d(y, [said[i]]))
            answer = fit(flipped).predict(row[None])[0]
            tally.expect(
                answer == said[i], f"row {i}: tolerance {tolerance[i]}, but {len(who)} flips change the answer"
            )
    return tally
