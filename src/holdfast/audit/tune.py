"""The tuner of an audit: one search over families of models, by what they certify."""

import warnings
from functools import partial
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from holdfast.audit.progress import StageProgress, no_progress
from holdfast.certificates.certify import DEFAULT_BUDGET
from holdfast.certificates.threat import Threat
from holdfast.learn import LMNN, Perturbation
from holdfast.models import CertifiedKNeighborsClassifier
from holdfast.numerics.threads import n_threads
from holdfast.parameters import check_count, check_number
from holdfast.search import FAMILIES, Family, RobustClassifierCV
from holdfast.search.families import Recipe

TUNINGS = ("certified", "accuracy", "none")
# As the search itself: on the 240 splits of benchmarks/frontier a weight of 1 certified 0.4 points more than 0.7, and
# was right in 2 points fewer.
_OBJECTIVES = {"certified": 0.7, "accuracy": 0.0}
_MUS = (0.1, 0.3, 0.5, 0.7, 0.9)  # all that is tuned without a perturbation loss
_FOLDS = 5
_RARE = 0.2  # share of the rarest class below which classes count alike


def check_settings(radius: float, tune: str, n_neighbors: int) -> None:
    """Refuse wrong settings before anything takes time."""
    check_number("audit", "radius", radius, above=0)
    check_count("audit", "n_neighbors", n_neighbors)
    if tune not in TUNINGS:
        raise ValueError(f"tune must be one of {', '.join(TUNINGS)}; got {tune!r}.")


class PlainLMNN(Family):
    """LMNN without a perturbation loss, mu from 0.1 to 0.9, for a given number of voters."""

    name = "lmnn without loss"
    label = "LMNN"

    def __init__(self, n_neighbors: int):
        self.n_neighbors = n_neighbors

    def draws(self, rng, facts, n_draws: int) -> list[Recipe]:
        """The whole list; nothing is random."""
        heads = [{"n_neighbors": self.n_neighbors, "prune": 0.0}]
        return [Recipe(self.name, LMNN(mu=mu, perturbation=None), {"mu": mu}, heads) for mu in _MUS]


def untuned(robust: bool, radius: float, n_neighbors: int) -> tuple[CertifiedKNeighborsClassifier, dict[str, Any]]:
    """LMNN, with the perturbation loss if ``robust``, at fixed values, and these."""
    tau = 2.0 * radius
    settings: dict[str, Any] = {"mu": 0.5}
    if robust:
        settings |= {"perturbation__tau": tau, "perturbation__weight": 1.0 / tau**2}
    learner = LMNN(perturbation=Perturbation() if robust else None).set_params(**settings)
    return CertifiedKNeighborsClassifier(learner, n_neighbors), settings


def tuned(
    X: np.ndarray,
    y: np.ndarray,
    *,
    families: list[Any] | None = None,
    tune: str = "certified",
    radius: float = 0.5,
    threat: Threat | None = None,
    class_weight: str | None = "auto",
    n_draws: int = 8,
    budget: int = DEFAULT_BUDGET,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: StageProgress = no_progress,
    stage: str = "Tuning",
) -> tuple[Any, dict[str, Any]]:
    """The best classifier by :class:`~holdfast.RobustClassifierCV` over 5 folds, not fitted, and its settings.

    Parameters
    ----------
    X, y : ndarrays
        Raw rows, which are standardised here, and labels.
    families : list or None, default=None
        As ``candidates`` of the search; None is all.
    tune : {"certified", "accuracy"}, default="certified"
        The objective: 0.7 · certified accuracy at ``radius`` + 0.3 · accuracy, or accuracy alone.
    radius : float, default=0.5
        In standard deviations, or in units of the threat.
    threat : Threat or None, default=None
        Of standardised rows; None: all features may move, in Euclidean length.
    class_weight : {"auto", "balanced"} or None, default="auto"
        "balanced": classes count alike. "auto": they do if the rarest has less than a fifth of the rows.
    n_draws : int, default=8
        Random draws of a family's parameters.
    budget : int, default=200000
        Work that a row may take when the winner, fitted to these rows, is certified.
    random_state : int, default=0
    n_jobs : int or None, default=None
        Threads.
    progress : callable, optional
        Called with the stage, the rungs of the search done and their total.
    stage : str, default="Tuning"

    Returns
    -------
    model : classifier
    settings : dict
        ``family``, and its parameters.
    """
    check_count("tuning", "n_draws", n_draws)
    search = RobustClassifierCV(
        radius, threat, families, n_draws=n_draws, cv=_FOLDS, objective=_OBJECTIVES[tune],
        average="macro" if weighing(y, class_weight) else "micro", n_jobs=n_threads(n_jobs), random_state=random_state,
        budget=budget, progress=partial(progress, stage), refit=False,
    )  # fmt: skip
    progress(stage, 0, 1)
    # Certifying spends its time in kernels that release the interpreter: threads do, and start at once.
    with warnings.catch_warnings(), joblib.parallel_config(backend="threading"):
        warnings.simplefilter("ignore", UserWarning)  # of candidates; the final fit reports its own
        search.fit(StandardScaler().fit_transform(X), y)
    return clone(search.best_estimator_), dict(search.best_params_)


def weighing(y: np.ndarray, class_weight: str | None) -> str | None:
    """The weighting of classes: "balanced" where that was asked for, or a class is rare; else None."""
    if class_weight not in ("auto", "balanced", None):
        raise ValueError(f"class_weight must be 'auto', 'balanced' or None; got {class_weight!r}.")
    if class_weight != "auto":
        return class_weight
    return "balanced" if np.unique(y, return_counts=True)[1].min() < _RARE * len(y) else None


def label(settings: dict[str, Any]) -> str:
    """The name, for people, of what a search has chosen."""
    family = settings["family"]
    return settings.get("model", FAMILIES[family].label if family in FAMILIES else family)
