"""Tuning: the paper's random search, with ranges that depend on the data and on each other."""

import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from holdfast.constraints import Triplets, knn_triplets
from holdfast.geometry import TripletGeometry
from holdfast.learners import SCML, MetricLearner, TripletLearner
from holdfast.parameters import check_count

# -- what is searched: one entry per method ---------------------------------------------------------


@dataclass(frozen=True)
class Uniform:
    """The uniform distribution on an interval."""

    low: float
    high: float

    def draw(self, rng: np.random.RandomState) -> float:
        """One number, above ``low``."""
        return float(self.high - (self.high - self.low) * rng.random_sample())


@dataclass(frozen=True)
class Known:
    """What a range may depend on: the data, and what has been drawn before."""

    n_features: int
    tau_max: float
    drawn: Mapping[str, Any]


Range = Sequence | Uniform | Callable[[Known], Sequence | Uniform]
Space = Mapping[str, Range]


def _powers(first: int, last: int) -> list[float]:
    return [10.0**k for k in range(first, last + 1)]


def _ranks(known: Known) -> list[int]:
    return np.unique(np.round(np.linspace(1, known.n_features, 10)).astype(int)).tolist()


_TAU: Space = {"perturbation__tau": lambda known: Uniform(0.0, known.tau_max)}
_MARGIN: Space = {
    **_TAU,
    "perturbation__weight": lambda known: Uniform(0.0, 4.0 / known.drawn["perturbation__tau"] ** 2),
}
_CAP: Space = {"weight": _powers(-3, 1), "rank": _ranks}
_WEIGHT: Space = {"weight": _powers(-6, 2)}
_PNCA: Space = {"temperature": _powers(-2, 2), "n_proxies": [1, 2, 3, 5, 10]}

#: Ranges of every method: class of the learner, and "-PL" if it has a perturbation loss. Lists are tried
#: in full if there are no more combinations than draws; a tuple is searched stage by stage, the first
#: without perturbation loss, the next around its best.
SPACES: dict[str, Space | tuple[Space, ...]] = {
    "LMNN": {"mu": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]},
    "LMNN-PL": {"mu": Uniform(0.1, 0.9), **_MARGIN},
    "SCML": {"eta": _powers(-5, 3)},
    "SCML-PL": {"eta": _powers(-5, 3), **_MARGIN},
    "ProxyNCA": _PNCA,
    "ProxyNCA-PL": {**_PNCA, **_TAU, "perturbation__weight": _powers(-2, 2)},
    "LogDetLMNN": _WEIGHT,
    "LogDetLMNN-PL": (_WEIGHT, _MARGIN),
    "CappedTraceLMNN": _CAP,
    "CappedTraceLMNN-PL": (_CAP, _MARGIN),
    "SpectralNormLMNN": _WEIGHT,
    "SpectralNormLMNN-PL": (_WEIGHT, _MARGIN),
    "DRIFT": {"mu": [0.1, 0.3, 0.5, 0.7, 0.9], "disturbance": [0.03, 0.1, 0.3], "eta": [1e-3, 1e-1]},
    "AML": {"alpha": [0.1, 1.0, 10.0], "beta": [10.0, 30.0, 100.0]},
    "Euclidean": {},
    "FixedMetric": {},
}
_LATER_DRAWS = 10  # draws in a second stage: the paper's number for CAP-PL
_SHORT = (5, 15)  # iterations of the short fits of halving


# -- the search ------------------------------------------------------------------------------------


class PerturbationSearchCV(ClassifierMixin, MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """``argmax over draws of the mean score of 3-NN under the metric``: the paper's way of tuning.

    For LMNN-PL: mu ~ U(0.1, 0.9), tau ~ U(0, P90), weight ~ U(0, 4/tau²), where P90 is the 90th percentile of
    the Euclidean adversarial margins (their absolute values) over the training triplets. Every learner has an
    entry in :data:`SPACES`. Triplets, and the bases of SCML, depend on the fold alone: they are made once per
    fold.

    Rows should be as the learner is to see them. To standardise first, place the search in a pipeline.

    Parameters
    ----------
    estimator : learner
        With ``perturbation=Perturbation()`` its tau and weight are searched too.
    space : dict, tuple of dicts, or None, default=None
        Parameter names, each with a list, a :class:`Uniform` or a function of :class:`Known` that returns
        one. None is the learner's entry in :data:`SPACES`.
    n_draws : int, default=50
    scoring : {"accuracy", "g_mean"}, str or callable, default="accuracy"
        "g_mean" is the geometric mean of the recalls. Any other name of a scorer of scikit-learn, or a
        function ``(classifier, X, y) -> float``, is given a fitted pipeline of learner and k-NN.
    cv : int, splitter or iterable of (train, test), default=5
        An integer is the number of stratified, shuffled folds. One pair of indices is a validation part.
    refit : bool, default=True
        Whether to fit the best candidate on all rows.
    n_neighbors : int, default=3
        Of the classifier. Ties go to the class of the nearest neighbour. Learners with prototypes are scored
        by their nearest prototype.
    halving : bool, default=False
        Whether fits of 5, then 15 iterations sort out half of the candidates each; the others continue from
        there. It helps where fits are long.
    n_jobs : int or None, default=None
        Processes, each fit on one thread (threads would wait for one another: measured, five times slower
        than one). The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds draws and folds.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    best_params_ : dict
    best_score_ : float
    best_index_ : int
    best_estimator_ : learner
        Fitted on all rows, if ``refit``.
    cv_results_ : dict of arrays
        As in scikit-learn; with ``halving``, also ``n_iterations``: 0 for a fit to the end. A candidate that
        was sorted out ranks behind all that were not.
    tau_max_ : float
        The upper end of tau.
    n_splits_ : int
    refit_time_ : float
    classes_ : ndarray
    n_features_in_ : int

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", section 4.2 and
    supplement D.2. Bergstra and Bengio, "Random search for hyper-parameter optimization", JMLR 13, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import LMNN, Perturbation
    >>> from holdfast.search import PerturbationSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> lmnn_pl = LMNN(perturbation=Perturbation())
    >>> search = PerturbationSearchCV(lmnn_pl, n_draws=4, cv=3, random_state=0).fit(X, y)
    >>> sorted(search.best_params_)
    ['mu', 'perturbation__tau', 'perturbation__weight']
    """

    def __init__(
        self,
        estimator,
        space=None,
        n_draws: int = 50,
        scoring="accuracy",
        cv=5,
        refit: bool = True,
        n_neighbors: int = 3,
        halving: bool = False,
        n_jobs: int | None = None,
        random_state=None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.space = space
        self.n_draws = n_draws
        self.scoring = scoring
        self.cv = cv
        self.refit = refit
        self.n_neighbors = n_neighbors
        self.halving = halving
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y):
        """Draw, fit, score; then fit the best on all rows."""
        stages = self._check()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        rng = check_random_state(self.random_state)
        learner = _single_threaded(self.estimator)
        triplets = _triplets(learner, X, codes)
        self.tau_max_ = _tau_max(learner, X, triplets)
        folds = [_Fold.of(learner, X, y, codes, train, test) for train, test in self._splits(X, y, rng)]
        self.n_splits_ = len(folds)

        rows: list[_Candidate] = []
        best: dict[str, Any] = {}
        for number, space in enumerate(stages):
            fixed = dict(best)
            if number + 1 < len(stages):
                fixed["perturbation"] = None
            elif len(stages) > 1:
                fixed.pop("perturbation", None)
            draws = self.n_draws if number == 0 else min(self.n_draws, _LATER_DRAWS)
            drawn = _candidates(space, draws, X.shape[1], self.tau_max_, rng)
            candidates = [_Candidate({**fixed, **parameters}) for parameters in drawn]
            self._run(learner, candidates, folds)
            rows += candidates
            best = max(candidates, key=_Candidate.order).parameters
        self.best_params_ = best
        self._tell(rows)
        if self.refit:
            self._refit(X, y, triplets)
        return self

    # -- the best, as a classifier and a transformer ------------------------------------------------

    def predict(self, X) -> np.ndarray:
        """The vote of the nearest neighbours under the best metric (of the nearest prototype)."""
        self._check_refitted()
        X = validate_data(self, X, dtype=np.float64, reset=False)
        learner = self.best_estimator_
        codes = _vote(*self._reference, learner.transform(X))
        return self.classes_[codes]

    def transform(self, X) -> np.ndarray:
        """``X Lᵀ`` under the best metric."""
        self._check_refitted()
        return self.best_estimator_.transform(X)

    # -- the parts of fit ---------------------------------------------------------------------------

    def _check(self) -> tuple[Space, ...]:
        """The stages of the search."""
        if not isinstance(self.estimator, MetricLearner):
            raise ValueError(
                "PerturbationSearchCV tunes learners of holdfast, for example LMNN(perturbation="
                f"Perturbation()); got {self.estimator!r}. Preprocessing goes before the search, in a pipeline."
            )
        check_count("PerturbationSearchCV", "n_draws", self.n_draws)
        check_count("PerturbationSearchCV", "n_neighbors", self.n_neighbors)
        space = self.space
        if space is None:
            with_loss = getattr(self.estimator, "perturbation", None) is not None
            name = type(self.estimator).__name__ + ("-PL" if with_loss else "")
            if name not in SPACES:
                raise ValueError(f"There are no default ranges for {name}: pass space={{...}}.")
            space = SPACES[name]
        return (space,) if isinstance(space, Mapping) else tuple(space)

    def _splits(self, X, y, rng) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        cv = self.cv
        if isinstance(cv, (int, np.integer)):
            cv = StratifiedKFold(int(cv), shuffle=True, random_state=rng.randint(2**31 - 1))
        return list(check_cv(cv, y, classifier=True).split(X, y))

    def _run(self, learner, candidates: list["_Candidate"], folds: list["_Fold"]) -> None:
        """Score every candidate on every fold, after sorting some out if asked to."""
        alive = candidates
        for iterations in _SHORT if self.halving and _can_be_short(learner) else ():
            if len(alive) < 4:
                break
            self._score(learner, alive, folds, iterations)
            alive = sorted(alive, key=_Candidate.order, reverse=True)[: -(-len(alive) // 2)]
        self._score(learner, alive, folds, 0)

    def _score(self, learner, candidates, folds, iterations: int) -> None:
        # A fold is large and a candidate small: each task takes some candidates to one fold.
        size = max(1, min(10, -(-len(candidates) * len(folds) // (4 * joblib.effective_n_jobs(self.n_jobs)))))
        tasks = [
            (candidates[start : start + size], f)
            for start in range(0, len(candidates), size)
            for f in range(len(folds))
        ]
        calls = (
            joblib.delayed(_fit_and_score)(
                [(clone(learner).set_params(**c.parameters), c.starts.get(f)) for c in some],
                folds[f],
                self.scoring,
                self.n_neighbors,
                iterations,
            )
            for some, f in tasks
        )
        for c in candidates:
            c.scores, c.seconds, c.iterations = [], [], iterations
        done = 0
        parallel = joblib.Parallel(self.n_jobs, prefer="processes", return_as="generator")
        for (some, f), results in zip(tasks, parallel(calls), strict=True):
            for c, (score, seconds, c.starts[f]) in zip(some, results, strict=True):
                c.scores.append(score)
                c.seconds.append(seconds)
            done += len(some)
            if self.verbose and f == len(folds) - 1:
                leader = max(c.mean for c in candidates if len(c.scores) == len(folds))
                print(f"[search] {done} of {len(candidates) * len(folds)} fits, best score {leader:.4f}")

    def _tell(self, rows: list["_Candidate"]) -> None:
        order = sorted(range(len(rows)), key=lambda k: rows[k].order(), reverse=True)
        self.best_index_ = next(k for k in order if rows[k].parameters == self.best_params_)
        self.best_score_ = rows[self.best_index_].mean
        scores = np.array([row.scores for row in rows])
        # Equal scores share a rank, the best one.
        keys = [row.order() for row in rows]
        rank = np.array([1 + sum(other > key for other in keys) for key in keys], dtype=np.int32)
        names = list(dict.fromkeys(name for row in rows for name in row.parameters))
        results: dict[str, Any] = {
            "mean_fit_time": np.array([np.mean(row.seconds) for row in rows]),
            "std_fit_time": np.array([np.std(row.seconds) for row in rows]),
        }
        for name in names:
            column = np.ma.masked_all(len(rows), dtype=object)
            for k, row in enumerate(rows):
                if name in row.parameters:
                    column[k] = row.parameters[name]
            results[f"param_{name}"] = column
        results["params"] = [row.parameters for row in rows]
        results |= {f"split{f}_test_score": scores[:, f] for f in range(self.n_splits_)}
        results |= {"mean_test_score": scores.mean(axis=1), "std_test_score": scores.std(axis=1)}
        results["rank_test_score"] = rank
        results["n_iterations"] = np.array([row.iterations for row in rows])
        self.cv_results_ = results

    def _refit(self, X, y, triplets) -> None:
        began = time.perf_counter()
        learner = clone(self.estimator).set_params(**self.best_params_)
        _fit(learner, X, y, triplets)
        self.refit_time_ = time.perf_counter() - began
        self.best_estimator_ = learner
        codes = np.searchsorted(self.classes_, y)
        self._reference = _reference(learner, X, codes, self.classes_, self.n_neighbors)

    def _check_refitted(self) -> None:
        check_is_fitted(self, "cv_results_")
        if not self.refit:
            raise AttributeError("This search was made with refit=False: there is no best_estimator_ to use.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cv_results_")


def adversarial_margins(learner, X: np.ndarray, triplets: Triplets) -> np.ndarray:
    """``|f| / 2√h`` of every triplet at M = I: Euclidean adversarial margins, of shape (n_triplets,)."""
    p = X.shape[1]
    perturbation = getattr(learner, "perturbation", None)
    B = None if perturbation is None else perturbation.slope_matrix(p, X)
    geometry = TripletGeometry(X, triplets, B, True, 1)
    a, b, h = geometry.three_numbers(np.eye(p))
    geometry.close()
    assert h is not None
    return np.abs(b - a) / (2.0 * np.sqrt(np.where(h > 0, h, np.inf)))


def g_mean(y_true, y_pred) -> float:
    """The geometric mean of the recalls of all classes in ``y_true``.

    Examples
    --------
    >>> round(g_mean([0, 0, 0, 0, 1], [0, 0, 0, 1, 1]) ** 2, 9)
    0.75
    """
    y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
    recalls = [np.mean(y_pred[y_true == c] == c) for c in np.unique(y_true)]
    return float(np.prod(recalls) ** (1.0 / len(recalls)))


# -- candidates and folds ----------------------------------------------------------------------------


class _Candidate:
    """Parameters, and how they did."""

    def __init__(self, parameters: dict[str, Any]):
        self.parameters = parameters
        self.scores: list[float] = []
        self.seconds: list[float] = []
        self.iterations = 0
        self.starts: dict[int, np.ndarray | None] = {}  # by fold: where a short fit ended

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores))

    def order(self) -> tuple[float, float]:
        """Fits to the end go before short ones, longer short ones before shorter; then the score."""
        return (math.inf if self.iterations == 0 else self.iterations), round(self.mean, 12)


@dataclass(frozen=True, eq=False)
class _Fold:
    """The parts of the data, and all that can be made of them before the first candidate is seen."""

    X: np.ndarray
    y: np.ndarray
    codes: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    codes_test: np.ndarray
    labels: np.ndarray
    triplets: Triplets | None
    basis: np.ndarray | None

    @classmethod
    def of(cls, learner, X, y, codes, train, test) -> "_Fold":
        part = np.ascontiguousarray(X[train])
        triplets = _triplets(learner, part, codes[train]) if isinstance(learner, TripletLearner) else None
        basis = None
        if isinstance(learner, SCML) and learner.basis is None:
            basis = learner.make_basis(part, codes[train])
        if triplets is not None:  # made here once, not in each of the threads that share them
            made = [triplets.targets, triplets.pairs.adjacency]
            if getattr(learner, "perturbation", None) is not None:
                made.append(triplets.slope_pairs.adjacency)
        labels = np.unique(y)
        return cls(part, y[train], codes[train], X[test], y[test], codes[test], labels, triplets, basis)


def _candidates(space: Space, n_draws: int, n_features: int, tau_max: float, rng) -> list[dict[str, Any]]:
    """All combinations, if every range is a list and they are few enough; else random draws."""
    known = Known(n_features, tau_max, {})
    resolved = {
        name: entry(known) if callable(entry) and not _is_conditional(entry, known) else entry
        for name, entry in space.items()
    }
    lists = {name: entry for name, entry in resolved.items() if isinstance(entry, Sequence)}
    if len(lists) == len(resolved):
        combinations = list(product(*lists.values()))
        if len(combinations) > n_draws:
            chosen = np.sort(rng.choice(len(combinations), n_draws, replace=False))
            combinations = [combinations[k] for k in chosen]
        return [dict(zip(lists, combination, strict=True)) for combination in combinations]
    found = []
    for _ in range(n_draws):
        drawn: dict[str, Any] = {}
        for name, entry in space.items():
            values = entry(Known(n_features, tau_max, drawn)) if callable(entry) else entry
            drawn[name] = values.draw(rng) if isinstance(values, Uniform) else values[rng.randint(len(values))]
        found.append(drawn)
    return found


def _is_conditional(entry: Callable[[Known], Any], known: Known) -> bool:
    """Whether a range asks for what has been drawn before it."""
    try:
        entry(known)
    except KeyError:
        return True
    return False


# -- one fit -----------------------------------------------------------------------------------------


def _fit_and_score(tasks, fold: _Fold, scoring, n_neighbors: int, iterations: int) -> list[tuple]:
    """Score and seconds of some learners on one fold, and where a short fit ended."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit tells
        for learner, start in tasks:
            began = time.perf_counter()
            if fold.basis is not None:
                learner.set_params(basis=fold.basis)
            if start is not None:
                learner.set_params(init=start)
            if iterations:
                learner.set_params(callback=lambda progress: progress.iteration >= iterations)
            _fit(learner, fold.X, fold.y, fold.triplets)
            seconds = time.perf_counter() - began
            ended = None
            if iterations:
                ended = learner.w_ if isinstance(learner, SCML) else learner.get_mahalanobis_matrix()
            found.append((_score_of(learner, fold, scoring, n_neighbors), seconds, ended))
    return found


def _score_of(learner, fold: _Fold, scoring, n_neighbors: int) -> float:
    if scoring in ("accuracy", "g_mean"):
        reference = _reference(learner, fold.X, fold.codes, fold.labels, n_neighbors)
        found = _vote(*reference, learner.transform(fold.X_test))
        if scoring == "g_mean":
            return g_mean(fold.codes_test, found)
        return float(np.mean(found == fold.codes_test))
    points, codes, k = _reference(learner, fold.X, fold.codes, fold.labels, n_neighbors)
    knn = KNeighborsClassifier(k).fit(points, fold.labels[codes])
    scorer = scoring if callable(scoring) else get_scorer(scoring)
    return float(scorer(make_pipeline(learner, knn), fold.X_test, fold.y_test))


def _fit(learner, X, y, triplets) -> None:
    if isinstance(learner, TripletLearner):
        learner.fit(X, y, triplets=triplets)
    else:
        learner.fit(X, y)


def _reference(learner, X, codes, labels, n_neighbors: int) -> tuple[np.ndarray, np.ndarray, int]:
    """What votes: the training points, or the prototypes; transformed, with class codes, and how many."""
    if hasattr(learner, "prototypes_"):
        owners = np.searchsorted(labels, learner.prototype_labels_)
        return learner.transform(learner.prototypes_), owners, 1
    return learner.transform(X), codes, min(n_neighbors, len(X))


def _vote(points: np.ndarray, codes: np.ndarray, k: int, queries: np.ndarray) -> np.ndarray:
    """The class code most frequent among the k nearest points; of equals, that of the nearest."""
    squares = np.einsum("np,np->n", points, points)
    out = np.empty(len(queries), dtype=codes.dtype)
    for start in range(0, len(queries), 512):
        rows = slice(start, start + 512)
        d = squares - 2.0 * (queries[rows] @ points.T)
        near = np.argpartition(d, k - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(d, near, axis=1), axis=1, kind="stable")
        votes = codes[np.take_along_axis(near, order, axis=1)]  # (rows, k), nearest first
        counts = (votes[:, :, None] == votes[:, None, :]).sum(axis=2)
        out[rows] = votes[np.arange(len(votes)), counts.argmax(axis=1)]  # the first of the most frequent
    return out


def _single_threaded(estimator):
    learner = clone(estimator)
    return learner.set_params(n_jobs=1) if "n_jobs" in learner.get_params() else learner


def _can_be_short(learner) -> bool:
    """Whether a fit can be ended early and continued."""
    parameters = learner.get_params(deep=False)
    return {"callback", "init"} <= parameters.keys() and parameters["callback"] is None


def _triplets(learner, X: np.ndarray, y: np.ndarray) -> Triplets:
    """The triplets the learner would make (the paper's 3 × 10 for one that makes none)."""
    return knn_triplets(X, y, getattr(learner, "n_neighbors", 3), getattr(learner, "n_impostors", 10), n_jobs=1)


def _tau_max(learner, X: np.ndarray, triplets: Triplets) -> float:
    """The 90th percentile of the Euclidean adversarial margins."""
    return float(np.percentile(adversarial_margins(learner, X, triplets), 90))
