"""Ideas for better training and choosing, beside what the search does now, on development splits.

    python -m benchmarks.frontier.training [--rounds 0 1] [--ideas "prune first"] [--sets iris wine]

Rows go to ``results/training.csv``, those that are there are not made again; then the means are printed.
"""

import argparse
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from benchmarks.frontier.__main__ import SETS
from benchmarks.frontier.cell import BUDGET, RADIUS
from benchmarks.frontier.data import development_round
from benchmarks.frontier.methods import logistic_regression
from benchmarks.yang.store import write
from holdfast import LMNN, MultiPass, RobustClassifierCV
from holdfast.learn import MetricLearner, Perturbation
from holdfast.learn.spaces import components_of_factor
from holdfast.models.pruning import prune
from holdfast.selection.families import FAMILIES, Facts, Family, Recipe, draw_loss, neighbor_heads

RESULTS = Path(__file__).with_name("results") / "training.csv"


class PrunedFirst(MetricLearner):
    """A learner on the rows that a Euclidean pruning keeps; with a second turn, on those that its own metric keeps."""

    def __init__(self, learner=None, margin=0.0, turns=1):
        self.learner = learner
        self.margin = margin
        self.turns = turns

    def fit(self, X, y=None):
        """Prune and learn, in turn."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        codes, L = np.unique(y, return_inverse=True)[1], np.eye(X.shape[1])
        for _ in range(self.turns):
            kept = prune(X, codes, L, self.margin)
            self.learner_ = clone(self.learner).fit(X[kept], y[kept])
            L = self.learner_.components_
        self.components_ = L
        return self


class Idea(Family):
    """LMNN-PL, drawn as the search draws it, and changed by one idea."""

    name = "lmnn"
    label = "LMNN-PL"

    def __init__(self, targets=(3, 5, 10), fit_the_vote=False, passes=None, prune_turns=0):
        self.targets = targets
        self.fit_the_vote = fit_the_vote
        self.passes = passes
        self.prune_turns = prune_turns

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """As those of LMNN-PL."""
        found = []
        for _ in range(n_draws):
            targets, mu = int(self.targets[rng.randint(len(self.targets))]), float(rng.uniform(0.1, 0.9))
            learner = LMNN(n_neighbors=targets, mu=mu, perturbation=Perturbation(**draw_loss(rng, facts)), n_jobs=1)
            heads = neighbor_heads(facts, (2 * targets - 1,)) if self.fit_the_vote else neighbor_heads(facts)
            if self.passes:
                learner = MultiPass(learner, self.passes)
            if self.prune_turns:
                learner = PrunedFirst(learner, 2.0 * facts.prune_unit, self.prune_turns)
            found.append(Recipe(self.name, learner, {"n_neighbors": targets, "mu": mu}, heads))
        return found


class MeanMetric(MetricLearner):
    """``M = 1/B · Σ_b M_b / tr M_b``: the mean of the metrics of B learners, each at the same scale."""

    def __init__(self, learners=()):
        self.learners = learners

    def fit(self, X, y=None):
        """Fit every learner, and take the mean."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        factors = [clone(learner).fit(X, y).components_ for learner in self.learners]
        self.components_ = components_of_factor(np.vstack([L / np.linalg.norm(L) for L in factors]))
        return self


class MeanOfDraws(Family):
    """The mean of the metrics of all draws of LMNN-PL, in place of the draw that did best on the folds."""

    name = "lmnn"
    label = "LMNN-PL"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """One recipe."""
        drawn = FAMILIES["lmnn"].draws(rng, facts, n_draws)
        return [Recipe(self.name, MeanMetric([one.estimator for one in drawn]), {}, drawn[0].heads)]


_OTHERS = ["linear", "euclidean", "prototypes"]
_BEFORE = [name for name in FAMILIES if name != "margin_lvq"]  # the ideas above it were measured without it
IDEAS = {
    "LMNN-PL as it is": lambda seed: {"candidates": [Idea()]},
    "triplets that fit the vote": lambda seed: {"candidates": [Idea((1, 2, 4, 8, 16), fit_the_vote=True)]},
    "mined again under the metric": lambda seed: {"candidates": [Idea(passes=2)]},
    "prune first": lambda seed: {"candidates": [Idea(prune_turns=1)]},
    "prune and learn, twice": lambda seed: {"candidates": [Idea(prune_turns=2)]},
    "24 draws": lambda seed: {"candidates": [Idea()], "n_draws": 24},
    "all families": lambda seed: {"candidates": _BEFORE, "n_draws": 8},
    "all families, 24 draws": lambda seed: {"candidates": _BEFORE, "n_draws": 24},
    "linear, LMNN-PL 24 draws": lambda seed: {"candidates": ["linear", Idea()], "n_draws": 24},
    "linear, Euclidean, LMNN-PL 24 draws": lambda seed: {"candidates": ["linear", "euclidean", Idea()], "n_draws": 24},
    "all families, folds repeated three times": lambda seed: {"candidates": _BEFORE, "cv": _repeated(seed)},
    "the mean of 8 metrics in place of their best": lambda seed: {"candidates": [*_OTHERS, MeanOfDraws()]},
    "the mean of 8 metrics, folds repeated three times": lambda seed: {
        "candidates": [*_OTHERS, MeanOfDraws()],
        "cv": _repeated(seed),
    },
    "the mean of 8 metrics, no prototypes, folds repeated three times": lambda seed: {
        "candidates": [*_OTHERS[:2], MeanOfDraws()],
        "cv": _repeated(seed),
    },
}


IDEAS |= {
    "logistic regression": lambda seed: {"candidates": _logistic()},
    "logistic regression, w = 1": lambda seed: {"candidates": _logistic(), "objective": 1.0},
    "margin LVQ alone": lambda seed: {"candidates": ["margin_lvq"]},
    "all families and margin LVQ": lambda seed: {"candidates": list(FAMILIES)},
    "margin LVQ alone, folds repeated three times": lambda seed: {"candidates": ["margin_lvq"], "cv": _repeated(seed)},
    "margin LVQ and LMNN-PL, folds repeated three times": lambda seed: {
        "candidates": ["margin_lvq", "lmnn"],
        "cv": _repeated(seed),
    },
    "linear, Euclidean, margin LVQ, folds repeated three times": lambda seed: {
        "candidates": ["linear", "euclidean", "margin_lvq"],
        "cv": _repeated(seed),
    },
    "all families and margin LVQ, folds repeated three times": lambda seed: {
        "candidates": list(FAMILIES),
        "cv": _repeated(seed),
    },
}


def _logistic() -> list:
    return logistic_regression.make(RADIUS, 0).candidates


def _once(seed: int) -> StratifiedKFold:
    return StratifiedKFold(5, shuffle=True, random_state=seed)


def _repeated(seed: int) -> RepeatedStratifiedKFold:
    return RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=seed)


def run(idea: str, name: str, number: int) -> dict:
    """One row: certified at the radius and right, in percent of the test rows."""
    part = development_round(name, number)
    with threadpool_limits(1), joblib.parallel_config("sequential"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        options = {"cv": _once(number), **IDEAS[idea](number)}
        model = RobustClassifierCV(RADIUS, random_state=number, **options).fit(part.X_train, part.y_train)
        seconds = time.process_time() - began
        found = model.certify(part.X_test, at=RADIUS, budget=BUDGET, n_jobs=1, witness=False)
    right = found.prediction == part.y_test
    certified = 100 * float(np.mean(right & np.equal(found.stable, True)))
    return {
        "idea": idea, "dataset": name, "round": number, "certified": certified, "right": 100 * float(np.mean(right)),
        "processor_s": seconds,
    }  # fmt: skip


def main() -> None:
    """Run what is missing, then print means over sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", nargs="*", type=int, default=[0, 1], help="numbers of development splits")
    parser.add_argument("--ideas", nargs="*", default=list(IDEAS))
    parser.add_argument("--sets", nargs="*", default=SETS)
    given = parser.parse_args()
    rows = pd.read_csv(RESULTS).to_dict("records") if RESULTS.is_file() else []
    done = {(row["idea"], row["dataset"], row["round"]) for row in rows}
    for number in given.rounds:
        for idea in given.ideas:
            for name in given.sets:
                if (idea, name, number) not in done:
                    rows.append(run(idea, name, number))
                    write(RESULTS, pd.DataFrame(rows))
    table = pd.DataFrame(rows)
    table = table[table["idea"].isin(given.ideas) & table["round"].isin(given.rounds)]
    table = table[table.groupby(["dataset", "round"]).idea.transform("nunique") == len(given.ideas)]
    print(table.groupby("idea", sort=False)[["certified", "right", "processor_s"]].mean().round(1).to_string())
    print(f"{table.groupby(['dataset', 'round']).ngroups} splits")


if __name__ == "__main__":
    main()
