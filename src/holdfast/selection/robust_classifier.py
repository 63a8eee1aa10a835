"""``RobustClassifierCV``: of several families of models, the one that certifies most."""

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import RepeatedStratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from holdfast.base.collections import refuse_collection
from holdfast.base.inputs import check_count, check_number, plain_labels
from holdfast.certificates.api import DEFAULT_BUDGET, certify
from holdfast.learn import Euclidean
from holdfast.learn.learner import largest_tau
from holdfast.selection.families import FAMILIES, Facts, Family, Given
from holdfast.selection.halving import RUNGS, Criterion, Leaderboard, climb, thinned

_WEIGHTS = {"certified": 1.0, "balanced": 0.5}
# With few rows, one round of folds ranks candidates by chance. Three rounds chose better; more cost more time than they
# gained (benchmarks/frontier).
_FEW_ROWS, _REPEATS = 1000, 3
_TIE = 0.01  # a difference in the objective: a half to a quarter of the standard error of a share of some hundred rows


class RobustClassifierCV(ClassifierMixin, BaseEstimator):
    """``argmax over candidates of w · certified accuracy at radius + (1 − w) · accuracy``, by cross-validation.

    Candidates come from families: linear models; k nearest neighbours under the Euclidean distance and under metrics
    learned with the perturbation loss (LMNN-PL, CAP-PL, SCML-PL), where k and the pruning of the training rows are
    chosen too; nearest prototypes, trained for the radius (margin LVQ) or with their metric (PNCA-PL). Each kind wins
    on some data.

    All candidates are tried on one fold of at most 1,000 training rows; the best half of each family on a second; the
    best third of these, and the best of each family, on all folds of at most 4,000. The winner is fitted to all rows. A
    metric is fitted once a fold and then tried with every k and margin to prune: distances and the fast lower bound are
    shared, and the verdict at the radius (``certify(at=radius)``) is sought for rows that these leave open, for the k
    and margins that promise most. It takes at most 6000 units of work a row, and of ``budget`` the share that the rows
    of the fold are of all: a candidate that could not be certified within the budget on all rows does not win here.

    *Ties.* Candidates within one point (0.01) of the best objective count as equal: folds tell them apart by chance.
    Of these the one with the highest accuracy is chosen, of equal ones again the one with the higher objective, then
    the one whose family comes first (cheaper to fit and to certify), then the one drawn first.

    Rows should be prepared first: standardise, or scale, before the search, in a pipeline. ``radius`` is in the units
    of the rows that ``fit`` is given.

    Parameters
    ----------
    radius : float, default=0.1
        At which predictions should be certified.
    threat : Threat or None, default=None
        How moves are measured and which are possible; None is the L2 norm.
    candidates : sequence of str, Family or classifier, or None, default=None
        Names of families (``holdfast.selection.FAMILIES``), families, or classifiers of your own that
        :func:`holdfast.certify` takes. None is all families.
    n_draws : int, default=8
        Random draws of a family's parameters.
    cv : int, splitter or iterable of (train, test), default=5
        An integer is the number of stratified, shuffled folds (fewer if a class has fewer rows). Of at most 1,000 rows
        the folds are made three times, in different ways: one round of few rows tells candidates apart by chance.
    objective : {"certified", "balanced"} or float, default=0.7
        w: 1, one half, or any number from 0 (accuracy alone) to 1. On development splits 0.7 certified half a point
        less than 1 and was right 1.4 points more often; accuracy also tells candidates apart that certify alike.
    average : {"micro", "macro"}, default="micro"
        As in scikit-learn's scores. "micro": every row counts alike. "macro": certified accuracy and accuracy are means
        over classes, so that a rare class counts as much as a frequent one; linear models are then also tried with
        weights of classes.
    n_jobs : int or None, default=None
        Processes. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds draws and folds.
    budget : int, default=200000
        Work that a row may take when the winner is certified, as for :func:`holdfast.certify`.
    refit : bool, default=True
        Whether the winner is fitted to all rows; else ``best_estimator_`` is not fitted, and nothing can be predicted.
    progress : callable, optional
        Called as ``progress(done, total)`` as the search goes on; each rung counts for 100.
    verbose : int, default=0
        1 prints a line after every rung.

    Attributes
    ----------
    best_params_ : dict
        ``family``, the parameters that were drawn, and those of the vote.
    best_score_ : float
        Its objective; ``best_certified_`` and ``best_accuracy_`` are the two parts. They were maximised over
        candidates, so they flatter: score rows that were not in the search.
    best_index_ : int
    best_estimator_ : classifier
        Fitted to all rows.
    cv_results_ : dict of arrays
        One entry for each candidate, as in scikit-learn, with ``mean_certified``, ``mean_accuracy``, ``family`` and
        ``rung``; a candidate that was sorted out on an earlier rung ranks behind all that were not.
    classes_ : ndarray
    n_splits_ : int
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import RobustClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = RobustClassifierCV(radius=0.2, candidates=["linear", "euclidean"], random_state=0).fit(X[::2], y[::2])
    >>> certificate = clf.certify(X[1::2], y[1::2])
    >>> bool(certificate.certified_accuracy(radii=0.2) > 0.75)
    True
    """

    def __init__(
        self,
        radius: float = 0.1,
        threat=None,
        candidates: Sequence[Any] | None = None,
        n_draws: int = 8,
        cv=5,
        objective: str | float = 0.7,
        average: str = "micro",
        n_jobs: int | None = None,
        random_state=None,
        budget: int = DEFAULT_BUDGET,
        refit: bool = True,
        progress=None,
        verbose: int = 0,
    ):
        self.radius = radius
        self.threat = threat
        self.candidates = candidates
        self.n_draws = n_draws
        self.cv = cv
        self.objective = objective
        self.average = average
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.budget = budget
        self.refit = refit
        self.progress = progress
        self.verbose = verbose

    def fit(self, X, y):
        """Try the candidates, and fit the best to all rows."""
        families, weight = self._check()
        refuse_collection(type(self).__name__, X)
        y = plain_labels(y)
        source = X
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"The target has only one class ({self.classes_[0]!r}): there is nothing to tell apart.")
        rng = check_random_state(self.random_state)
        splits = self._splits(X, y, rng)
        self.n_splits_ = len(splits)
        facts = self._facts(X, y, splits, weight)
        recipes = [recipe for family in families for recipe in family.draws(rng, facts, self.n_draws)]
        criterion = Criterion(weight, float(self.radius), self.threat, self.average == "macro", self.budget)
        table = climb(recipes, X, y, splits, criterion, self.n_jobs, self._report, self._step)
        self._store(table)
        self.best_estimator_ = self.candidate(self.best_index_)
        if self.refit:
            self.best_estimator_.fit(source, y)
        return self

    def candidate(self, index: int):
        """The classifier of a row of ``cv_results_``, not fitted.

        Parameters
        ----------
        index : int
        """
        check_is_fitted(self)
        recipe, head = self._tried[index]
        return recipe.classifier(head)

    def predict(self, X) -> np.ndarray:
        """The predictions of the best classifier."""
        self._check_refitted()
        return self.best_estimator_.predict(X)

    def certify(self, X, y=None, **options):
        """Certify the predictions of rows, under the threat of the search by default; see :func:`holdfast.certify`."""
        self._check_refitted()
        if self.threat is not None and not options.keys() & {"threat", "norm", "lower", "upper", "frozen"}:
            options["threat"] = self.threat
        return certify(self.best_estimator_, X, y, **options)

    # -- the parts of fit ---------------------------------------------------------------------------

    def _check(self) -> tuple[list[Family], float]:
        """Check the parameters; return the families and w."""
        check_number("RobustClassifierCV", "radius", self.radius, above=0)
        check_count("RobustClassifierCV", "n_draws", self.n_draws)
        check_count("RobustClassifierCV", "budget", self.budget, at_least=0)
        wanted = list(FAMILIES) if self.candidates is None else list(self.candidates)
        unknown = [c for c in wanted if c not in FAMILIES] if all(isinstance(c, str) for c in wanted) else []
        unknown += [c for c in wanted if not isinstance(c, (str, Family)) and not hasattr(c, "predict")]
        if unknown or not wanted:
            raise ValueError(
                f"RobustClassifierCV: candidates must be some of {', '.join(FAMILIES)}, families, or classifiers; got "
                f"{self.candidates!r}."
            )
        weight = _WEIGHTS.get(self.objective) if isinstance(self.objective, str) else self.objective
        if not isinstance(weight, Real) or isinstance(weight, bool) or not 0.0 <= weight <= 1.0:
            raise ValueError(
                "RobustClassifierCV: objective must be 'certified', 'balanced' or a number from 0 to 1; got "
                f"{self.objective!r}."
            )
        if self.average not in ("micro", "macro"):
            raise ValueError(f"RobustClassifierCV: average must be 'micro' or 'macro'; got {self.average!r}.")
        families = [FAMILIES[c] if isinstance(c, str) else c if isinstance(c, Family) else Given(c) for c in wanted]
        return families, float(weight)

    def _splits(self, X, y, rng) -> list[tuple[np.ndarray, np.ndarray]]:
        cv = self.cv
        if isinstance(cv, (int, np.integer)):
            smallest = int(np.unique(y, return_counts=True)[1].min())
            cv = RepeatedStratifiedKFold(
                n_splits=max(2, min(int(cv), smallest)),
                n_repeats=_REPEATS if len(y) <= _FEW_ROWS else 1,
                random_state=rng.randint(2**31 - 1),
            )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            return list(check_cv(cv, y, classifier=True).split(X, y))

    def _facts(self, X, y, splits, weight: float) -> Facts:
        rows = thinned(splits[0], RUNGS[0].n_rows, y)[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about classes with few rows
            several = len(np.unique(y[rows])) > 1
            tau_max = largest_tau(Euclidean(), X[rows], y[rows]) if several else self.radius
        norm = 2.0 if self.threat is None or np.ndim(self.threat.norm) else float(self.threat.norm)
        spread = np.sqrt(X.shape[1]) if norm == np.inf else 1.0  # L2 length of (1, …, 1), which has L-infinity length 1
        balanced = self.average == "macro"
        radius = float(self.radius)
        return Facts(len(rows), X.shape[1], radius, radius * spread, tau_max, balanced, norm, weight)

    def _store(self, table: Leaderboard) -> None:
        """Set the attributes that describe the search."""
        candidates = sorted(table.verdicts)
        keys = [(table.rung[c], table.value(c), table.accuracy(c)) for c in candidates]
        best = _best(keys)
        parameters = [
            {"family": table.recipes[r].family, **table.recipes[r].parameters, **_prefixed(table.recipes[r].heads[h])}
            for r, h in candidates
        ]
        shares = np.array([np.mean(table.verdicts[c], axis=0) for c in candidates])
        results: dict[str, Any] = {
            "mean_fit_time": np.array([np.mean(table.seconds[r]) for r, _ in candidates]),
            "family": np.array([p["family"] for p in parameters]),
            "params": parameters,
            "rung": np.array([table.rung[c] for c in candidates]),
            "mean_certified": shares[:, 0],
            "mean_accuracy": shares[:, 1],
            "mean_test_score": np.array([key[1] for key in keys]),
            "rank_test_score": np.array([1 + sum(k[:2] > key[:2] for k in keys) for key in keys], dtype=np.int32),
        }
        for name in dict.fromkeys(name for p in parameters for name in p if name != "family"):
            column = np.ma.masked_all(len(candidates), dtype=object)
            for k, p in enumerate(parameters):
                if name in p:
                    column[k] = p[name]
            results[f"param_{name}"] = column
        self.cv_results_ = results
        self.best_index_, self.best_params_ = best, parameters[best]
        self.best_score_, self.best_accuracy_ = keys[best][1], float(shares[best, 1])
        self.best_certified_ = float(shares[best, 0])
        self._tried = [(table.recipes[r], table.recipes[r].heads[h]) for r, h in candidates]

    def _check_refitted(self) -> None:
        check_is_fitted(self)
        if not self.refit:
            raise ValueError("The search was made with refit=False: fit a clone of best_estimator_ first.")

    def _step(self, number: int, done: int, total: int) -> None:
        """Call ``progress`` after a task of a rung."""
        if self.progress is not None:
            self.progress(100 * number + 100 * done // total, 100 * len(RUNGS))

    def _report(self, number: int, table: Leaderboard) -> None:
        """Call ``progress`` after a rung and, if verbose, print a line about it."""
        if self.progress is not None:
            self.progress(100 * (number + 1), 100 * len(RUNGS))
        if not self.verbose:
            return
        tried = [c for c, rung in table.rung.items() if rung == number]
        highest = max(np.mean(table.verdicts[c], axis=0)[0] for c in tried)
        print(f"[search] rung {number + 1} of {len(RUNGS)}: {len(tried)} candidates, certified up to {highest:.4f}")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_tried")


def _best(keys: list[tuple[int, float, float]]) -> int:
    """The place of the best among (rung, objective, accuracy): on the last rung, by the rule for ties of the class."""
    last = max(rung for rung, *_ in keys)
    enough = max(value for rung, value, _ in keys if rung == last) - _TIE
    equal = [k for k, (rung, value, _) in enumerate(keys) if rung == last and value >= enough]
    return max(equal, key=lambda k: (keys[k][2], keys[k][1], -k))


def _prefixed(head: dict[str, Any]) -> dict[str, Any]:
    """Parameters of the vote, prefixed with ``vote__`` so that they differ from the parameters of every learner."""
    return {f"vote__{name}": value for name, value in head.items()}
