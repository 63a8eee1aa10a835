"""Successive halving: many candidates on few rows and folds, the best of them on more."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import joblib
import numpy as np

from holdfast.search.families import Recipe
from holdfast.search.trial import Trial, run_trials
from holdfast.search.verdict import Criterion, Verdict

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


class Table:
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
        self.verdicts: dict[tuple[int, int], list[Verdict]] = {}
        self.seconds: dict[int, list[float]] = {}

    def add(self, recipe: int, heads: list[int], verdicts: list[Verdict], seconds: float) -> None:
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
) -> Table:  # fmt: skip
    """Try all recipes on the first rung, and the best of each on the next.

    ``report(number, table)`` is called after a rung, ``step(number, done, total)`` after each of its tasks.
    """
    with warnings.catch_warnings():  # here too: if tasks run as threads, one would restore the filters of another
        warnings.simplefilter("ignore", UserWarning)
        return _climb(recipes, X, y, splits, criterion, n_jobs, report, step)


def _climb(recipes, X, y, splits, criterion: Criterion, n_jobs: int | None, report, step) -> Table:
    table = Table(recipes, criterion.weight)
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


def _survivors(table: Table, trials: dict[int, list[int]], rung: Rung, n_heads: int) -> dict[int, list[int]]:
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


def _run(recipes, trials, X, y, splits, criterion: Criterion, n_searched: int, n_jobs, tick) -> list[dict]:
    """For each fold, verdicts and seconds by recipe. A task is up to 8 recipes of one family on one fold."""
    groups: dict[str, list[int]] = {}
    for r in trials:
        groups.setdefault(recipes[r].family, []).append(r)
    parts = [family[k : k + 8] for family in groups.values() for k in range(0, len(family), 8)]
    tasks = [(f, part) for f in range(len(splits)) for part in parts]
    calls = (
        joblib.delayed(run_trials)(
            [Trial(recipes[r], trials[r]) for r in part], X, y, *splits[f], criterion, n_searched
        )
        for f, part in tasks
    )
    by_fold: list[dict] = [{} for _ in splits]
    found = joblib.Parallel(n_jobs, prefer="processes", return_as="generator")(calls)
    for done, ((f, part), results) in enumerate(zip(tasks, found, strict=True), start=1):
        by_fold[f].update(zip(part, results, strict=True))
        tick(done, len(tasks))
    return by_fold
