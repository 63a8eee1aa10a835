"""The models that an audit compares, each made from the same training rows.

To compare one more, write a function ``Training -> Fitted`` and add a line to :data:`CANDIDATES`; the simplest come
first, because of equally good models the first is recommended.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from holdfast.audit.progress import StageProgress, no_progress
from holdfast.audit.tune import make_lmnn, tune_lmnn
from holdfast.certificates.threat import Threat
from holdfast.models import CertifiedKNeighborsClassifier

_MAX_ITER = 2000  # of logistic regression on standardised rows


@dataclass(frozen=True, eq=False)
class Training:
    """What every candidate is made from.

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
    radius, tune, n_neighbors, n_draws, random_state, n_jobs, progress
        As for :func:`holdfast.audit.audit`.
    """

    X: np.ndarray
    y: np.ndarray
    tuned: np.ndarray
    frozen: np.ndarray | None = None
    radius: float = 0.5
    tune: str = "certified"
    n_neighbors: int = 3
    n_draws: int = 16
    random_state: int = 0
    n_jobs: int | None = None
    progress: StageProgress = no_progress
    threat: Threat | None = None


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained model that takes raw rows, its settings, and the warnings of its training."""

    model: Pipeline
    settings: dict = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


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


def _lmnn(training: Training, robust: bool) -> Fitted:
    t = training
    settings = tune_lmnn(
        t.X[t.tuned], t.y[t.tuned], robust=robust, tune=t.tune, radius=t.radius, frozen=t.frozen,
        n_neighbors=t.n_neighbors, n_draws=t.n_draws, random_state=t.random_state, n_jobs=t.n_jobs,
        progress=t.progress, threat=t.threat,
    )  # fmt: skip
    metric = make_lmnn(robust, settings).set_params(n_jobs=t.n_jobs)
    found = _fit(t, "knn", CertifiedKNeighborsClassifier(metric, t.n_neighbors, t.n_jobs))
    return Fitted(found.model, settings, found.warnings)


def _fit(training: Training, step: str, classifier) -> Fitted:
    """Scaler and classifier, fitted; what warned while they were is told once each."""
    model = Pipeline([("scale", StandardScaler()), (step, classifier)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)  # convergence warnings are such
        model.fit(training.X, training.y)
    told = [" ".join(str(w.message).split()) for w in caught if issubclass(w.category, UserWarning)]
    return Fitted(model, {}, list(dict.fromkeys(told)))


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
        partial(_lmnn, robust=False),
    ),
    Candidate(
        "robust",
        "LMNN-PL",
        "LMNN with the perturbation loss, which asks for room around each row in the input itself.",
        partial(_lmnn, robust=True),
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
