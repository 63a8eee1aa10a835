"""Successive halving: many candidates on few rows and folds, the best of them on more."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

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
        Training rows of a fold, at most; half as many test rows, and at most 1,000.
    n_folds : int or None
        The first so many folds; None is all.
    n_searched : int
        Heads of a recipe whose open rows are searched; only these go on.
    within_family, overall : float
        Share of the recipes that go on to the next rung: of each family, or of all, with the best of each family.
    """

    n_rows: int
    n_folds: int | None = None
    n_searched: int = 3
    within_family: float = 0.0
    overall: float = 0.0


# One fold tells good from bad, two good from better; the search ends on folds of 4,000 rows: from there on what
# certifies best changes little, and the time much.
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
        Of (recipe, head), by their numbers: the last rung it was tried on.
    verdicts : dict
        Of (recipe, head): one for each fold of that rung.
    seconds : dict
        Of a recipe: of its fits on that rung.
    """

    def __init__(self, recipes: list[Recipe], weight: float):
        self.recipes = recipes
        self.weight = weight
        self.rung: dict[tuple[int, int], int] = {}
        self.verdicts: dict[tuple[int, int], list[Verdict]] = {}
        self.seconds: dict[int, list[float]] = {}

    def add(self, recipe: int, heads: list[int], verdicts: list[Verdict], seconds: float) -> None:
        """Add what one fold found."""
        self.seconds.setdefault(recipe, []).append(seconds)
        for head, found in zip(heads, verdicts, strict=True):
            self.verdicts.setdefault((recipe, head), []).append(found)

    def forget(self, trials: dict[int, list[int]]) -> None:
        """Drop the folds of earlier rungs, whose rows were others."""
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
    recipes: list[Recipe], X: np.ndarray, y: np.ndarray, splits: Sequence[Split], asked: Criterion, n_jobs: int | None,
    report,
) -> Table:  # fmt: skip
    """Try all recipes on the first rung, and the best of each on the next."""
    with warnings.catch_warnings():  # here too: where tasks are threads, each would restore the filters of another
        warnings.simplefilter("ignore", UserWarning)
        return _climb(recipes, X, y, splits, asked, n_jobs, report)


def _climb(recipes, X, y, splits, asked: Criterion, n_jobs: int | None, report) -> Table:
    table = Table(recipes, asked.weight)
    trials = {r: list(range(len(recipe.heads))) for r, recipe in enumerate(recipes)}
    before: list[Split] = []
    for number, rung in enumerate(RUNGS):
        now = [thinned(split, rung.n_rows, y) for split in splits[: rung.n_folds]]
        kept = sum(all(np.array_equal(a, b) for a, b in zip(*pair, strict=True)) for pair in zip(before, now))  # noqa: B905
        kept = kept if kept == len(before) else 0  # folds that are the same as on the last rung are not run again
        if not kept:
            table.forget(trials)
        for of_fold in _run(recipes, trials, X, y, now[kept:], asked, rung.n_searched, n_jobs):
            for r, heads in trials.items():
                table.add(r, heads, *of_fold[r])
        table.rung.update({(r, h): number for r, heads in trials.items() for h in heads})
        report(number, table)
        if number + 1 < len(RUNGS):
            trials, before = _survivors(table, trials, rung, RUNGS[number + 1].n_searched), now
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


def _run(recipes, trials, X, y, splits, asked: Criterion, n_searched: int, n_jobs) -> list[dict]:
    """For each fold and recipe, verdicts and seconds. A task is some recipes of one family on one fold."""
    groups: dict[str, list[int]] = {}
    for r in trials:
        groups.setdefault(recipes[r].family, []).append(r)
    parts = [some[k : k + 8] for some in groups.values() for k in range(0, len(some), 8)]
    tasks = [(f, part) for f in range(len(splits)) for part in parts]
    calls = (
        joblib.delayed(run_trials)([Trial(recipes[r], trials[r]) for r in part], X, y, *splits[f], asked, n_searched)
        for f, part in tasks
    )
    found: list[dict] = [{} for _ in splits]
    for (f, part), results in zip(tasks, joblib.Parallel(n_jobs, prefer="processes")(calls), strict=True):
        found[f].update(zip(part, results, strict=True))
    return found
