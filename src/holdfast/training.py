"""From rows to a model with sensible parameters: the quick tuning that ``audit`` and ``fit`` share."""

import warnings
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from holdfast.certificates.certify import certify
from holdfast.learners import LMNN
from holdfast.neighbors import CertifiedKNeighborsClassifier
from holdfast.parameters import check_count, check_number
from holdfast.search import PerturbationSearchCV
from holdfast.terms import Perturbation
from holdfast.threads import n_threads

TUNINGS = ("certified", "accuracy", "none")
LEAST = 6  # rows a class must have: some for training in each fold, some for the test

#: ``progress(stage, done, total)``
Progress = Callable[[str, int, int], None]

_MUS = (0.1, 0.3, 0.5, 0.7, 0.9)
_FOLDS = 3


def silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


def learner(robust: bool, parameters: dict[str, Any]) -> LMNN:
    """LMNN, or its twin with the perturbation loss."""
    return LMNN(perturbation=Perturbation() if robust else None).set_params(**parameters)


def fit_pipeline(X: np.ndarray, y: np.ndarray, metric: LMNN, n_neighbors: int, n_jobs=None) -> tuple[Pipeline, list]:
    """Scaler, then k-NN under the metric; and what the fit warned of, in sentences."""
    classifier = CertifiedKNeighborsClassifier(metric.set_params(n_jobs=n_jobs), n_neighbors, n_jobs)
    model = Pipeline([("scale", StandardScaler()), ("knn", classifier)])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, y)
    return model, [str(w.message) for w in said if issubclass(w.category, ConvergenceWarning)]


def choose(
    X: np.ndarray,
    y: np.ndarray,
    *,
    robust: bool,
    tune: str = "certified",
    radius: float = 0.5,
    frozen: np.ndarray | None = None,
    n_neighbors: int = 3,
    n_draws: int = 16,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """``argmax over draws of the mean score over 3 folds``: mu, and for the robust twin tau and weight.

    Parameters
    ----------
    X, y : ndarrays
        Raw rows; they are standardised here.
    robust : bool
        Whether the learner has the perturbation loss.
    tune : {"certified", "accuracy", "none"}, default="certified"
        The score: certified accuracy at ``radius`` (equal ones by accuracy), with tau around the radius; or
        accuracy, with the paper's ranges (:class:`~holdfast.search.PerturbationSearchCV`). "none" takes
        fixed values.
    radius : float, default=0.5
        In standard deviations.
    frozen : ndarray of bool, optional
        Features that cannot be moved.
    n_neighbors, random_state, n_jobs
        As everywhere.
    n_draws : int, default=16
        Of mu, tau and weight together; mu alone has 5 values.
    progress : callable, optional
        Called with the stage, what is done and what there is to do.

    Returns
    -------
    dict
        Parameters of :class:`~holdfast.LMNN`.
    """
    check_settings(radius, tune, n_neighbors)
    check_count("tuning", "n_draws", n_draws)
    if tune == "none":
        tau = 2.0 * radius
        return {"mu": 0.5, **({"perturbation__tau": tau, "perturbation__weight": 1.0 / tau**2} if robust else {})}
    Z = StandardScaler().fit_transform(X)
    stage = "Tuning the robust model" if robust else "Tuning the base model"
    if tune == "accuracy":
        progress(stage, 0, 1)
        search = PerturbationSearchCV(
            learner(robust, {}), n_draws=n_draws, cv=_FOLDS, refit=False, n_neighbors=n_neighbors,
            n_jobs=n_threads(n_jobs), random_state=random_state,
        )  # fmt: skip
        found = search.fit(Z, y).best_params_
        progress(stage, 1, 1)
        return found
    candidates = _draws(robust, radius, n_draws, np.random.RandomState(random_state))
    folds = list(StratifiedKFold(_FOLDS, shuffle=True, random_state=random_state).split(Z, y))
    tasks = [(c, f) for c in range(len(candidates)) for f in range(_FOLDS)]
    scores = np.zeros((len(candidates), _FOLDS, 2))
    parallel = joblib.Parallel(n_threads(n_jobs), prefer="threads", return_as="generator")
    calls = (
        joblib.delayed(_score)(learner(robust, candidates[c]), Z, y, folds[f], radius, frozen, n_neighbors)
        for c, f in tasks
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit tells
        for done, ((c, f), score) in enumerate(zip(tasks, parallel(calls), strict=True), 1):
            scores[c, f] = score
            progress(stage, done, len(tasks))
    means = scores.mean(axis=1).round(12)
    return candidates[max(range(len(candidates)), key=lambda c: (*means[c], -c))]


def subsample(y: np.ndarray, rows: int, random_state: int) -> np.ndarray:
    """Indices of about ``rows`` rows, of each class in proportion but never fewer than ``LEAST``; sorted."""
    if len(y) <= rows:
        return np.arange(len(y))
    _, codes = np.unique(y, return_inverse=True)
    rng = np.random.RandomState(random_state)
    order = rng.permutation(len(y))
    share = rows / len(y)
    kept = []
    for c in range(codes.max() + 1):
        of_class = order[codes[order] == c]
        kept.append(of_class[: max(min(LEAST, len(of_class)), round(share * len(of_class)))])
    return np.sort(np.concatenate(kept))


def split(y: np.ndarray, test_size: float, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of training and test rows, stratified; a class that is too small is refused by name."""
    check_number("audit", "test_size", test_size, above=0, below=1)
    check_classes(y)
    n_classes = len(np.unique(y))
    n_test = int(np.ceil(test_size * len(y)))
    if min(n_test, len(y) - n_test) < n_classes:
        raise ValueError(f"test_size={test_size:g} of {len(y)} rows leaves too few rows for {n_classes} classes.")
    train, test = train_test_split(np.arange(len(y)), test_size=test_size, random_state=random_state, stratify=y)
    return np.sort(train), np.sort(test)


def check_classes(y: np.ndarray) -> None:
    """Refuse a single class, and one with too few rows."""
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"All rows are of the class {classes[0]!s}: at least two classes are needed.")
    if counts.min() < LEAST:
        rare, count = classes[counts.argmin()], counts.min()
        raise ValueError(
            f"The class {rare!s} has {count} row{'s' if count > 1 else ''}; every class needs at least {LEAST}: "
            "bring more, merge it with another or leave it out."
        )


def check_settings(radius: float, tune: str, n_neighbors: int) -> None:
    """Refuse settings early, before anything takes time."""
    check_number("audit", "radius", radius, above=0)
    check_count("audit", "n_neighbors", n_neighbors)
    if tune not in TUNINGS:
        raise ValueError(f"tune must be one of {', '.join(TUNINGS)}; got {tune!r}.")


def _draws(robust: bool, radius: float, n_draws: int, rng: np.random.RandomState) -> list[dict[str, Any]]:
    """tau from half the radius to four times it, weight·tau² from 0.3 to 10, both evenly on a log scale."""
    if not robust:
        return [{"mu": mu} for mu in _MUS]
    found = []
    for _ in range(n_draws):
        tau = radius * float(np.exp(rng.uniform(np.log(0.5), np.log(4.0))))
        weight = float(np.exp(rng.uniform(np.log(0.3), np.log(10.0)))) / tau**2
        mu = float(rng.uniform(0.1, 0.9))
        found.append({"mu": mu, "perturbation__tau": tau, "perturbation__weight": weight})
    return found


def _score(metric: LMNN, Z, y, fold, radius: float, frozen, n_neighbors: int) -> tuple[float, float]:
    """Certified accuracy and accuracy of one candidate on one fold."""
    train, test = fold
    model = CertifiedKNeighborsClassifier(clone(metric).set_params(n_jobs=1), n_neighbors, n_jobs=1)
    model.fit(Z[train], y[train])
    found = certify(model, Z[test], y[test], frozen=frozen, method="lower", witness=False, n_jobs=1)
    certified, clean = found.certified_accuracy(radii=[radius, 0.0])
    return float(certified), float(clean)
