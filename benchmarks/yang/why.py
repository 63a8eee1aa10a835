"""The small experiments that decided FINDINGS.md: ``python -m benchmarks.yang.why EXPERIMENT --sets … --rounds N``.

Parameters are fixed, nothing is tuned: each line is the mean over the rounds of one learner under the four conditions.
"""

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.yang.conditions import CLEAN, Condition, disturbed
from benchmarks.yang.protocol import Round, make_round
from benchmarks.yang.sets import SETS
from benchmarks.yang.store import published
from benchmarks.yang.tables import markdown
from holdfast import (
    DRIFT,
    LMNN,
    CappedTraceLMNN,
    CertifiedKNeighborsClassifier,
    CertifiedPrototypeClassifier,
    Euclidean,
    LogDetLMNN,
    ProxyNCA,
    SpectralNormLMNN,
)
from holdfast.learn import MetricLearner
from holdfast.learn.solvers import LBFGS, PrimalDual, ProjectedGradient
from holdfast.paper import g_mean

_CONDITIONS = (CLEAN, Condition("isotropic", 5), Condition("anisotropic", 5), Condition("adversarial", 0.2))
Named = Iterator[tuple[str, MetricLearner]]


def schedule() -> Named:
    """CAP and LDD by the paper's schedule, and by L-BFGS, which goes to the minimum."""
    for name, solver in (("schedule", ProjectedGradient()), ("L-BFGS", LBFGS())):
        for weight, rank in ((1e-2, 0.5), (1.0, 0.15), (10.0, 0.15)):
            yield f"CAP {weight:g}, rank {rank:g} p, {name}", CappedTraceLMNN(weight=weight, rank=rank, solver=solver)  # type: ignore[arg-type]
        for weight in (1e-6, 1e-3):
            yield f"LDD {weight:g}, {name}", LogDetLMNN(weight=weight, solver=solver)


def proxies() -> Named:
    """PNCA by the paper's schedule, where T limits how far it gets, and by L-BFGS, where T is a scale of M alone."""
    for name, solver in (("schedule", ProjectedGradient()), ("L-BFGS", LBFGS())):
        for temperature in (1.0, 100.0):
            yield (
                f"PNCA T = {temperature:g}, {name}",
                ProxyNCA(3, temperature, None, True, solver=solver, random_state=0),
            )


def drift() -> Named:
    """DRIFT held near the Euclidean metric, strongly and weakly."""
    yield "Euclidean", Euclidean()
    for weight in (1e-4, 1e-3, 1e-2):
        yield f"DRIFT {weight:g}", DRIFT(weight=weight)


def stopping() -> Named:
    """Fits to the minimum, and fits that end when held-out rows no longer gain."""
    yield "Euclidean", Euclidean()
    for fraction in (None, 0.1, 0.2):
        yield f"CAP, held out {fraction}", CappedTraceLMNN(validation_fraction=fraction)
        yield f"LMNN, held out {fraction}", LMNN(mu=0.5, perturbation=None, validation_fraction=fraction)
    yield "LMNN()", LMNN()


def spectral() -> Named:
    """The spectral norm: the objective is the last column."""
    for name, solver in (("default", None), ("L-BFGS", LBFGS()), ("PrimalDual", PrimalDual())):
        yield f"SN, {name}", SpectralNormLMNN(solver=solver)
        yield f"SN, {name}, other start", SpectralNormLMNN(solver=solver, init="other")


EXPERIMENTS = {one.__name__: one for one in (schedule, proxies, drift, stopping, spectral)}


def sizes() -> pd.DataFrame:
    """The numbers of test rows of which every printed accuracy is a multiple, against the rule n − ⌊0.7 n⌋."""
    table = published("uci")
    out = []
    for name, facts in SETS.items():
        one = table[(table["dataset"] == name) & table["condition"].isin(["clean", "adversarial_l2_0.2"])]
        if facts.rounds != 20 or facts.score != "accuracy":
            continue
        values, n = one["mean"].to_numpy(), len(make_round(name, 0).y_train) + len(make_round(name, 0).y_test)
        fits = [t for t in range(n // 5, n // 2) if _are_multiples(values, facts.rounds * t)]
        out.append((name, n, n - int(0.7 * n), ", ".join(map(str, fits[:4])) + (" …" if len(fits) > 4 else "")))
    return pd.DataFrame(out, columns=["set", "rows", "test rows by the rule", "test rows by the printed numbers"])


def _are_multiples(percents: np.ndarray, total: int) -> bool:
    nearest = np.round(percents / 100 * total) / total * 100
    return bool((np.abs(nearest - percents) <= 0.00501).all())


def measure(learner: MetricLearner, part: Round) -> list[float]:
    """Percent under the four conditions, and the objective."""
    p = part.X_train.shape[1]
    if isinstance(learner, CappedTraceLMNN) and learner.rank is not None:
        learner.set_params(rank=max(1, round(learner.rank * p)))
    if isinstance(learner, SpectralNormLMNN) and learner.init is not None:
        learner.set_params(init=np.diag(np.linspace(1.0, 3.0, p)))
    learner.fit(part.X_train, part.y_train)
    kind = CertifiedPrototypeClassifier if hasattr(learner, "prototypes_") else CertifiedKNeighborsClassifier
    voter = kind(learner, n_jobs=1)
    if kind is CertifiedKNeighborsClassifier:
        voter.set_params(n_neighbors=3)
    voter.fit(part.X_train, part.y_train)
    score = g_mean if part.facts.score == "g_mean" else lambda y, found: np.mean(y == found)
    out = []
    for condition in _CONDITIONS:
        X, y = disturbed(condition, part, voter.components_, (part.X_train, part.y_train))
        out.append(100.0 * float(score(y, voter.predict(X))))
    return [*out, float(getattr(learner, "objective_", [np.nan])[-1])]


def main() -> None:
    """Run an experiment and print its table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.yang.why", description=__doc__)
    parser.add_argument("experiment", choices=["sizes", *EXPERIMENTS])
    parser.add_argument("--sets", nargs="+", default=["wdbc", "sonar"], choices=SETS)
    parser.add_argument("--rounds", type=int, default=1)
    chosen = parser.parse_args()
    if chosen.experiment == "sizes":
        print(markdown(sizes()))
        return
    warnings.simplefilter("ignore")
    rows = []
    for name in chosen.sets:
        for label, _ in EXPERIMENTS[chosen.experiment]():
            found = []
            for number in range(chosen.rounds):
                learner = dict(EXPERIMENTS[chosen.experiment]())[label]
                found.append(measure(learner, make_round(name, number)))
            rows.append((name, label, *np.mean(found, axis=0)))
    columns = ["set", "learner", "clean", "isotropic", "anisotropic", "adversarial", "objective"]
    print(
        markdown(
            pd.DataFrame(rows, columns=columns).round({"objective": 4}),
            digits=4 if chosen.experiment == "spectral" else 1,
        )
    )


if __name__ == "__main__":
    main()
