"""Models in which digits are lost: columns far from 1 behind power transforms, float32 bins, sums of many terms."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, PowerTransformer, QuantileTransformer, StandardScaler
from sklearn.svm import SVC

from tests.adversary.limits import Limits
from tests.adversary.probes import near_boundary
from tests.adversary.setups import attack_model, quietly
from tests.adversary.tally import Tally

# Columns as people have them, by a generator and a number of rows.
COLUMNS = {
    "years": lambda rng, n: 1990.0 + rng.integers(0, 35, size=n),
    "years of birth": lambda rng, n: 2005.0 - np.round(rng.gamma(3.0, 12.0, size=n)),
    "hPa": lambda rng, n: 1013.0 + 8.0 * rng.normal(size=n),
    "kelvin": lambda rng, n: 288.0 + 9.0 * rng.normal(size=n),
    "below zero": lambda rng, n: -30.0 + 4.0 * rng.normal(size=n),
    "prices": lambda rng, n: 1e5 * np.exp(0.1 * rng.normal(size=n)),
}
MAPS = {
    "yeo-johnson": PowerTransformer,
    "box-cox": lambda: PowerTransformer("box-cox"),
    "yeo-johnson, as it is": lambda: PowerTransformer(standardize=False),
    "normal quantiles": lambda: QuantileTransformer(n_quantiles=60, output_distribution="normal"),
}
VOTES = {"logistic": LogisticRegression, "3 nearest": lambda: KNeighborsClassifier(3, algorithm="brute")}


@dataclass(frozen=True)
class PrecisionCase:
    """One case: a seed and names of what to build."""

    seed: int
    column: str
    steps: str
    vote: str
    norm: str


_SEEDS = st.integers(0, 2**32 - 1)
shifted = st.builds(
    PrecisionCase, _SEEDS, st.sampled_from(sorted(COLUMNS)), st.sampled_from(sorted(MAPS)),
    st.sampled_from(["logistic", "logistic", "3 nearest"]), st.sampled_from(["l2", "l1"]),
)  # fmt: skip
binned = st.builds(
    PrecisionCase, _SEEDS, st.sampled_from(["prices", "hPa", "kelvin"]), st.sampled_from(["onehot-dense", "ordinal"]),
    st.just("logistic"), st.sampled_from(["l2", "linf"]),
)  # fmt: skip
long_sums = _SEEDS


def attack_shifted(case: PrecisionCase) -> Tally:
    """A monotone map of a column far from 1, beside an ordinary one."""
    return quietly(_attack, case, MAPS[case.steps])


def attack_binned(case: PrecisionCase) -> Tally:
    """Bins of a step that rounds to single precision; it may be refused."""
    bins = {"n_bins": 5, "encode": case.steps, "strategy": "uniform", "dtype": np.float32}
    return quietly(_attack, case, lambda: KBinsDiscretizer(**bins))


def _attack(case: PrecisionCase, step) -> Tally:
    rng = np.random.default_rng(case.seed)
    x = COLUMNS[case.column](rng, 80)
    X = np.column_stack([x, np.exp(rng.normal(size=80))])
    y = (2.0 * (x - x.mean()) / x.std() + rng.normal(size=80) > 0).astype(int)
    scaler = [StandardScaler()] if case.steps in MAPS else []
    model = make_pipeline(step(), *scaler, VOTES[case.vote]())
    try:
        model.fit(X, y)
        model.predict(X)
    except ValueError:  # scikit-learn cannot fit it: nothing to attack
        return Tally()
    rows = X[rng.integers(len(X), size=8)]  # not beside the boundary, where a check of the rows themselves sees float32
    if case.steps in MAPS:
        beside = near_boundary(model, X, 2, rng)  # none where one class is predicted everywhere
        rows[len(rows) - len(beside) :] = beside
    reference = (X, y) if case.vote != "logistic" else None
    limits = Limits(case.norm, lower=np.full(2, 1e-9)) if case.steps == "box-cox" else Limits(case.norm)
    return attack_model(model, X, rows, limits, rng, reference=reference)


def attack_long_sum(seed: int, vectors: int = 100_000) -> Tally:
    """A linear SVC with very many support vectors, which libsvm adds up one by one; rows beside its boundary."""
    return quietly(_attack_long_sum, seed, vectors)


def _attack_long_sum(seed: int, vectors: int) -> Tally:
    rng = np.random.default_rng(seed)
    model = many_support_vectors(rng, vectors)
    middle = -model.intercept_[0] / model.coef_[0, 0]
    rows = (middle * (1.0 + rng.choice([-1.0, 1.0], size=20) * 10.0 ** rng.uniform(-13, -7, size=20)))[:, None]
    return attack_model(model, rows, rows, Limits("l2"), rng, witness=False)


def many_support_vectors(rng, vectors: int) -> SVC:
    """A linear SVC of one feature as from a fit of many rows that occur again and again: all are at the bound."""
    rare = 10.0 + rng.normal(size=(8, 1)) + np.repeat([[0.7], [3.1]], 4, axis=0)
    copies = vectors // len(rare)
    model = SVC(kernel="linear", C=1e-6 * copies).fit(rare, np.repeat([0, 1], 4))
    model.support_vectors_ = np.repeat(model.support_vectors_, copies, axis=0)
    model.support_ = np.arange(len(model.support_vectors_), dtype=np.int32)
    for name in ("dual_coef_", "_dual_coef_"):  # of opposite signs
        setattr(model, name, np.repeat(getattr(model, name), copies, axis=1) / copies)
    model._n_support = (model._n_support * copies).astype(np.int32)
    return model
