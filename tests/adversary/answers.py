"""Counterfactuals: no possible row that is nearer than a proven bound has the answer."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from holdfast import Threat, certify, counterfactuals
from tests.adversary import setups
from tests.adversary.limits import Limits
from tests.adversary.probes import predict
from tests.adversary.setups import CLASSIFIERS, DATA, NORMS, THREATS, quietly, sentence
from tests.adversary.tally import Tally

ROWS = 4
BENT = {
    "power": lambda: [PowerTransformer()],
    "quantiles": lambda: [QuantileTransformer(n_quantiles=20)],
    "bins": lambda: [KBinsDiscretizer(4, encode="ordinal", strategy="uniform")],
    "clipped": lambda: [MinMaxScaler(clip=True)],
    "standard, clipped": lambda: [StandardScaler(), MaxAbsScaler(clip=True)],
    "exp": lambda: [MinMaxScaler(), FunctionTransformer(np.exp)],
}
STEPS = setups.STEPS | BENT
SHARES = (1 - 1e-12, 1 - 1e-6, 0.9, 0.6, 0.3)  # of a bound, or of the way to a row with the answer
_HALVINGS, _HELD = 40, 12  # of a segment; rows for which a slack is certified


@dataclass(frozen=True)
class Asked:
    """One case: a setup, a target (-1: any other class), and a share of the spread of the data as slack."""

    setup: setups.Setup
    steps: str
    target: int
    slack: float


def _draw(steps) -> st.SearchStrategy[Asked]:
    setup = st.builds(
        setups.Setup,
        seed=st.integers(0, 2**32 - 1),
        classifier=st.sampled_from(sorted(CLASSIFIERS)),
        data=st.sampled_from(DATA),
        exponent=st.integers(0, 3),
        norm=st.sampled_from([norm for norm in NORMS if norm != "ellipsoid"]),
        threat=st.sampled_from(THREATS),
    )
    return st.builds(
        Asked, setup=setup, steps=st.sampled_from(sorted(steps)), target=st.integers(-1, 2),
        slack=st.sampled_from([0.0, 0.0, 0.03]),
    )  # fmt: skip


straight, bent = _draw(setups.STEPS), _draw(BENT)


def attack(asked: Asked) -> Tally:
    """Ask, and look for nearer answers."""
    return quietly(_attack, asked)


def _attack(asked: Asked) -> Tally:
    setup, tally = asked.setup, Tally()
    rng = np.random.default_rng(setup.seed)
    X, y = setups.table(setup, rng)
    last = CLASSIFIERS[setup.classifier]()
    try:
        model = make_pipeline(*STEPS[asked.steps](), last).fit(X, y)
        model.predict(X)
    except (ValueError, np.linalg.LinAlgError):  # scikit-learn cannot fit it: nothing to attack
        return tally
    limits = setups.limits_for(setup, X, rng)
    target = None if asked.target < 0 else model.classes_[asked.target % len(model.classes_)]
    slack = asked.slack * float(np.median(limits.lengths(X - X.mean(axis=0))))
    rows = X[rng.choice(len(X), ROWS, replace=False)] + 0.1 * rng.normal(size=(ROWS, X.shape[1])) * X.std(axis=0)
    reference = (X, y) if isinstance(last, KNeighborsClassifier) else None
    try:
        found = counterfactuals(
            model, rows, target, threat=limits.threat, slack=slack, reference=reference, near_data=False,
            budget=setup.budget, n_jobs=1,
        )  # fmt: skip
    except (ValueError, TypeError) as error:
        tally.expect(sentence(error), f"refused without a sentence: {error!r}")
        tally.refused += 1
        return tally
    for t, row in enumerate(rows):
        wrong = found.prediction[t]

        def wanted(points, wrong=wrong) -> np.ndarray:
            answers = predict(model, points)
            return answers != wrong if target is None else answers == target

        if found.valid[t]:
            point = found.points[t][None]
            tally.expect(bool(wanted(point)[0]), f"row {t}: the point is no answer")
            tally.expect(bool(limits.possible(point, row[None])[0]), f"row {t}: the point is beyond the limits")
        if found.lower_bound[t] > 0:
            _look_nearer(tally, model, row, found.lower_bound[t], wanted, slack, limits, X, rng)
    return tally


def _look_nearer(tally: Tally, model, row, bound: float, wanted, slack: float, limits: Limits, X, rng) -> None:
    """Rows with the answer below the bound: on the way to data and to random rows, and where the answer begins."""
    low, high = limits.sides(row[None])
    ends = np.vstack([X, row + rng.normal(size=(200, row.size)) * X.std(axis=0), row + 3.0 * (X - row)])
    ends = np.clip(ends, low, high)
    ends = ends[wanted(ends)]
    if not len(ends):
        return
    near, far = np.zeros(len(ends)), np.ones(len(ends))
    for _ in range(0 if slack else _HALVINGS):
        middle = 0.5 * (near + far)
        there = wanted(row + middle[:, None] * (ends - row))
        near, far = np.where(there, near, middle), np.where(there, middle, far)
    parts = [row + share * (ends - row) for share in SHARES]
    moved = np.vstack([ends, row + far[:, None] * (ends - row), *parts])
    moved = moved[limits.possible(moved, np.broadcast_to(row, moved.shape))]
    moved = moved[np.argsort(limits.lengths(moved - row), kind="stable")]
    moved = moved[wanted(moved)] if len(moved) else moved
    if slack and len(moved):
        moved = moved[:: max(1, len(moved) // _HELD)]
        noise = Threat(limits.norm, unit=limits.unit, frozen=limits.frozen)
        held = certify(model, moved, threat=noise, method="lower", witness=False, n_jobs=1)
        moved = moved[held.radius >= slack]
    tally.tries += len(moved)
    nearer = [z for z in moved[:1] if np.isinf(bound) or limits.compare(z, row, bound) < 0]
    if nearer and wanted(np.array(nearer))[0]:  # alone, as it was in a batch
        size = limits.lengths(nearer[0][None] - row)[0]
        tally.worst = max(tally.worst, bound / size if size > 0 else np.inf)
        tally.breaks.append(f"no answer below {bound:.6g}, but one at {size:.6g}")
