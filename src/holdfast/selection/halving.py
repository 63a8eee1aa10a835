"""Successive halving of candidates by what they certify on folds."""

import math
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import joblib
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from holdfast._core.compiling import ZERO, entry
from holdfast._core.halfspace import dual_length
from holdfast.base.blocks import single_threaded_blas
from holdfast.certificates.api import DEFAULT_BUDGET, certify
from holdfast.certificates.questions import NeighborProblem, winners
from holdfast.certificates.readers import voter_for
from holdfast.certificates.threat import as_threat
from holdfast.certificates.training import Training
from holdfast.learn import TripletLearner
from holdfast.learn.learner import Precomputed
from holdfast.models import CertifiedKNeighborsClassifier
from holdfast.models.pruning import prune
from holdfast.selection.families import Recipe

WORK = 6000  # units of work a row, on as many rows as there are: on the UCI sets they decide all but 1 row in 100


class Score(NamedTuple):
    """Shares of rows: right and certified at the radius, and right."""

    certified: float
    accuracy: float


class Criterion(NamedTuple):
    """The criterion by which a search ranks candidates.

    Attributes
    ----------
    weight : float
        w of ``w · certified + (1 − w) · accuracy``.
    radius : float
        Predictions are to be certified at it.
    threat : Threat or None
    balanced : bool
        Whether every class counts alike, instead of every row.
    budget : int
        The work that a row of the winner, fitted to all rows, may take.
    """

    weight: float
    radius: float
    threat: Any = None
    balanced: bool = False
    budget: int = DEFAULT_BUDGET

    def of_share(self, share: float) -> "Criterion":
        """The criterion for candidates fitted to a share of the rows.

        A search takes work in proportion to the rows. So a candidate whose certificates cannot be afforded on all rows
        is not certified on few of them.
        """
        return self._replace(budget=int(self.budget * share))

    def about(self, X: np.ndarray, y: np.ndarray) -> "ScoredRows":
        """These rows, to be scored by this criterion."""
        return ScoredRows(X, y, row_weights(y, self.balanced), self)


class ScoredRows(NamedTuple):
    """Rows on which candidates are scored.

    Attributes
    ----------
    X, y : ndarrays
        Rows and their labels.
    weights : ndarray of shape (n_rows,)
        How much each row counts in a share; they sum to 1.
    objective : Criterion
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    objective: Criterion

    def shares(self, certified: np.ndarray, right: np.ndarray) -> Score:
        """The shares of rows that are right and certified (two masks), and right."""
        return Score(float(self.weights[certified & right].sum()), float(self.weights[right].sum()))


def row_weights(y: np.ndarray, balanced: bool) -> np.ndarray:
    """Weights that sum to 1: equal for all rows or, if ``balanced``, with equal sums for all classes."""
    if not balanced:
        return np.full(len(y), 1.0 / len(y))
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    return 1.0 / (len(counts) * counts[codes])


def verdict(classifier, scored: ScoredRows) -> Score:
    """Certified accuracy at the radius and accuracy of a fitted classifier; only rows it gets right are certified."""
    right = classifier.predict(scored.X) == scored.y
    return scored.shares(stable_rows(classifier, scored, right), right)


def stable_rows(classifier, scored: ScoredRows, rows: np.ndarray) -> np.ndarray:
    """Mask of those among ``rows``, itself a mask, whose prediction is proven not to change at the radius."""
    out = np.zeros(len(rows), dtype=bool)
    if rows.any():
        criterion = scored.objective
        certificate = certify(
            classifier,
            scored.X[rows],
            threat=criterion.threat,
            at=criterion.radius,
            budget=min(WORK, criterion.budget),
            witness=False,
            n_jobs=1,
        )
        out[rows] = np.equal(certificate.stable, True)
    return out


@entry
def count_rivals(D, order, slopes, codes, truth, kept, reach, lipschitz, norm_code, targets, near, counts):
    """Count at each query the voters, and the rivals that a move of a given size can bring among the nearest.

    Rows ``i`` are queries, ``p`` sets of reference rows that are kept, ``l`` reference rows of another class than the
    true one. ``n_l`` is the number of targets j that l cannot come nearer than: ``D_l − D_j > 2 r ‖v_l − v_j‖*``.

    Parameters
    ----------
    D, order : ndarrays of shape (m, n)
        Squared distances, and reference rows by them, nearest first.
    slopes : ndarray of shape (n, s)
        ``v``.
    codes, truth : int ndarrays of shapes (n,) and (m,)
        Class codes of the reference rows, true ones of the queries.
    kept : bool ndarray of shape (n_sets, n)
    reach : float
        ``2 r``.
    lipschitz : float
        t with ``‖v_l − v_j‖* ≤ t ‖u_l − u_j‖₂``.
    norm_code : int
        Which dual length.
    targets : int ndarray of shape (n_targets,)
        Work space; as many of the nearest targets are looked at.
    near : int ndarray of shape (m, n_sets, k)
        Out: class codes of the k nearest kept rows; −1 where there are fewer.
    counts : int ndarray of shape (m, n_sets, n_classes, Q + 1)
        Out, zero before: how many ``l`` of a class have ``n_l = q``.
    """
    m, n = D.shape
    Q = counts.shape[3] - 1
    for i in range(m):
        for p in range(kept.shape[0]):
            n_targets, n_near = ZERO, ZERO
            for position in range(n):
                j = order[i, position]
                if not kept[p, j]:
                    continue
                if n_near < near.shape[2]:
                    near[i, p, n_near] = codes[j]
                    n_near += 1
                if codes[j] == truth[i] and n_targets < targets.shape[0]:
                    targets[n_targets] = j
                    n_targets += 1
            # A rival beyond this distance cannot come nearer than any of the first Q + 1 targets (l − j of lengths).
            farthest = np.inf
            if n_targets > Q:
                farthest = np.sqrt(D[i, targets[Q]]) + reach * lipschitz
            for position in range(n):
                l = order[i, position]
                if not kept[p, l] or codes[l] == truth[i]:
                    continue
                if np.sqrt(D[i, l]) > farthest:
                    break
                unbeaten = ZERO
                for t in range(n_targets):
                    j = targets[t]
                    gap = D[i, l] - D[i, j]
                    if gap <= 0.0:  # nor any farther target
                        break
                    if gap > reach * dual_length(slopes, l, j, norm_code):
                        unbeaten += 1
                        if unbeaten > Q:
                            break
                if unbeaten <= Q:
                    counts[i, p, codes[l], unbeaten] += 1


def surely_kept(counts: np.ndarray, k: int) -> np.ndarray:
    """True where no move of the size changes a vote of k for the true class, by Lemma B1: bool of shape (m, n_sets).

    A change needs a q with at least ``k − q`` rivals that have ``n_l ≤ q``, and ``b_q`` or more of them in one class.
    """
    q = np.arange(k // 2 + 1)
    rivals = max(1, counts.shape[2] - 1)
    at_most = counts.cumsum(axis=3)[..., : k // 2 + 1]
    of_one = np.maximum(np.maximum(q, -(-(k - q) // rivals)), 1)
    lost = (at_most.sum(axis=2) >= k - q) & (at_most.max(axis=2) >= of_one)
    return ~lost.any(axis=2)


_NO_VOTE = Score(0.0, 0.0)
_PROMISE = 0.4  # about this share of the rows that are right, and that the bound leaves open, turns out to be certified
_BLOCK = 4_000_000  # squared distances computed at once: 32 MB


def neighbor_verdicts(
    learner, X: np.ndarray, y: np.ndarray, heads: Sequence[dict[str, Any]], scored: ScoredRows, n_searched: int
) -> list[Score]:
    """The verdict on each head under a fitted metric; a head that cannot be fitted scores 0.

    Distances, votes and the fast lower bound are found once for all heads. Rows that are right, and that the bound
    leaves open, are searched, but only for the ``n_searched`` heads with the highest estimated objective; for the
    other heads the bound alone gives the certified share.

    Parameters
    ----------
    learner : fitted metric learner
    X, y : ndarrays
        Training rows and labels.
    heads : sequence of dict
        ``n_neighbors`` and ``prune``.
    scored : ScoredRows
    n_searched : int
    """
    codes = np.unique(y, return_inverse=True)[1]
    margins = sorted({head["prune"] for head in heads})
    kept = {margin: _kept(X, codes, learner.components_, margin) for margin in margins}
    fits = [len(kept[head["prune"]]) >= head["n_neighbors"] for head in heads]
    problem = _problem(CertifiedKNeighborsClassifier(learner, 1, n_jobs=1).fit(X, y), scored)

    def classifier(head) -> CertifiedKNeighborsClassifier:
        rows = kept[head["prune"]]
        return CertifiedKNeighborsClassifier(learner, head["n_neighbors"], n_jobs=1).fit(X[rows], y[rows])

    if problem is None:  # moves whose halfspaces are cut by a box: no bound here serves all heads
        return [verdict(classifier(head), scored) if fit else _NO_VOTE for head, fit in zip(heads, fits, strict=True)]
    masks = np.zeros((len(margins), len(X)), dtype=bool)
    for mask, margin in zip(masks, margins, strict=True):
        mask[kept[margin]] = True
    votes = _votes(problem, masks, [head["n_neighbors"] for head in heads], learner.components_, np.unique(y), scored)
    verdicts: list[Score] = []
    masks_of_heads = []
    for head, fit in zip(heads, fits, strict=True):
        p, k = margins.index(head["prune"]), head["n_neighbors"]
        right, sure = (votes[k][0][:, p], votes[k][1][:, p]) if fit else (np.zeros(len(scored.y), bool),) * 2
        masks_of_heads.append((right, sure))
        verdicts.append(scored.shares(sure, right))
    share = scored.objective.weight * (1.0 - _PROMISE)  # of the objective that the bound decides
    promise = [share * v.certified + (1.0 - share) * v.accuracy for v in verdicts]
    for h in sorted(range(len(heads)), key=lambda h: (-promise[h], h))[:n_searched]:
        right, sure = masks_of_heads[h]
        if fits[h]:
            verdicts[h] = scored.shares(sure | stable_rows(classifier(heads[h]), scored, right & ~sure), right)
    return verdicts


def _kept(X: np.ndarray, codes: np.ndarray, L: np.ndarray, margin: float) -> np.ndarray:
    """The rows that remain after pruning by a margin; none if too many rows are in conflict."""
    try:
        return prune(X, codes, L, margin)
    except ValueError:
        return np.zeros(0, dtype=np.int64)


def _problem(classifier, scored: ScoredRows) -> NeighborProblem | None:
    """The vote of all training rows, for the moves of the threat; None unless these are all moves of some features."""
    voter = voter_for(classifier)
    moves = as_threat(scored.objective.threat).bind(voter.columns, Training.of(voter), voter.classes)
    limited = moves.confined or moves.relations is not None or moves.integer is not None
    if limited or moves.categories is not None or moves.attacked is not None:
        return None
    problem = voter.chain.question(voter.problem, moves)
    assert isinstance(problem, NeighborProblem)
    return problem


def _votes(
    problem: NeighborProblem, kept: np.ndarray, neighbors, L: np.ndarray, classes: np.ndarray, scored: ScoredRows
):
    """For each number of voters, two masks of shape (m, n_sets): right; and right, with no move that changes it."""
    largest, C = max(neighbors), problem.n_classes
    truth = np.searchsorted(classes, scored.y)
    truth[classes[np.minimum(truth, C - 1)] != scored.y] = -1  # a class that no training row has
    queries, m, n = scored.X @ L.T, len(scored.y), len(problem.points)
    out: dict[int, tuple[list, list]] = {k: ([], []) for k in neighbors}
    step = max(1, _BLOCK // n)
    for start in range(0, m, step):
        part = slice(start, min(start + step, m))
        D = cdist(queries[part], problem.points, "sqeuclidean")
        near = np.full((len(D), len(kept), largest), -1, dtype=np.int64)
        counts = np.zeros((len(D), len(kept), C, largest // 2 + 1), dtype=np.int64)
        count_rivals(
            D, np.argsort(D, axis=1, kind="stable"), problem.slopes, problem.labels, truth[part], kept,
            2.0 * scored.objective.radius, problem.coordinates.lipschitz, problem.moves.norm.code,
            np.empty(max(128, largest + 2), dtype=np.int64), near, counts,
        )  # fmt: skip
        for k, (right, sure) in out.items():
            voted = near[:, :, :k].reshape(-1, k)
            answers = winners(np.maximum(voted, 0), C).reshape(len(D), -1)
            right.append((answers == truth[part, None]) & (near[:, :, k - 1] >= 0))
            sure.append(right[-1] & surely_kept(counts, k))
    return {k: (np.concatenate(right), np.concatenate(sure)) for k, (right, sure) in out.items()}


_WORST = Score(0.0, 0.0)


class Trial(NamedTuple):
    """A recipe with some of its heads, by number."""

    recipe: Recipe
    heads: list[int]


def run_trials(
    trials: list[Trial],
    X: np.ndarray,
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    criterion: Criterion,
    n_searched: int,
    ended: Callable[[], None] = lambda: None,
) -> list[tuple[list[Score], float]]:
    """For each trial the verdicts on its heads and the seconds of the fit; one that cannot be fitted scores 0.

    Parameters
    ----------
    trials : list of Trial
    X, y : ndarrays
        All rows and labels.
    train, test : int ndarrays
        The fold.
    criterion : Criterion
    n_searched : int
        As for :func:`~holdfast.selection.halving.neighbor_verdicts`.
    ended : callable
        Called after each trial.
    """
    scored = criterion.of_share(len(train) / len(y)).about(X[test], y[test])
    X, y = np.ascontiguousarray(X[train]), y[train]
    precomputed: dict[tuple, Precomputed] = {}  # triplets and bases, shared by trials with the same number of targets
    results = []
    with warnings.catch_warnings(), single_threaded_blas():  # once, in place of once for each fit and certificate
        warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit warns
        warnings.simplefilter("ignore", UserWarning)  # about small and pruned classes: likewise
        for trial in trials:
            began = time.perf_counter()
            fitted = clone(trial.recipe.estimator)
            try:
                _fit(fitted, X, y, precomputed)
            except ValueError:  # such as a single class in the training part of a fold
                results.append(([_WORST] * len(trial.heads), time.perf_counter() - began))
                ended()
                continue
            seconds = time.perf_counter() - began
            results.append((_verdicts(trial, fitted, X, y, scored, n_searched), seconds))
            ended()
    return results


def _fit(estimator, X: np.ndarray, y: np.ndarray, precomputed: dict[tuple, Precomputed]) -> None:
    """Fit; a learner from triplets uses the triplets and bases in ``precomputed``, which are made on first use."""
    if not isinstance(estimator, TripletLearner):
        estimator.fit(X, y)
        return
    key = (type(estimator), estimator.n_neighbors, estimator.n_impostors)
    if key not in precomputed:
        precomputed[key] = estimator.precompute(X, y)
    precomputed[key].fit(estimator, X, y)


def _verdicts(trial: Trial, fitted, X: np.ndarray, y: np.ndarray, scored: ScoredRows, n_searched) -> list[Score]:
    """The verdict on each head of a fitted recipe."""
    heads = [trial.recipe.heads[h] for h in trial.heads]
    if trial.recipe.votes_by_neighbors:
        return neighbor_verdicts(fitted, X, y, heads, scored, n_searched)
    verdicts = []
    for head in heads:
        classifier = trial.recipe.classifier(head, fitted, n_jobs=1)
        verdicts.append(verdict(classifier if classifier is fitted else classifier.fit(X, y), scored))
    return verdicts


Split = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Rung:
    """The rows and folds that a candidate is tried on, and the share that goes on.

    Attributes
    ----------
    n_rows : int
        At most this many training rows of a fold, and half as many test rows, of which 1,000 are the most.
    n_folds : int or None
        The number of folds, the first ones; None is all.
    n_searched : int
        The number of heads of a recipe for which rows that the bound leaves open are searched; only these go on.
    within_family, overall : float
        The share of the recipes that goes on to the next rung: of each family, and of all. The best recipe of each
        family always goes on.
    """

    n_rows: int
    n_folds: int | None = None
    n_searched: int = 3
    within_family: float = 0.0
    overall: float = 0.0


# One fold separates good candidates from bad ones, two the better from the good. The last rung has 4,000 rows: with
# more rows the ranking changes little, and the time grows.
RUNGS = (Rung(1000, 1, 6, within_family=0.5), Rung(1000, 2, 4, overall=1 / 3), Rung(4000))
_MOST_TEST_ROWS = 1000  # of a fold


class Leaderboard:
    """Verdicts of all candidates (recipe, head), fold by fold, at the rung each got to.

    Attributes
    ----------
    recipes : list of Recipe
    weight : float
        w of the objective.
    rung : dict
        (recipe, head), by their numbers: the last rung on which it was tried.
    verdicts : dict
        (recipe, head): one verdict for each fold of that rung.
    seconds : dict
        recipe: the time of its fit on each fold of that rung.
    """

    def __init__(self, recipes: list[Recipe], weight: float):
        self.recipes = recipes
        self.weight = weight
        self.rung: dict[tuple[int, int], int] = {}
        self.verdicts: dict[tuple[int, int], list[Score]] = {}
        self.seconds: dict[int, list[float]] = {}

    def add(self, recipe: int, heads: list[int], verdicts: list[Score], seconds: float) -> None:
        """Add the verdicts on the heads of a recipe on one fold, and the time of its fit."""
        self.seconds.setdefault(recipe, []).append(seconds)
        for head, verdict in zip(heads, verdicts, strict=True):
            self.verdicts.setdefault((recipe, head), []).append(verdict)

    def forget(self, trials: dict[int, list[int]]) -> None:
        """Drop the verdicts on folds of earlier rungs, which had other rows."""
        for recipe, heads in trials.items():
            self.seconds.pop(recipe, None)
            for head in heads:
                self.verdicts.pop((recipe, head), None)

    def value(self, candidate: tuple[int, int]) -> float:
        """``weight · certified + (1 − weight) · accuracy``, the mean over folds."""
        certified, accuracy = np.mean(self.verdicts[candidate], axis=0)
        return round(float(self.weight * certified + (1.0 - self.weight) * accuracy), 12)

    def accuracy(self, candidate: tuple[int, int]) -> float:
        """The mean accuracy over folds."""
        return round(float(np.mean([v.accuracy for v in self.verdicts[candidate]])), 12)


def climb(
    recipes: list[Recipe], X: np.ndarray, y: np.ndarray, splits: Sequence[Split], criterion: Criterion,
    n_jobs: int | None, report, step=lambda number, done, total: None,
) -> Leaderboard:  # fmt: skip
    """Try all recipes on the first rung, and the best of each on the next.

    ``report(number, table)`` is called after a rung, ``step(number, done, total)`` after its trials, if need be from
    other threads, though never from two at once.
    """
    with warnings.catch_warnings():  # here too: if tasks run as threads, one would restore the filters of another
        warnings.simplefilter("ignore", UserWarning)
        return _climb(recipes, X, y, splits, criterion, n_jobs, report, step)


def _climb(recipes, X, y, splits, criterion: Criterion, n_jobs: int | None, report, step) -> Leaderboard:
    table = Leaderboard(recipes, criterion.weight)
    trials = {r: list(range(len(recipe.heads))) for r, recipe in enumerate(recipes)}
    previous: list[Split] = []  # the folds of the last rung
    for number, rung in enumerate(RUNGS):
        folds = [thinned(split, rung.n_rows, y) for split in splits[: rung.n_folds]]
        # Folds that have the same rows as on the last rung are not run again.
        pairs = zip(previous, folds, strict=False)
        n_same = sum(all(np.array_equal(a, b) for a, b in zip(*pair, strict=True)) for pair in pairs)
        n_done = n_same if n_same == len(previous) else 0
        if not n_done:
            table.forget(trials)
        tick = partial(step, number)
        for results in _run(recipes, trials, X, y, folds[n_done:], criterion, rung.n_searched, n_jobs, tick):
            for r, heads in trials.items():
                table.add(r, heads, *results[r])
        table.rung.update({(r, h): number for r, heads in trials.items() for h in heads})
        report(number, table)
        if number + 1 < len(RUNGS):
            trials, previous = _survivors(table, trials, rung, RUNGS[number + 1].n_searched), folds
    return table


def thinned(split: Split, n_rows: int, y: np.ndarray) -> Split:
    """At most so many training rows of a split, and half as many test rows, evenly spread over each class."""
    return _spread(split[0], n_rows, y), _spread(split[1], min(n_rows // 2, _MOST_TEST_ROWS), y)


def _spread(rows: np.ndarray, most: int, y: np.ndarray) -> np.ndarray:
    if len(rows) <= most:
        return rows
    by_class = rows[np.argsort(y[rows], kind="stable")]
    return np.sort(by_class[np.linspace(0, len(rows) - 1, most).astype(np.int64)])


def _survivors(table: Leaderboard, trials: dict[int, list[int]], rung: Rung, n_heads: int) -> dict[int, list[int]]:
    """The recipes that go on, each with its best heads."""
    best = {r: max(table.value((r, h)) for h in heads) for r, heads in trials.items()}
    order = sorted(best, key=lambda r: -best[r])  # of equals the first
    families: dict[str, list[int]] = {}
    for r in order:
        families.setdefault(table.recipes[r].family, []).append(r)
    go_on = set(order[: round(rung.overall * len(order))])
    for ranked in families.values():
        go_on.update(ranked[: max(1, math.ceil(rung.within_family * len(ranked)))])
    return {r: sorted(sorted(trials[r], key=lambda h: (-table.value((r, h)), h))[:n_heads]) for r in sorted(go_on)}


class _Ended:
    """Counts the trials that have ended: one by one those of tasks that share our memory.

    A copy in another process counts nothing; its task counts when it is back.
    """

    def __init__(self, sizes: list[int], tick: Callable[[int, int], None]):
        self._left, self._total = list(sizes), sum(sizes)
        self._tick: Callable[[int, int], None] | None = tick
        self._lock = threading.Lock()

    def __getstate__(self) -> dict:
        return {"_tick": None}

    def one(self, task: int) -> None:
        """A trial of a task has ended."""
        if self._tick is not None:
            self._take(task, 1)

    def all(self, task: int) -> None:
        """All trials of a task have ended."""
        self._take(task, self._left[task])

    def _take(self, task: int, count: int) -> None:
        with self._lock:
            self._left[task] -= count
            if count and self._tick is not None:
                self._tick(self._total - sum(self._left), self._total)


def _run(recipes, trials, X, y, splits, criterion: Criterion, n_searched: int, n_jobs, tick) -> list[dict]:
    """For each fold, verdicts and seconds by recipe. A task is up to 8 recipes of one family on one fold."""
    groups: dict[str, list[int]] = {}
    for r in trials:
        groups.setdefault(recipes[r].family, []).append(r)
    parts = [family[k : k + 8] for family in groups.values() for k in range(0, len(family), 8)]
    tasks = [(f, part) for f in range(len(splits)) for part in parts]
    ended = _Ended([len(part) for _, part in tasks], tick)
    calls = (
        joblib.delayed(run_trials)(
            [Trial(recipes[r], trials[r]) for r in part], X, y, *splits[f], criterion, n_searched,
            partial(ended.one, task),
        )
        for task, (f, part) in enumerate(tasks)
    )  # fmt: skip
    by_fold: list[dict] = [{} for _ in splits]
    found = joblib.Parallel(n_jobs, prefer="processes", return_as="generator")(calls)
    for task, ((f, part), results) in enumerate(zip(tasks, found, strict=True)):
        by_fold[f].update(zip(part, results, strict=True))
        ended.all(task)
    return by_fold
