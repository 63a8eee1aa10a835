"""The models that an audit compares."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from holdfast.auditing.prepare import StageProgress, no_progress
from holdfast.base.blocks import n_threads
from holdfast.base.inputs import check_count, check_number
from holdfast.certificates.api import DEFAULT_BUDGET
from holdfast.certificates.threat import Threat
from holdfast.learn import LMNN, Perturbation
from holdfast.models import CertifiedKNeighborsClassifier
from holdfast.selection.families import FAMILIES, Family, Recipe
from holdfast.selection.robust_classifier import RobustClassifierCV

_BASELINE_ITERATIONS = 1_000  # of the logistic regression


def table_baselines(table, y: np.ndarray, words: set[int], n_neighbors: int, n_jobs: int | None) -> dict[str, Pipeline]:
    """Logistic regression and plain k-NN: gaps filled with medians, numbers standardised, words one-hot.

    Parameters
    ----------
    table : data frame
        The rows of training.
    y : ndarray of shape (n_rows,)
    words : set of int
        Which columns hold words.
    n_neighbors, n_jobs
        As for :class:`holdfast.CertifiedKNeighborsClassifier`.

    Returns
    -------
    dict
        Fitted pipelines by the key of the candidate.
    """
    last = {
        "logistic": LogisticRegression(max_iter=_BASELINE_ITERATIONS),
        "knn": CertifiedKNeighborsClassifier(None, n_neighbors, n_jobs),
    }
    return {key: Pipeline([("table", _front(table, words)), (key, each)]).fit(table, y) for key, each in last.items()}


def _front(table, words: set[int]) -> ColumnTransformer:
    """From the table to numbers."""
    names = list(table.columns)
    fill = Pipeline([("fill", SimpleImputer(strategy="median")), ("scale", StandardScaler())])
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = [
        ("numbers", fill, [name for k, name in enumerate(names) if k not in words]),
        ("words", encode, [name for k, name in enumerate(names) if k in words]),
    ]
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0)


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


_MAX_ITER = 2000  # of logistic regression on standardised rows


@dataclass(frozen=True, eq=False)
class TrainingTask:
    """The rows and settings that every candidate is trained with.

    Attributes
    ----------
    X, y : ndarrays
        Training rows in raw units, and their labels.
    tuned : ndarray of int
        The rows that parameters are chosen on.
    frozen : ndarray of bool or None
        Features that no amount moves.
    threat : Threat or None
        What may move, for standardised rows; None: what is not frozen, in Euclidean length.
    radius, tune, n_neighbors, n_draws, random_state, n_jobs, progress, class_weight, budget
        As for :func:`holdfast.audit`.
    """

    X: np.ndarray
    y: np.ndarray
    tuned: np.ndarray
    frozen: np.ndarray | None = None
    radius: float = 0.5
    tune: str = "certified"
    n_neighbors: int = 3
    n_draws: int = 8
    random_state: int = 0
    n_jobs: int | None = None
    progress: StageProgress = no_progress
    threat: Threat | None = None
    class_weight: str | None = "auto"
    budget: int = DEFAULT_BUDGET


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained model that takes raw rows, its settings, the warnings of its training, and a name if it has its own."""

    model: Pipeline
    settings: dict = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    method: str | None = None


@dataclass(frozen=True)
class Candidate:
    """One of the models that are compared.

    Attributes
    ----------
    key : str
        Short name, for files and JSON.
    method : str
        Name for people.
    about : str
        One sentence that explains it.
    fit : callable
        ``TrainingTask -> Fitted``.
    """

    key: str
    method: str
    about: str
    fit: Callable[[TrainingTask], Fitted]


def _plain_neighbors(training: TrainingTask) -> Fitted:
    classifier = CertifiedKNeighborsClassifier(None, training.n_neighbors, training.n_jobs)
    return _fit(training, "knn", classifier)


def _logistic(training: TrainingTask) -> Fitted:
    return _fit(training, "logistic", LogisticRegression(max_iter=_MAX_ITER))


def _lmnn(training: TrainingTask) -> Fitted:
    return _tuned(training, False, [PlainLMNN(training.n_neighbors)], "Tuning LMNN")


def _chosen(training: TrainingTask) -> Fitted:
    fitted = _tuned(training, True, None, "Choosing a model")
    if "family" not in fitted.settings:  # not tuned
        return fitted
    return replace(fitted, method=f"{label(fitted.settings)} (chosen)")


def _tuned(training: TrainingTask, robust: bool, families, stage: str) -> Fitted:
    t = training
    if t.tune == "none":
        classifier, settings = untuned(robust, t.radius, t.n_neighbors)
    else:
        threat = t.threat if t.threat is not None or t.frozen is None else Threat(frozen=t.frozen)
        classifier, settings = tuned(
            t.X[t.tuned], t.y[t.tuned], families=families, tune=t.tune, radius=t.radius, threat=threat,
            class_weight=t.class_weight, n_draws=t.n_draws,
            budget=t.budget * len(t.tuned) // len(t.y), random_state=t.random_state, n_jobs=t.n_jobs,
            progress=t.progress, stage=stage,
        )  # fmt: skip
        t.progress("Training what was chosen", 0, 1)
    step = "knn" if isinstance(classifier, CertifiedKNeighborsClassifier) else "model"
    for name in ("n_jobs", "learner__n_jobs"):
        if name in classifier.get_params():
            classifier.set_params(**{name: t.n_jobs})
    fitted = _fit(t, step, classifier)
    return Fitted(fitted.model, settings, fitted.warnings)


def _fit(training: TrainingTask, step: str, classifier) -> Fitted:
    """Fit scaler and classifier; each warning is kept once."""
    model = Pipeline([("scale", StandardScaler()), (step, classifier)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)  # convergence warnings are such
        model.fit(training.X, training.y)
    messages = [" ".join(str(w.message).split()) for w in caught if issubclass(w.category, UserWarning)]
    return Fitted(model, {}, list(dict.fromkeys(messages)))


CANDIDATES: list[Candidate] = [
    Candidate(
        "logistic",
        "Logistic regression",
        "A linear boundary on standardised columns; its certificates are a closed form.",
        _logistic,
    ),
    Candidate(
        "knn",
        "Plain k-NN",
        "Nearest neighbours under the plain distance of standardised columns; nothing is learned.",
        _plain_neighbors,
    ),
    Candidate(
        "base",
        "LMNN",
        "Nearest neighbours under a learned distance (large margin nearest neighbours): same class near, others away.",
        _lmnn,
    ),
    Candidate(
        "robust",
        "LMNN-PL",
        "Chosen by cross-validation among linear models, neighbours under distances learned with the perturbation loss "
        "and prototypes, by how much is right and proven at the radius (not tuned: LMNN with the perturbation loss).",
        _chosen,
    ),
]


def choose_candidates(keys: Sequence[str] | None = None) -> list[Candidate]:
    """The candidates of these keys, or all; an unknown key is refused."""
    if keys is None:
        return list(CANDIDATES)
    known = {candidate.key: candidate for candidate in CANDIDATES}
    unknown = [key for key in keys if key not in known]
    if unknown or not keys:
        raise ValueError(f"models must be some of {', '.join(known)}; got {', '.join(map(str, keys)) or 'none'}.")
    return [known[key] for key in known if key in keys]
