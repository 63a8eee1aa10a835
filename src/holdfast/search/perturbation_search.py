"""The paper's random search, as a scikit-learn search object."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from holdfast.learners import MetricLearner
from holdfast.learners.ranges import Ranges
from holdfast.numerics.frames import plain_labels
from holdfast.parameters import check_count
from holdfast.search.candidate import Candidate, results_table
from holdfast.search.draw import draw_candidates
from holdfast.search.fold import CVFold, fit_and_score, make_classifier
from holdfast.search.margins import largest_tau

_LATER_DRAWS = 10  # draws in a second stage: the paper's number for CAP-PL
_SHORT = (5, 15)  # iterations of the short fits, with ``halving``


class PerturbationSearchCV(ClassifierMixin, MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """``argmax over draws of the mean score of 3-NN under the metric``: the paper's way of tuning.

    For LMNN-PL: mu ~ U(0.1, 0.9), tau ~ U(0, P90), weight ~ U(0, 4/tau²), where P90 is the 90th percentile of
    the Euclidean adversarial margins (their absolute values) over the training triplets. Every learner has
    ``default_ranges()``. What depends on the fold alone (triplets, the bases of SCML) is made once per fold, by
    the learner's ``precompute``.

    Rows should be prepared as the learner needs them. To standardise first, place the search in a pipeline.

    Parameters
    ----------
    estimator : learner
        With ``perturbation=Perturbation()`` its tau and weight are searched too.
    space : dict, tuple of dicts, or None, default=None
        Parameter names, each with a list, a :class:`Uniform` or a function of :class:`Known` that returns
        one; a tuple is searched stage by stage, the first without perturbation loss, the next around its best.
        None is ``estimator.default_ranges()``.
    n_draws : int, default=50
    scoring : {"accuracy", "g_mean"}, str or callable, default="accuracy"
        "g_mean" is the geometric mean of the recalls. Any other name of a scorer of scikit-learn, or a
        function ``(classifier, X, y) -> float``, such as
        :class:`~holdfast.certificates.CertifiedAccuracy` to choose by what is certified (equal ones by
        accuracy). Of equal candidates the one drawn first is chosen.
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

        candidates: list[Candidate] = []
        best: dict[str, Any] = {}
        for number, ranges in enumerate(stages):
            fixed = dict(best)
            if number + 1 < len(stages):
                fixed["perturbation"] = None
            elif len(stages) > 1:
                fixed.pop("perturbation", None)
            n_draws = self.n_draws if number == 0 else min(self.n_draws, _LATER_DRAWS)
            drawn = draw_candidates(ranges, n_draws, X.shape[1], self.tau_max_, rng)
            stage = [Candidate({**fixed, **parameters}) for parameters in drawn]
            self._run(learner, stage, folds)
            candidates += stage
            best = max(stage, key=lambda c: c.rank_key).parameters
        self._store(candidates, best)
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
        stages = self.estimator.default_ranges() if self.space is None else self.space
        return (stages,) if isinstance(stages, Mapping) else tuple(stages)

    def _splits(self, X, y, rng) -> list[tuple[np.ndarray, np.ndarray]]:
        cv = self.cv
        if isinstance(cv, (int, np.integer)):
            cv = StratifiedKFold(int(cv), shuffle=True, random_state=rng.randint(2**31 - 1))
        return list(check_cv(cv, y, classifier=True).split(X, y))

    def _run(self, learner: MetricLearner, candidates: list[Candidate], folds: list[CVFold]) -> None:
        """Score every candidate on every fold; with ``halving``, after short fits that sort some out."""
        alive = candidates
        for max_iter in _SHORT if self.halving and _can_be_stopped(learner) else ():
            if len(alive) < 4:
                break
            self._score(learner, alive, folds, max_iter)
            alive = sorted(alive, key=lambda c: c.rank_key, reverse=True)[: -(-len(alive) // 2)]
        self._score(learner, alive, folds, None)

    def _score(
        self, learner: MetricLearner, candidates: list[Candidate], folds: list[CVFold], max_iter: int | None
    ) -> None:
        """Fit and score candidates on all folds, from where their last fits ended."""
        # A fold is large and a candidate small, so each task is a batch of candidates on one fold.
        size = max(1, min(10, -(-len(candidates) * len(folds) // (4 * joblib.effective_n_jobs(self.n_jobs)))))
        tasks = [
            (candidates[start : start + size], f)
            for start in range(0, len(candidates), size)
            for f in range(len(folds))
        ]
        starts = {c: [result.warm_start for result in c.results] or [{}] * len(folds) for c in candidates}
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
        for c in candidates:
            c.results, c.max_iter = [], max_iter
        done = 0
        parallel = joblib.Parallel(self.n_jobs, prefer="processes", return_as="generator")
        for (batch, f), results in zip(tasks, parallel(calls), strict=True):
            for c, result in zip(batch, results, strict=True):
                c.results.append(result)
            done += len(batch)
            if self.progress is not None:
                self.progress(done, len(candidates) * len(folds))
            if self.verbose and f == len(folds) - 1:
                leader = max(c.mean for c in candidates if len(c.results) == len(folds))
                print(f"[search] {done} of {len(candidates) * len(folds)} fits, best score {leader:.4f}")

    def _store(self, candidates: list[Candidate], best: dict[str, Any]) -> None:
        """Set the attributes that describe the search."""
        order = sorted(range(len(candidates)), key=lambda k: candidates[k].rank_key, reverse=True)
        self.best_params_ = best
        self.best_index_ = next(k for k in order if candidates[k].parameters == best)
        self.best_score_ = candidates[self.best_index_].mean
        self.cv_results_ = results_table(candidates)

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
