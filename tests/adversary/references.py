"""References for scikit-learn's neighbours: wrong ones, harmless ones, right ones, and models changed after fit."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from holdfast import certify
from tests.adversary.limits import Limits
from tests.adversary.probes import attack_radius
from tests.adversary.setups import Setup, attack_model, build, certified, quietly, sentence, table
from tests.adversary.tally import Tally

_STEPS = [
    "none",
    "standard",
    "min-max",
    "pca",
    "whitening",
    "lda",
    "normalizer",
    "standard, pca",
    "standard, normalizer",
]
_TREES = [f"{name} {k}" for name in ("brute", "kd_tree", "ball_tree") for k in (1, 3)]


@dataclass(frozen=True)
class Reference:
    """One case: a way to be wrong (or right), and the model it is given for."""

    seed: int
    wrong: str
    steps: str
    classifier: str
    data: str = "normal"
    exponent: int = 0


def _shuffled(X, y, rng):
    return X, rng.permutation(y)


def _swapped(X, y, rng):
    """Two labels only."""
    y = y.copy()
    a = int(rng.integers(len(y)))
    b = int(rng.choice(np.flatnonzero(y != y[a])))
    y[[a, b]] = y[[b, a]]
    return X, y


def _one_class_moved(X, y, rng):
    return X + np.where(y == y[0], 1.0, 0.0)[:, None] * 3 * X.std(axis=0), y


def _one_row(X, y, rng):
    X = X.copy()
    X[int(rng.integers(len(X)))] += X.std(axis=0)
    return X, y


def _rows_permuted(X, y, rng):
    return X[rng.permutation(len(X))], y


def _float32_frame(X, y, rng):
    return pd.DataFrame(X.astype(np.float32)), y


WRONG = {
    "labels shuffled": _shuffled,
    "two labels swapped": _swapped,
    "other rows": lambda X, y, rng: (rng.normal(size=X.shape) * X.std(axis=0) + X.mean(axis=0), y),
    "rows permuted, labels not": _rows_permuted,
    "already scaled": lambda X, y, rng: ((X - X.mean(axis=0)) / (0.5 * X.std(axis=0)), y),
    "integers": lambda X, y, rng: (X.astype(int), y),
    "rounded": lambda X, y, rng: (X.round(1), y),
    "noise": lambda X, y, rng: (X + 10.0 ** rng.uniform(-4, 0) * rng.normal(size=X.shape) * X.std(axis=0), y),
    "float32": lambda X, y, rng: (X.astype(np.float32), y),
    "float32 frame": _float32_frame,
    "one class moved": _one_class_moved,
    "one row moved": _one_row,
    "mirrored": lambda X, y, rng: (-X, y),
    "columns reordered": lambda X, y, rng: (X[:, ::-1].copy(), y),
    "a row too few": lambda X, y, rng: (X[:-1], y[:-1]),
    "a row twice": lambda X, y, rng: (np.vstack([X, X[:1]]), np.append(y, y[0])),
    "other labels": lambda X, y, rng: (X, np.array(["x", "y", "z"])[np.unique(y, return_inverse=True)[1]]),
}

_seeds = st.integers(0, 2**32 - 1)
cases = st.builds(
    Reference, _seeds, st.sampled_from(sorted(WRONG)), st.sampled_from(_STEPS), st.sampled_from(_TREES)
)  # fmt: skip
harmless = st.builds(
    Reference, _seeds, st.sampled_from(["noise", "both permuted", "moved along"]), st.sampled_from(_STEPS),
    st.sampled_from(_TREES), exponent=st.integers(-13, -5),
)  # fmt: skip
right = st.builds(
    Reference, _seeds, st.sampled_from(["array", "frame", "list", "integers", "other order in memory"]),
    st.sampled_from(_STEPS), st.sampled_from(_TREES), st.sampled_from(["normal", "offset", "lattice", "duplicates"]),
    st.integers(0, 6),
)  # fmt: skip
CHANGED = [
    "manhattan to euclidean",
    "manhattan metric",
    "mahalanobis to euclidean",
    "other VI",
    "minkowski 3",
]
changed = st.builds(
    Reference, _seeds, st.sampled_from(CHANGED), st.just("none"), st.sampled_from(["brute", "kd_tree", "ball_tree"])
)


def fitted(case: Reference, rng):
    """The model and what it was fitted on; continuous values, far from integers."""
    setup = Setup(case.seed, case.steps, case.classifier, case.data, case.exponent)
    X, y = table(setup, rng)
    if case.data == "normal":
        X = 3.0 * X + 0.25
    return build(setup, rng, X, y)[0], X, y


def attack(case: Reference) -> Tally:
    """A wrong reference must be refused."""
    return quietly(_attack, case)


def _attack(case: Reference) -> Tally:
    rng, tally = np.random.default_rng(case.seed), Tally()
    model, X, y = fitted(case, rng)
    reference = WRONG[case.wrong](X, y, rng)
    if case.wrong == "labels shuffled" and (reference[1] == y).all():
        return tally
    if case.steps.endswith("normalizer") and case.wrong == "already scaled":
        return tally  # a multiple of the rows may be the same to the model
    _expect_refusal(tally, model, X[:4] + 0.1, reference, case)
    return tally


def _expect_refusal(tally: Tally, model, rows, reference, case) -> None:
    try:
        certify(model, rows, reference=reference, method="lower", witness=False, n_jobs=1)
    except (ValueError, TypeError) as error:
        tally.expect(sentence(error), f"refused without a sentence: {error!r}")
        tally.refused += 1
    except Exception as error:
        tally.expect(False, f"{case.wrong}: neither certified nor refused: {error!r}")
    else:
        tally.expect(False, f"{case.wrong}: accepted")


def attack_harmless(case: Reference) -> Tally:
    """Errors so small, or so placed, that they may pass: then the radii must hold."""
    return quietly(_attack_harmless, case)


def _attack_harmless(case: Reference) -> Tally:
    rng, tally = np.random.default_rng(case.seed), Tally()
    model, X, y = fitted(Reference(case.seed, case.wrong, case.steps, case.classifier), rng)
    if case.wrong == "noise":
        reference = X * (1 + 10.0**case.exponent * rng.normal(size=X.shape)), y
    elif case.wrong == "both permuted":
        order = rng.permutation(len(X))
        reference = X[order], y[order]
    else:
        reference = X + 10.0**case.exponent, y
    rows = X[:6] + 0.3 * rng.normal(size=(6, X.shape[1]))
    certificate = certified(tally, model, rows, reference=reference, budget=50)
    if certificate is not None:
        tally.add(attack_radius(model, rows, certificate, Limits(), X, rng))
    return tally


def attack_right(case: Reference) -> Tally:
    """The rows the model was fitted on, as arrays, frames or lists: accepted."""
    return quietly(_attack_right, case)


def _attack_right(case: Reference) -> Tally:
    rng, tally = np.random.default_rng(case.seed), Tally()
    try:
        model, X, y = fitted(case, rng)
        model.predict(X[:1])
    except (ValueError, np.linalg.LinAlgError):
        return tally
    rows = X[:3] + 0.1 * X.std(axis=0)
    given = X
    if case.wrong == "integers":
        X = np.round(X)
        model.fit(X, y)
        given = X.astype(int)
    elif case.wrong == "frame":
        X = given = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
        model.fit(X, y)
        rows = pd.DataFrame(rows, columns=X.columns)
    elif case.wrong == "list":
        given = X.tolist()
    elif case.wrong == "other order in memory":
        given = np.asfortranarray(X)
    try:
        certify(model, rows, reference=(given, y), method="lower", witness=False, n_jobs=1)
    except Exception as error:
        tally.expect(False, f"the right reference is refused: {error!r}")
    else:
        tally.expect(True, "")
    return tally


def attack_changed(case: Reference) -> Tally:
    """Parameters that were changed after fit, while the model goes on as it was fitted: refused."""
    return quietly(_attack_changed, case)


def _attack_changed(case: Reference) -> Tally:
    rng, tally = np.random.default_rng(case.seed), Tally()
    X, y = table(Setup(case.seed), rng)
    VI = np.diag([1.0, 4.0, 0.1, 2.0])
    tree = case.classifier
    start: dict = {"p": 1}
    then: dict = {"p": 2}
    if case.wrong == "manhattan metric":
        start, then = {"metric": "manhattan"}, {"metric": "euclidean"}
    elif case.wrong == "minkowski 3":
        start, then = {"p": 3}, {"metric": "euclidean"}
    elif case.wrong == "mahalanobis to euclidean":
        tree = "brute"
        start, then = (
            {"metric": "mahalanobis", "metric_params": {"VI": VI}},
            {"metric": "euclidean", "metric_params": None},
        )
    elif case.wrong == "other VI":
        tree = "brute"
        start, then = {"metric": "mahalanobis", "metric_params": {"VI": VI}}, {"metric_params": {"VI": np.eye(4)}}
    model = KNeighborsClassifier(3, algorithm=tree, **start).fit(X, y).set_params(**then)
    _expect_refusal(tally, model, X[:4] + 0.1, (X, y), case)
    # A change that predict follows may be certified, if the radii hold.
    weights = ["uniform", "distance"][int(rng.integers(2))]
    model = KNeighborsClassifier(3, algorithm=case.classifier).fit(X, y)
    model.set_params(n_neighbors=int(rng.integers(1, 6)), weights=weights)
    tally.add(attack_model(model, X, X[:6] + 0.2, Limits(), rng, reference=(X, y), budget=50))
    return tally
