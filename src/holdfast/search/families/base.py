"""Families of models: recipes to fit, each with the heads that vote on the fitted metric."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from holdfast.learn import MetricLearner
from holdfast.models import CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier

NEIGHBORS = (1, 3, 7, 15, 31)  # voters: few are right more often, many certify more (measured, benchmarks/frontier)
PRUNE = (0.0, 1.0, 2.0)  # margins to keep between classes, in units of the radius


@dataclass(frozen=True)
class Facts:
    """Properties of the data that the parameters of a model depend on.

    Attributes
    ----------
    n_rows, n_features : int
        Size of the training part of a fold.
    radius : float
        Predictions are to be certified at it.
    prune_unit : float
        The L2 length of a move of that size that changes all features alike: margins are pruned in L2.
    tau_max : float
        The 90th percentile of the Euclidean adversarial margins, the upper end of the paper's range for tau.
    balanced : bool
        Whether every class counts alike, however many rows it has.
    norm : {2, inf, 1}
        The norm of the moves; 2 also for ellipsoids.
    weight : float
        w of the objective: the weight of certified accuracy; accuracy has 1 − w.
    """

    n_rows: int
    n_features: int
    radius: float
    prune_unit: float
    tau_max: float
    balanced: bool = False
    norm: float = 2.0
    weight: float = 0.7


@dataclass(frozen=True, eq=False)
class Recipe:
    """A learner or classifier to fit once, and the ways in which it can then vote.

    Attributes
    ----------
    family : str
    estimator : MetricLearner or classifier
        Not fitted.
    parameters : dict
        The parameters that were drawn, for ``cv_results_``.
    heads : list of dict
        Parameters of the vote, such as ``n_neighbors`` and ``prune``; one empty dict where there are none.
    """

    family: str
    estimator: Any
    parameters: dict[str, Any] = field(default_factory=dict)
    heads: list[dict[str, Any]] = field(default_factory=lambda: [{}])

    def classifier(self, head: dict[str, Any], fitted=None, n_jobs: int | None = None):
        """The classifier with the parameters ``head`` of the vote: around a fitted learner, or not fitted at all."""
        base = clone(self.estimator) if fitted is None else fitted
        if self.votes_by_neighbors:
            return CertifiedKNeighborsClassifier(base, n_jobs=n_jobs, **head)
        return CertifiedPrototypeClassifier(base, n_jobs=n_jobs) if isinstance(base, MetricLearner) else base

    @property
    def votes_by_neighbors(self) -> bool:
        """True if training rows vote under the fitted metric; False for prototypes, and for classifiers."""
        return isinstance(self.estimator, MetricLearner) and not hasattr(self.estimator, "n_proxies")


class Family(ABC):
    """One kind of model; a new one is a file in this folder and a line in its registry.

    Attributes
    ----------
    name : str
        Its key in the registry.
    label : str
        Its name for people.
    """

    name: str
    label: str = "model"

    @abstractmethod
    def draws(self, rng: np.random.RandomState, facts: Facts, n_draws: int) -> list[Recipe]:
        """Recipes: all of a short list, or ``n_draws`` random ones."""


def neighbor_heads(facts: Facts, neighbors=NEIGHBORS, prune=PRUNE) -> list[dict[str, Any]]:
    """Every number of voters, at most a third of the rows, with every margin to prune."""
    most = max(1, facts.n_rows // 3)
    return [{"n_neighbors": k, "prune": share * facts.prune_unit} for k in neighbors if k <= most for share in prune]


def draw_loss(rng: np.random.RandomState, facts: Facts) -> dict[str, float]:
    """tau and weight of a perturbation loss made for the radius.

    ``log tau ~ U(log r, log max(P90, 2r))``: a margin below the radius certifies nothing at it, and margins above the
    90th percentile of those before learning are not reached. ``weight · tau² ~ U(0, 4)``, as in the paper.
    """
    low = max(facts.radius, 1e-6 * facts.tau_max) or 1e-6
    tau = float(np.exp(rng.uniform(np.log(low), np.log(max(facts.tau_max, 2.0 * low)))))
    return {"tau": tau, "weight": float(4.0 * (1.0 - rng.random_sample()) / tau**2)}
