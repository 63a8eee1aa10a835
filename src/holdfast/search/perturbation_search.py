"""The paper's random search, as a scikit-learn search object."""

import math
import time
from collections.abc import Iterable, Mapping
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from holdfast.constraints import Triplets
from holdfast.learners import MetricLearner
from holdfast.parameters import check_count
from holdfast.search.folds import (
    Fold,
    adversarial_margins,
    classifier_of,
    fit_and_score,
    fit_learner,
    triplets_for,
)
from holdfast.search.ranges import SPACES, Space, candidates

_LATER_DRAWS = 10  # draws in a second stage: the paper's number for CAP-PL
_SHORT = (5, 15)  # iterations of the short fits of halving


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
        function ``(classifier, X, y) -> float``, such as
        :class:`~holdfast.certificates.CertifiedAccuracy` to choose by what is certified.
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
    classifier_ : CertifiedKNeighborsClassifier or CertifiedPrototypeClassifier
        The best learner as a classifier, if ``refit``.
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
        triplets = triplets_for(learner, X, codes)
        self.tau_max_ = _tau_max(learner, X, triplets)
        folds = [Fold.of(learner, X, y, codes, train, test) for train, test in self._splits(X, y, rng)]
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
            drawn = candidates(space, draws, X.shape[1], self.tau_max_, rng)
            tried = [_Candidate({**fixed, **parameters}) for parameters in drawn]
            self._run(learner, tried, folds)
            rows += tried
            best = max(tried, key=_Candidate.order).parameters
        self.best_params_ = best
        self._tell(rows)
        if self.refit:
            self._refit(X, y, triplets)
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

    def _run(self, learner, candidates: list["_Candidate"], folds: list["Fold"]) -> None:
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
            joblib.delayed(fit_and_score)(
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
        fit_learner(learner, X, y, triplets)
        self.refit_time_ = time.perf_counter() - began
        self.best_estimator_ = learner
        self.classifier_ = classifier_of(learner, X, y, self.n_neighbors)

    def _check_refitted(self) -> None:
        check_is_fitted(self, "cv_results_")
        if not self.refit:
            raise AttributeError("This search was made with refit=False: there is no best_estimator_ to use.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cv_results_")


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


def _single_threaded(estimator):
    learner = clone(estimator)
    return learner.set_params(n_jobs=1) if "n_jobs" in learner.get_params() else learner


def _can_be_short(learner) -> bool:
    """Whether a fit can be ended early and continued."""
    parameters = learner.get_params(deep=False)
    return {"callback", "init"} <= parameters.keys() and parameters["callback"] is None


def _tau_max(learner, X: np.ndarray, triplets: Triplets) -> float:
    """The 90th percentile of the Euclidean adversarial margins."""
    return float(np.percentile(adversarial_margins(learner, X, triplets), 90))
