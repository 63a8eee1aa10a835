"""Successive halving: many candidates on few rows and folds, the best of them on more."""

from collections.abc import Sequence
from dataclasses import dataclass

import joblib
import numpy as np

from holdfast.search.families import Recipe
from holdfast.search.trial import Trial, run_trials
from holdfast.search.verdict import Verdict

Split = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Rung:
    """How much a candidate is tried.

    Attributes
    ----------
    n_rows : int
        Training rows of a fold, at most; half as many test rows.
    n_folds : int or None
        The first so many folds; None is all.
    """

    n_rows: int
    n_folds: int | None = None


# Two folds of 1,000 rows tell good from bad; the search ends on folds of 4,000 rows: from there on what certifies best
# changes little, and the time much.
RUNGS = (Rung(1000, 2), Rung(4000))
_RECIPES, _HEADS = 4, 8  # of recipes a quarter goes on, with this many of their best heads each


class Table:
    """Verdicts of all candidates (recipe, head), fold by fold, at the rung each got to.

    Attributes
    ----------
    recipes : list of Recipe
    rung : dict
        Of (recipe, head), by their numbers: the last rung it was tried on.
    verdicts : dict
        Of (recipe, head): one for each fold of that rung.
    seconds : dict
        Of a recipe: of its fits on that rung.
    """

    def __init__(self, recipes: list[Recipe]):
        self.recipes = recipes
        self.rung: dict[tuple[int, int], int] = {}
        self.verdicts: dict[tuple[int, int], list[Verdict]] = {}
        self.seconds: dict[int, list[float]] = {}

    def value(self, candidate: tuple[int, int], weight: float) -> float:
        """``weight · certified + (1 − weight) · accuracy``, the mean over folds."""
        found = np.mean(self.verdicts[candidate], axis=0)
        return round(float(weight * found[0] + (1.0 - weight) * found[1]), 12)

    def accuracy(self, candidate: tuple[int, int]) -> float:
        """The mean accuracy over folds."""
        return round(float(np.mean([v.accuracy for v in self.verdicts[candidate]])), 12)


def climb(
    recipes: list[Recipe], X: np.ndarray, y: np.ndarray, splits: Sequence[Split], radius: float, threat, weight: float,
    n_jobs: int | None, report=None,
) -> Table:  # fmt: skip
    """Try all recipes on the first rung, and the best of each on the next."""
    table = Table(recipes)
    trials = {r: list(range(len(recipe.heads))) for r, recipe in enumerate(recipes)}
    before: list[Split] = []
    for number, rung in enumerate(RUNGS):
        now = [thinned(split, rung.n_rows, y) for split in splits[: rung.n_folds]]
        kept = sum(all(np.array_equal(a, b) for a, b in zip(*pair, strict=True)) for pair in zip(before, now))  # noqa: B905
        kept = kept if kept == len(before) else 0  # folds that are the same as on the last rung are not run again
        results = _run(recipes, trials, X, y, now[kept:], radius, threat, n_jobs)
        for f, of_fold in enumerate(results):
            for r, heads in trials.items():
                verdicts, seconds = of_fold[r]
                if f == 0 and kept == 0:
                    table.seconds[r] = []
                table.seconds.setdefault(r, []).append(seconds)
                for h, found in zip(heads, verdicts, strict=True):
                    if f == 0 and kept == 0:
                        table.verdicts[r, h] = []
                    table.verdicts.setdefault((r, h), []).append(found)
                    table.rung[r, h] = number
        for r, heads in trials.items():
            for h in heads:
                table.rung[r, h] = number
        if report is not None:
            report(number, table)
        if number + 1 < len(RUNGS):
            trials = _survivors(table, trials, weight)
            before = now
    return table


def thinned(split: Split, n_rows: int, y: np.ndarray) -> Split:
    """At most so many training rows of a split, and half as many test rows, evenly spread over each class."""
    return _spread(split[0], n_rows, y), _spread(split[1], n_rows // 2, y)


def _spread(rows: np.ndarray, most: int, y: np.ndarray) -> np.ndarray:
    if len(rows) <= most:
        return rows
    by_class = rows[np.argsort(y[rows], kind="stable")]
    return np.sort(by_class[np.linspace(0, len(rows) - 1, most).astype(np.int64)])


def _survivors(table: Table, trials: dict[int, list[int]], weight: float) -> dict[int, list[int]]:
    """The best quarter of the recipes and the best of each family, each with its best heads."""
    best = {r: max(table.value((r, h), weight) for h in heads) for r, heads in trials.items()}
    order = sorted(best, key=lambda r: -best[r])  # of equals the first
    families = {table.recipes[r].family: r for r in reversed(order)}
    go_on = sorted({*order[: max(2, -(-len(order) // _RECIPES))], *families.values()})
    return {r: sorted(sorted(trials[r], key=lambda h: (-table.value((r, h), weight), h))[:_HEADS]) for r in go_on}


def _run(recipes, trials, X, y, splits, radius, threat, n_jobs) -> list[dict]:
    """For each fold and recipe, verdicts and seconds. A task is some recipes of one family on one fold."""
    groups: dict[str, list[int]] = {}
    for r in trials:
        groups.setdefault(recipes[r].family, []).append(r)
    parts = [some[k : k + 8] for some in groups.values() for k in range(0, len(some), 8)]
    tasks = [(f, part) for f in range(len(splits)) for part in parts]
    calls = (
        joblib.delayed(run_trials)([Trial(recipes[r], trials[r]) for r in part], X, y, *splits[f], radius, threat)
        for f, part in tasks
    )
    found: list[dict] = [{} for _ in splits]
    for (f, part), results in zip(tasks, joblib.Parallel(n_jobs, prefer="processes")(calls), strict=True):
        found[f].update(zip(part, results, strict=True))
    return found
