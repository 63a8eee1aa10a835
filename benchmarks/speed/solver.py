"""Number of evaluations of a fit: with the default solver, with unscaled variables, and by the paper's schedule."""

import warnings

import numpy as np
from sklearn.preprocessing import StandardScaler, normalize

from holdfast import LMNN, Perturbation, load_dataset
from holdfast.learn import Factors, Space, knn_triplets
from holdfast.learn.objective import Objective
from holdfast.learn.solvers import LBFGS, ProjectedGradient, Solver

SETS = (
    *("australian", "breast_cancer", "credit", "ecoli", "fourclass", "haberman", "iris"),
    *("segment", "sonar", "voting", "wdbc", "wine", "yeast"),
)  # fmt: skip
LOSSES = {"LMNN": None, "LMNN-PL": Perturbation(tau=0.2, weight=20.0)}
MAX_ROWS = 3_000  # of a data set; larger ones are cut


class Unscaled(LMNN):
    """LMNN over factors L of the metric as they are."""

    def make_space(self, solver: Solver, objective: Objective) -> Space:
        """Factors without a preconditioner."""
        return Factors() if solver.supports(Factors) else super().make_space(solver, objective)


def solver() -> list[dict]:
    """Evaluations of a fit, and by how much its objective is above the lowest found; the sets that are at hand."""
    rows = []
    for name in SETS:
        try:
            data = load_dataset(name)
        except (FileNotFoundError, ConnectionError, ValueError) as problem:
            print(f"   left out: {problem}")
            continue
        some = np.random.default_rng(0).permutation(len(data.y))[:MAX_ROWS]
        X, y = normalize(StandardScaler().fit_transform(data.X))[some], data.y[some]
        triplets = knn_triplets(X, y)
        for learner, loss in LOSSES.items():
            for mu in (0.5, 0.9):
                rows.append({"problem": name, "learner": learner, "mu": mu, **_compared(X, triplets, loss, mu)})
    return rows + [_mean(rows, learner) for learner in LOSSES]


def _compared(X: np.ndarray, triplets, loss: Perturbation | None, mu: float) -> dict:
    """Evaluations of each way, and its objective over the lowest."""
    ways = {
        "default": LMNN(mu=0.5, perturbation=None),
        "unscaled": Unscaled(),
        "schedule": LMNN(mu=0.5, perturbation=None, solver=ProjectedGradient()),
        "lowest": LMNN(mu=0.5, perturbation=None, solver=LBFGS(tol=1e-7, patience=10)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the schedule's 1000 steps are not always enough
        for way in ways.values():
            way.set_params(mu=mu, perturbation=loss, n_jobs=1).fit(X, triplets=triplets)
    lowest = min(way.objective_[-1] for way in ways.values())
    del ways["lowest"]
    found = {f"{name} evaluations": way.n_evaluations_ for name, way in ways.items()}
    return found | {f"{name} above": way.objective_[-1] / lowest - 1.0 for name, way in ways.items()}


def _mean(rows: list[dict], learner: str) -> dict:
    """Means of one learner over the problems; of evaluations the geometric mean."""
    own = [row for row in rows if row["learner"] == learner]
    mean: dict = {"problem": "mean", "learner": learner, "mu": None}
    for name in own[0]:
        values = np.array([row[name] for row in own]) if name.endswith(("evaluations", "above")) else None
        if values is not None:
            mean[name] = float(np.exp(np.log(values).mean()) if name.endswith("evaluations") else values.mean())
    return mean
