"""The models that an audit compares, each made from the same training rows.

To compare one more, write a function ``Training -> Fitted`` and add a line to :data:`CANDIDATES`; the simplest come
first, because of equally good models the first is recommended.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from holdfast.audit.progress import StageProgress, no_progress
from holdfast.audit.tune import PlainLMNN, label, tuned, untuned
from holdfast.certificates.certify import DEFAULT_BUDGET
from holdfast.certificates.threat import Threat
from holdfast.models import CertifiedKNeighborsClassifier

_MAX_ITER = 2000  # of logistic regression on standardised rows


@dataclass(frozen=True, eq=False)
class Training:
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
        As for :func:`holdfast.audit.audit`.
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
        ``Training -> Fitted``.
    """

    key: str
    method: str
    about: str
    fit: Callable[[Training], Fitted]


def _plain_neighbors(training: Training) -> Fitted:
    classifier = CertifiedKNeighborsClassifier(None, training.n_neighbors, training.n_jobs)
    return _fit(training, "knn", classifier)


def _logistic(training: Training) -> Fitted:
    return _fit(training, "logistic", LogisticRegression(max_iter=_MAX_ITER))


def _lmnn(training: Training) -> Fitted:
    return _tuned(training, False, [PlainLMNN(training.n_neighbors)], "Tuning LMNN")


def _chosen(training: Training) -> Fitted:
    fitted = _tuned(training, True, None, "Choosing a model")
    if "family" not in fitted.settings:  # not tuned
        return fitted
    return replace(fitted, method=f"{label(fitted.settings)} (chosen)")


def _tuned(training: Training, robust: bool, families, stage: str) -> Fitted:
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
    step = "knn" if isinstance(classifier, CertifiedKNeighborsClassifier) else "model"
    for name in ("n_jobs", "learner__n_jobs"):
        if name in classifier.get_params():
            classifier.set_params(**{name: t.n_jobs})
    fitted = _fit(t, step, classifier)
    return Fitted(fitted.model, settings, fitted.warnings)


def _fit(training: Training, step: str, classifier) -> Fitted:
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
