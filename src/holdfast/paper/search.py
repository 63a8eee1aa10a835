"""The paper's random search over the parameters of a learner, and the ranges that it draws from."""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from holdfast.base.inputs import check_count, plain_labels
from holdfast.learn.learner import MetricLearner, Precomputed, largest_tau
from holdfast.learn.lmnn import LMNN, CappedTraceLMNN, LogDetLMNN, SpectralNormLMNN
from holdfast.learn.margin_lvq import MarginLVQ
from holdfast.learn.proxy_nca import ProxyNCA
from holdfast.learn.scml import SCML
from holdfast.learn.terms import Perturbation
from holdfast.learn.wrappers import Euclidean, FixedMetric
from holdfast.models import CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier
from holdfast.paper.learners import AML, DRIFT

_LATER_DRAWS = 10  # draws in a second stage: the paper's number for CAP-PL
_SHORT = (5, 15)  # iterations of the short fits, with ``halving``


@dataclass(frozen=True)
class Uniform:
    """The uniform distribution on an interval.

    Attributes
    ----------
    low, high : float
    """

    low: float
    high: float

    def draw(self, rng: np.random.RandomState) -> float:
        """One number, above ``low``."""
        return float(self.high - (self.high - self.low) * rng.random_sample())


@dataclass(frozen=True)
class Known:
    """What a range may depend on: the data, and the parameters drawn before, by name."""

    n_features: int
    tau_max: float  # the 90th percentile of the Euclidean adversarial margins
    drawn: Mapping[str, Any]


Range = Sequence | Uniform | Callable[[Known], Sequence | Uniform]
Ranges = Mapping[str, Range]  # by parameter; drawn in this order
Stages = Ranges | tuple[Ranges, ...]  # searched one after the other, each around the best of the one before


def powers_of_ten(first: int, last: int) -> list[float]:
    """``10^first, …, 10^last``."""
    return [10.0**k for k in range(first, last + 1)]


def _ranks(known: Known) -> list[int]:
    """Ten ranks from 1 to the number of features."""
    return np.unique(np.round(np.linspace(1, known.n_features, 10)).astype(int)).tolist()


# The paper's ranges: tau up to the 90th percentile of the margins before learning; the weight given tau, since the loss
# is at most weight · tau².
_TAU: Ranges = {"perturbation__tau": lambda known: Uniform(0.0, known.tau_max)}
_PERTURBATION: Ranges = {
    **_TAU,
    "perturbation__weight": lambda known: Uniform(0.0, 4.0 / known.drawn["perturbation__tau"] ** 2),
}
_WEIGHT: Ranges = {"weight": powers_of_ten(-6, 2)}
_CAPPED: Ranges = {"weight": powers_of_ten(-3, 1), "rank": _ranks}
_MU: Ranges = {"mu": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]}
_ETA: Ranges = {"eta": powers_of_ten(-5, 3)}
_PROXIES: Ranges = {"temperature": powers_of_ten(-2, 2), "n_proxies": [1, 2, 3, 5, 10]}

# Learner: its ranges without and with a perturbation loss. DRIFT's, AML's and MarginLVQ's are not the paper's: it names
# none, and MarginLVQ's did well on its data sets.
_OF_LEARNERS: dict[type[MetricLearner], tuple[Stages, Stages | None]] = {
    LMNN: (_MU, {"mu": Uniform(0.1, 0.9), **_PERTURBATION}),
    SCML: (_ETA, {**_ETA, **_PERTURBATION}),
    ProxyNCA: (_PROXIES, {**_PROXIES, **_TAU, "perturbation__weight": powers_of_ten(-2, 2)}),
    LogDetLMNN: (_WEIGHT, (_WEIGHT, _PERTURBATION)),
    CappedTraceLMNN: (_CAPPED, (_CAPPED, _PERTURBATION)),
    SpectralNormLMNN: (_WEIGHT, (_WEIGHT, _PERTURBATION)),
    MarginLVQ: ({"n_proxies": [1, 2, 4, 8, 16], "temperature": [0.25, 0.5, 1.0]}, None),
    DRIFT: ({"weight": powers_of_ten(-4, 0), "disturbance": [0.03, 0.1, 0.3], "eta": [1e-3, 1e-1]}, None),
    AML: ({"alpha": [0.1, 1.0, 10.0], "beta": [10.0, 30.0, 100.0]}, None),
    Euclidean: ({}, None),
    FixedMetric: ({}, None),
}

#: A table to read: the ranges of each learner, without and with ("-PL") a perturbation loss. Lists are tried in full if
#: there are no more combinations than draws; a tuple is searched stage by stage, the first without perturbation loss,
#: the next around its best.
SPACES: dict[str, Stages] = {
    f"{kind.__name__}{suffix}": stages
    for kind, both in _OF_LEARNERS.items()
    for suffix, stages in zip(("", "-PL"), both, strict=True)
    if stages is not None
}


def default_ranges(learner: MetricLearner) -> Stages:
    """The ranges in which a search looks for the parameters of a learner, or of one derived from it.

    Parameters
    ----------
    learner : learner

    Returns
    -------
    dict, or tuple of dicts
        As in :data:`SPACES`; ``ValueError`` if there are none.
    """
    known = next((kind for kind in type(learner).__mro__ if kind in _OF_LEARNERS), None)
    if known is None:
        raise ValueError(f"There are no default ranges for {type(learner).__name__}: pass space={{...}}.")
    plain, with_loss = _OF_LEARNERS[known]
    return with_loss if with_loss is not None and isinstance(learner.perturbation, Perturbation) else plain


# -- draws ------------------------------------------------------------------------------------------


def draw_parameters(
    ranges: Ranges, n_draws: int, n_features: int, tau_max: float, rng: np.random.RandomState
) -> list[dict[str, Any]]:
    """All combinations, if every range is a list; at most ``n_draws`` of them. Else random draws."""

    def resolve(range_: Range, drawn: Mapping[str, Any]):
        """The list or distribution of a parameter, given those drawn before it."""
        return range_(Known(n_features, tau_max, drawn)) if callable(range_) else range_

    def combinations(names: list[str], drawn: dict[str, Any]) -> Iterator[dict[str, Any] | None]:
        """Depth first through the lists; None where a range is not a list."""
        if not names:
            yield drawn
            return
        values = resolve(ranges[names[0]], drawn)
        if isinstance(values, Uniform):
            yield None
            return
        for value in values:
            yield from combinations(names[1:], {**drawn, names[0]: value})

    def draw() -> dict[str, Any]:
        drawn: dict[str, Any] = {}
        for name, range_ in ranges.items():
            values = resolve(range_, drawn)
            drawn[name] = values.draw(rng) if isinstance(values, Uniform) else values[rng.randint(len(values))]
        return drawn

    found = []
    for combination in combinations(list(ranges), {}):
        if combination is None:
            return [draw() for _ in range(n_draws)]
        found.append(combination)
    if len(found) <= n_draws:
        return found
    return [found[k] for k in np.sort(rng.choice(len(found), n_draws, replace=False))]


# -- folds and scores -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CVFold:
    """Training and test rows, and what the learner precomputes of the training rows for all draws."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    precomputed: Precomputed

    @classmethod
    def make(cls, learner: MetricLearner, X: np.ndarray, y: np.ndarray, train, test) -> "CVFold":
        """The fold of the rows ``train`` and ``test``."""
        part = np.ascontiguousarray(X[train])
        return cls(part, y[train], X[test], y[test], learner.precompute(part, y[train]))


class FoldResult(NamedTuple):
    """The result of a draw on a fold; ``warm_start`` are parameters with which a fit goes on from there."""

    score: float
    tie_break: float
    seconds: float
    warm_start: dict[str, Any]


class Draw:
    """Parameters, and how they did on every fold."""

    def __init__(self, parameters: dict[str, Any]):
        self.parameters = parameters
        self.results: list[FoldResult] = []
        self.max_iter: int | None = None

    @property
    def mean(self) -> float:
        """Mean score over the folds."""
        return float(np.mean([result.score for result in self.results]))

    @property
    def rank_key(self) -> tuple[float, float, float]:
        """Larger is better: fits to the end before stopped ones, longer before shorter; then score, then tie-break."""
        tie_break = float(np.mean([result.tie_break for result in self.results]))
        return (math.inf if self.max_iter is None else self.max_iter), round(self.mean, 12), round(tie_break, 12)


def results_table(draws: list[Draw]) -> dict[str, Any]:
    """``cv_results_`` as in scikit-learn, one entry for each draw; equal scores share the best rank."""
    scores = np.array([[result.score for result in c.results] for c in draws])
    seconds = [[result.seconds for result in c.results] for c in draws]
    keys = [c.rank_key for c in draws]
    table: dict[str, Any] = {
        "mean_fit_time": np.array([np.mean(s) for s in seconds]),
        "std_fit_time": np.array([np.std(s) for s in seconds]),
    }
    for name in dict.fromkeys(name for c in draws for name in c.parameters):
        column = np.ma.masked_all(len(draws), dtype=object)
        for k, c in enumerate(draws):
            if name in c.parameters:
                column[k] = c.parameters[name]
        table[f"param_{name}"] = column
    table["params"] = [c.parameters for c in draws]
    table |= {f"split{f}_test_score": scores[:, f] for f in range(scores.shape[1])}
    table |= {"mean_test_score": scores.mean(axis=1), "std_test_score": scores.std(axis=1)}
    table["rank_test_score"] = np.array([1 + sum(other > key for other in keys) for key in keys], dtype=np.int32)
    table["n_iterations"] = np.array([c.max_iter or 0 for c in draws])
    return table


def fit_and_score(
    tasks: list[tuple[MetricLearner, dict[str, Any]]], fold: CVFold, scoring, n_neighbors: int, max_iter: int | None
) -> list[FoldResult]:
    """Fit some learners, each with its warm start, on one fold and score them; stop fits after ``max_iter``."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit warns
        for learner, start in tasks:
            began = time.perf_counter()
            if max_iter is not None:
                learner.set_params(callback=lambda progress: progress.iteration >= max_iter)
            fold.precomputed.fit(learner.set_params(**start), fold.X, fold.y)
            seconds = time.perf_counter() - began
            classifier = make_classifier(learner, fold.X, fold.y, n_neighbors, n_jobs=1)
            value, tie_break = score(classifier, fold.X_test, fold.y_test, scoring)
            found.append(FoldResult(value, tie_break, seconds, {} if max_iter is None else learner.warm_start()))
    return found


def make_classifier(learner: MetricLearner, X, y, n_neighbors: int, n_jobs: int | None = None):
    """A fitted learner as a classifier: nearest prototype if it has prototypes, else k nearest neighbours."""
    if hasattr(learner, "prototypes_"):
        return CertifiedPrototypeClassifier(learner, n_jobs).fit(X, y)
    return CertifiedKNeighborsClassifier(learner, min(n_neighbors, len(X)), n_jobs).fit(X, y)


@runtime_checkable
class TieBreakingScorer(Protocol):
    """A scorer that also returns a second score, which decides between equal first ones."""

    def score_and_tie_break(self, estimator, X, y) -> tuple[float, float]:
        """Both scores of a fitted classifier."""


def score(classifier, X: np.ndarray, y: np.ndarray, scoring) -> tuple[float, float]:
    """The score by "g_mean", by the name of a scorer of scikit-learn, or by a function ``(classifier, X, y)``; with it
    the tie-break of the scorer, 0 if it has none.
    """
    if scoring == "g_mean":
        return g_mean(y, classifier.predict(X)), 0.0
    scorer = scoring if callable(scoring) else get_scorer(scoring)
    if isinstance(scorer, TieBreakingScorer):
        return scorer.score_and_tie_break(classifier, X, y)
    return float(scorer(classifier, X, y)), 0.0


def g_mean(y_true, y_pred) -> float:
    """The geometric mean of the recalls of all classes in ``y_true``.

    Parameters
    ----------
    y_true, y_pred : array-likes of shape (n_samples,)

    Returns
    -------
    float

    Examples
    --------
    >>> round(g_mean([0, 0, 0, 0, 1], [0, 0, 0, 1, 1]) ** 2, 9)
    0.75
    """
    y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
    recalls = [np.mean(y_pred[y_true == c] == c) for c in np.unique(y_true)]
    return float(np.prod(recalls) ** (1.0 / len(recalls)))


# -- the search -------------------------------------------------------------------------------------


class PerturbationSearchCV(ClassifierMixin, MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """``argmax over draws of the mean score of 3-NN under the metric``: the paper's tuning.

    For LMNN-PL: mu ~ U(0.1, 0.9), tau ~ U(0, P90), weight ~ U(0, 4/tau²), where P90 is the 90th percentile of
    the Euclidean adversarial margins (their absolute values) over the training triplets; :data:`SPACES` has
    those of all learners. What depends on the fold alone (triplets, the bases of SCML) is made once per fold, by
    the learner's ``precompute``.

    Rows should be prepared as the learner needs them. To standardise first, put the search into a pipeline.

    Parameters
    ----------
    estimator : learner
        With ``perturbation=Perturbation()`` its tau and weight are searched too.
    space : dict, tuple of dicts, or None, default=None
        Parameter names, each with a list, a :class:`Uniform` or a function of :class:`Known` that returns
        one; a tuple is searched stage by stage, the first without perturbation loss, the next around its best.
        None is ``default_ranges(estimator)``.
    n_draws : int, default=50
    scoring : {"accuracy", "g_mean"}, str or callable, default="accuracy"
        "g_mean" is the geometric mean of the recalls. Any other name of a scorer of scikit-learn, or a
        function ``(classifier, X, y) -> float``, such as
        :class:`~holdfast.certificates.CertifiedAccuracy` to choose by what is certified (equal ones by
        accuracy). Of equal draws the one drawn first is chosen.
    cv : int, splitter or iterable of (train, test), default=5
        An integer is the number of stratified, shuffled folds. One pair of indices is a validation part.
    refit : bool, default=True
        Whether to fit the best draw on all rows.
    n_neighbors : int, default=3
        Of the classifier. Ties go to the class of the nearest neighbour. Learners with prototypes are scored
        by their nearest prototype.
    halving : bool, default=False
        Whether fits of 5, then 15 iterations sort out half of the draws each; the others continue from
        there. It helps where fits are long.
    n_jobs : int or None, default=None
        Processes, each fit on one thread (threads would wait for one another: measured, five times slower
        than one). The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds draws and folds.
    verbose : int, default=0
        1 shows progress.
    progress : callable or None, default=None
        Called with the number of fits done and their total, at each stage of the search.

    Attributes
    ----------
    best_params_ : dict
    best_score_ : float
    best_index_ : int
    best_estimator_ : learner
        Fitted on all rows, if ``refit``.
    classifier_ : CertifiedKNeighborsClassifier or CertifiedPrototypeClassifier
        The best learner as a classifier, if ``refit``.
    cv_results_ : dict of arrays
        As in scikit-learn; with ``halving``, also ``n_iterations``: 0 for a fit to the end. A draw that
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
    >>> from holdfast.paper import PerturbationSearchCV
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
        progress: Callable[[int, int], None] | None = None,
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
        self.progress = progress

    def fit(self, X, y):
        """Draw, fit, score; then fit the best on all rows."""
        y = plain_labels(y)
        stages = self._check()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        rng = check_random_state(self.random_state)
        learner = _single_threaded(self.estimator)
        self.tau_max_ = largest_tau(learner, X, y)
        folds = [CVFold.make(learner, X, y, train, test) for train, test in self._splits(X, y, rng)]
        self.n_splits_ = len(folds)

        draws: list[Draw] = []
        best: dict[str, Any] = {}
        for number, ranges in enumerate(stages):
            fixed = dict(best)
            if number + 1 < len(stages):
                fixed["perturbation"] = None
            elif len(stages) > 1:
                fixed.pop("perturbation", None)
            n_draws = self.n_draws if number == 0 else min(self.n_draws, _LATER_DRAWS)
            drawn = draw_parameters(ranges, n_draws, X.shape[1], self.tau_max_, rng)
            stage = [Draw({**fixed, **parameters}) for parameters in drawn]
            self._run(learner, stage, folds)
            draws += stage
            best = max(stage, key=lambda c: c.rank_key).parameters
        self._store(draws, best)
        if self.refit:
            self._refit(X, y)
        return self

    # -- the best, as a classifier and a transformer ------------------------------------------------

    def predict(self, X) -> np.ndarray:
        """The vote of the nearest neighbours under the best metric (of the nearest prototype)."""
        self._check_refitted()
        return self.classifier_.predict(X)

    def transform(self, X) -> np.ndarray:
        """``X Lᵀ`` under the best metric."""
        self._check_refitted()
        return self.best_estimator_.transform(X)

    # -- the parts of fit ---------------------------------------------------------------------------

    def _check(self) -> tuple[Ranges, ...]:
        """Check the parameters; return the stages of the search."""
        if not isinstance(self.estimator, MetricLearner):
            raise ValueError(
                "PerturbationSearchCV tunes learners of holdfast, for example LMNN(perturbation="
                f"Perturbation()); got {self.estimator!r}. Preprocessing goes before the search, in a pipeline."
            )
        check_count("PerturbationSearchCV", "n_draws", self.n_draws)
        check_count("PerturbationSearchCV", "n_neighbors", self.n_neighbors)
        stages = default_ranges(self.estimator) if self.space is None else self.space
        return (stages,) if isinstance(stages, Mapping) else tuple(stages)

    def _splits(self, X, y, rng) -> list[tuple[np.ndarray, np.ndarray]]:
        cv = self.cv
        if isinstance(cv, (int, np.integer)):
            cv = StratifiedKFold(int(cv), shuffle=True, random_state=rng.randint(2**31 - 1))
        return list(check_cv(cv, y, classifier=True).split(X, y))

    def _run(self, learner: MetricLearner, draws: list[Draw], folds: list[CVFold]) -> None:
        """Score every draw on every fold; with ``halving``, after short fits that sort some out."""
        alive = draws
        for max_iter in _SHORT if self.halving and _can_be_stopped(learner) else ():
            if len(alive) < 4:
                break
            self._score(learner, alive, folds, max_iter)
            alive = sorted(alive, key=lambda c: c.rank_key, reverse=True)[: -(-len(alive) // 2)]
        self._score(learner, alive, folds, None)

    def _score(self, learner: MetricLearner, draws: list[Draw], folds: list[CVFold], max_iter: int | None) -> None:
        """Fit and score draws on all folds, from where their last fits ended."""
        # A fold is large and a draw small, so each task is a batch of draws on one fold.
        size = max(1, min(10, -(-len(draws) * len(folds) // (4 * joblib.effective_n_jobs(self.n_jobs)))))
        tasks = [(draws[start : start + size], f) for start in range(0, len(draws), size) for f in range(len(folds))]
        starts = {c: [result.warm_start for result in c.results] or [{}] * len(folds) for c in draws}
        calls = (
            joblib.delayed(fit_and_score)(
                [(clone(learner).set_params(**c.parameters), starts[c][f]) for c in batch],
                folds[f],
                self.scoring,
                self.n_neighbors,
                max_iter,
            )
            for batch, f in tasks
        )
        for c in draws:
            c.results, c.max_iter = [], max_iter
        done = 0
        parallel = joblib.Parallel(self.n_jobs, prefer="processes", return_as="generator")
        for (batch, f), results in zip(tasks, parallel(calls), strict=True):
            for c, result in zip(batch, results, strict=True):
                c.results.append(result)
            done += len(batch)
            if self.progress is not None:
                self.progress(done, len(draws) * len(folds))
            if self.verbose and f == len(folds) - 1:
                leader = max(c.mean for c in draws if len(c.results) == len(folds))
                print(f"[search] {done} of {len(draws) * len(folds)} fits, best score {leader:.4f}")

    def _store(self, draws: list[Draw], best: dict[str, Any]) -> None:
        """Set the attributes that describe the search."""
        order = sorted(range(len(draws)), key=lambda k: draws[k].rank_key, reverse=True)
        self.best_params_ = best
        self.best_index_ = next(k for k in order if draws[k].parameters == best)
        self.best_score_ = draws[self.best_index_].mean
        self.cv_results_ = results_table(draws)

    def _refit(self, X, y) -> None:
        began = time.perf_counter()
        self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_).fit(X, y)
        self.refit_time_ = time.perf_counter() - began
        self.classifier_ = make_classifier(self.best_estimator_, X, y, self.n_neighbors)

    def _check_refitted(self) -> None:
        check_is_fitted(self, "cv_results_")
        if not self.refit:
            raise AttributeError("This search was made with refit=False: there is no best_estimator_ to use.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cv_results_")


def _single_threaded(estimator: MetricLearner) -> MetricLearner:
    learner = clone(estimator)
    return learner.set_params(n_jobs=1) if "n_jobs" in learner.get_params() else learner


def _can_be_stopped(learner: MetricLearner) -> bool:
    """True if a fit can be stopped early, and another start where it ended."""
    parameters = learner.get_params(deep=False)
    return {"callback", "init"} <= parameters.keys() and parameters["callback"] is None
