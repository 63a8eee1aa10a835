"""Families of models to choose among."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid
from sklearn.svm import LinearSVC

from holdfast.learn import LMNN, SCML, CappedTraceLMNN, Euclidean, MarginLVQ, MetricLearner, Perturbation, ProxyNCA
from holdfast.learn.solvers import LBFGS
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


class Given(Family):
    """One classifier as it is; :func:`holdfast.certify` must take it without a ``reference``."""

    def __init__(self, estimator: Any):
        self.name = self.label = type(estimator).__name__
        self.estimator = estimator

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """The one recipe."""
        return [Recipe(self.name, self.estimator)]


class Linear(Family):
    """Logistic regression and linear support vectors, ``C`` from 0.001 to 1000.

    C goes down to 0.001 because a small C gives large margins where few features decide. If every class counts alike,
    each model is also tried with ``class_weight="balanced"``.
    """

    name = "linear"
    label = "linear model"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """The whole list; nothing is random."""
        strengths = [10.0**k for k in (-3, -2, -1, 0, 1, 2, 3)]
        recipes = []
        for weighting in [{}, {"class_weight": "balanced"}] if facts.balanced else [{}]:
            for C in strengths:
                model = LogisticRegression(C=C, max_iter=1000, **weighting)
                recipes.append(Recipe(self.name, model, {"model": "LogisticRegression", "C": C, **weighting}))
            for C in strengths[:6]:
                svm = LinearSVC(C=C, random_state=0, dual=False, **weighting)
                recipes.append(Recipe(self.name, svm, {"model": "LinearSVC", "C": C, **weighting}))
        return recipes


_GRID = ParameterGrid({"n_proxies": [1, 2, 4, 8, 16], "temperature": [0.25, 0.5, 1.0]})  # did well on the paper's sets


class MarginPrototypes(Family):
    """Margin LVQ trained for the radius; the number of prototypes and the temperature are searched."""

    name = "margin_lvq"
    label = "margin LVQ"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """All of a grid; nothing is random."""
        learner = MarginLVQ(radius=facts.radius, norm=facts.norm, certified_weight=facts.weight, random_state=0)
        return [Recipe(self.name, clone(learner).set_params(**parameters), parameters) for parameters in _GRID]


class Prototypes(Family):
    """PNCA-PL: number of prototypes, temperature, tau and weight are drawn; certificates are exact."""

    name = "prototypes"
    label = "PNCA-PL"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """Random draws, half of ``n_draws``: its fits take longest."""
        recipes = []
        for _ in range(-(-n_draws // 2)):
            parameters: dict[str, Any] = {
                "n_proxies": int((1, 2, 3, 5)[rng.randint(4)]),
                "temperature": float(10.0 ** rng.uniform(-1.5, 0.5)),
            }
            tau = draw_loss(rng, facts)["tau"]
            loss = {"tau": tau, "weight": float(10.0 ** rng.uniform(-1, 1.5))}
            learner = ProxyNCA(
                perturbation=Perturbation(**loss),
                normalize=True,
                n_proxy_steps=100,
                solver=LBFGS(max_iter=50),
                random_state=0,
                n_jobs=1,
                **parameters,
            )
            shown = {**parameters, "perturbation__tau": tau, "perturbation__weight": loss["weight"]}
            recipes.append(Recipe(self.name, learner, shown))
        return recipes


_TARGETS = (3, 5, 10)  # target neighbours per point: more of them suit votes of more neighbours


class LMNNFamily(Family):
    """LMNN-PL: targets, mu, tau and weight are drawn; k and the margin to prune are searched."""

    name = "lmnn"
    label = "LMNN-PL"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """Random draws."""
        recipes = []
        for _ in range(n_draws):
            parameters: dict[str, Any] = {
                "n_neighbors": int(_TARGETS[rng.randint(len(_TARGETS))]),
                "mu": float(rng.uniform(0.1, 0.9)),
            }
            loss = draw_loss(rng, facts)
            learner = LMNN(perturbation=Perturbation(**loss), n_jobs=1, **parameters)
            recipes.append(Recipe(self.name, learner, _all_parameters(parameters, loss), neighbor_heads(facts)))
        return recipes


class SCMLFamily(Family):
    """SCML-PL: targets, eta, tau and weight are drawn; k and the margin to prune are searched."""

    name = "scml"
    label = "SCML-PL"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """Random draws, half of ``n_draws``: its fits take longer."""
        recipes = []
        for _ in range(-(-n_draws // 2)):
            parameters: dict[str, Any] = {
                "n_neighbors": int(_TARGETS[rng.randint(len(_TARGETS))]),
                "eta": float(10.0 ** rng.uniform(-5, 0)),
            }
            loss = draw_loss(rng, facts)
            learner = SCML(perturbation=Perturbation(**loss), random_state=0, n_basis=200, n_jobs=1, **parameters)
            recipes.append(Recipe(self.name, learner, _all_parameters(parameters, loss), neighbor_heads(facts)))
        return recipes


class CappedTraceFamily(Family):
    """CAP-PL: targets, rank, both weights and tau are drawn; k and the margin to prune are searched."""

    name = "capped_trace"
    label = "CAP-PL"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """Random draws, half of ``n_draws``."""
        recipes = []
        for _ in range(-(-n_draws // 2)):
            parameters: dict[str, Any] = {
                "n_neighbors": int(_TARGETS[rng.randint(len(_TARGETS))]),
                "weight": float(10.0 ** rng.uniform(-3, 1)),
                "rank": int(np.ceil(facts.n_features * rng.uniform(0.1, 1.0))),
            }
            loss = draw_loss(rng, facts)
            learner = CappedTraceLMNN(perturbation=Perturbation(**loss), n_jobs=1, **parameters)
            recipes.append(Recipe(self.name, learner, _all_parameters(parameters, loss), neighbor_heads(facts)))
        return recipes


def _all_parameters(parameters: dict, loss: dict) -> dict:
    """The parameters of the learner and of its perturbation loss, under the names that ``set_params`` takes."""
    return {**parameters, **{f"perturbation__{name}": value for name, value in loss.items()}}


class EuclideanNeighbors(Family):
    """k nearest neighbours under the Euclidean distance; k and the margin to prune are searched."""

    name = "euclidean"
    label = "k-NN"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """One recipe: there is nothing to fit."""
        heads = neighbor_heads(facts, (1, 3, 5, 9, 15, 31, 45), (0.0, 0.5, 1.0, 2.0))
        return [Recipe(self.name, Euclidean(), {}, heads)]


#: By name, in the order of preference between equals: the cheaper to fit and to certify comes first.
FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Linear(), EuclideanNeighbors(), MarginPrototypes(), Prototypes(),
        LMNNFamily(), CappedTraceFamily(), SCMLFamily(),
    )
}  # fmt: skip
