"""Small problems, certified through the front door and by enumeration of all sets of k nearest points."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from holdfast import CertifiedKNeighborsClassifier, FixedMetric, poisoning_tolerance
from holdfast.certificates import L1, L2, Ellipsoid, LInf
from tests.adversary.setups import NORMS, Setup, certified, limits_for, quietly
from tests.adversary.tally import Tally
from tests.certificates.brute_force import exact_radius, make_problem

D = 2
# The oracle's own tolerance: HiGHS meets rows to 1e-7, quadprog to rounding.
_TOLERANCE = {"l2": 1e-9, "ellipsoid": 1e-9, "linf": 2e-6, "l1": 2e-6}


@dataclass(frozen=True)
class Small:
    """One case: n ≤ 9 points, k ≤ 5, 2 to 4 classes."""

    seed: int
    k: int
    n_classes: int
    norm: str
    ties: str
    data: str
    threat: str
    metric: str = "identity"


cases = st.builds(
    Small,
    st.integers(0, 2**32 - 1),
    st.integers(1, 5),
    st.integers(2, 4),
    st.sampled_from(NORMS),
    st.sampled_from(["nearest", "lowest"]),
    st.sampled_from(["normal", "lattice", "duplicates"]),
    st.sampled_from(["free", "units", "box", "tight box", "up", "frozen", "all"]),
    st.sampled_from(["identity", "full", "rank 1"]),
)


def attack(case: Small) -> Tally:
    """No radius above the smallest move of the enumeration, no witness below it, ``exact`` never wrong."""
    return quietly(_attack, case)


def _attack(case: Small) -> Tally:
    rng, tally = np.random.default_rng(case.seed), Tally()
    n = int(rng.integers(max(case.k + 1, case.n_classes, 5), 10))
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
    certificate = certified(tally, model, rows, threat=limits.threat, reference=reference)
    if certificate is None:
        return tally
    norm = Ellipsoid(limits.norm) if case.norm == "ellipsoid" else {"l2": L2, "linf": LInf, "l1": L1}[case.norm]()
    scale = np.ones(D) if limits.unit is None else limits.unit
    # The oracle measures in units: x / unit in place of x.
    options = {name: None if side is None else side / scale for name, side in
               (("lower", limits.lower), ("upper", limits.upper))}  # fmt: skip
    problem = make_problem(
        X @ L.T, np.searchsorted(model.classes_, y), L * scale, case.k, norm, n_classes=case.n_classes, ties=case.ties,
        frozen=limits.frozen, only_up=limits.only_up, only_down=limits.only_down, **options,
    )  # fmt: skip
    slack = _TOLERANCE[case.norm]
    for i, row in enumerate(rows):
        code = int(np.searchsorted(model.classes_, certificate.prediction[i]))
        truth = exact_radius(problem, row @ L.T, code, row / scale)
        radius, upper = certificate.radius[i], certificate.upper[i]
        room = slack * (1 + (truth if np.isfinite(truth) else 0.0))
        tally.expect(radius <= truth + room, f"row {i}: radius {radius:.9g}, but {truth:.9g} by enumeration")
        tally.expect(upper >= truth - room, f"row {i}: upper {upper:.9g}, but {truth:.9g} by enumeration")
        if certificate.exact[i]:
            near = np.isinf(truth) if np.isinf(radius) else abs(radius - truth) <= 1e-4 * upper + room
            tally.expect(near, f"row {i}: exact {radius:.9g}, but {truth:.9g} by enumeration")
    return tally


@dataclass(frozen=True)
class Labels:
    """One case of flipped labels, on data with many equal distances."""

    seed: int
    k: int
    algorithm: str
    data: str


label_cases = st.builds(
    Labels,
    st.integers(0, 2**32 - 1),
    st.integers(1, 7),
    st.sampled_from(["holdfast", "brute", "kd_tree", "ball_tree"]),
    st.sampled_from(["binary", "lattice", "duplicates", "normal"]),
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
        if case.algorithm == "holdfast":
            return CertifiedKNeighborsClassifier(n_neighbors=case.k).fit(X, labels)
        return KNeighborsClassifier(case.k, algorithm=case.algorithm).fit(X, labels)

    model = fit(y)
    tolerance = poisoning_tolerance(model, rows, reference=None if case.algorithm == "holdfast" else (X, y))
    said = model.predict(rows)
    for i, row in enumerate(rows):
        if not tolerance[i]:
            continue
        far = ((X - row) ** 2).sum(axis=1)
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
