"""Further answers for a row, which differ from those before."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from holdfast.explanations.cells import in_cell
from holdfast.explanations.places import places, walk
from holdfast.explanations.question import ANY, Question
from holdfast.explanations.search import Answers, frozen_too

Solve = Callable[[Question, np.ndarray], Answers]  # (question, indices of rows) -> shortened answers
_TRIED = 4  # places looked at for every answer that is asked for


def in_other_features(question: Question, first: Answers, earlier: list[np.ndarray], solve: Solve) -> Answers:
    """The closest answers that leave the main feature of every earlier answer alone: the one that moved most, in units.

    Bounds are those of the question with these features frozen. A row that had no answer, or is one, stays as it is.
    """
    rows, d = first.rows, first.rows.shape[1]
    unit = np.ones(d) if question.moves.unit is None else question.moves.unit
    used = np.zeros(rows.shape, bool)
    for points in earlier:
        there = np.flatnonzero(np.isfinite(points).all(axis=1))
        way = np.abs(points[there] - rows[there]) / unit
        main = way.argmax(axis=1)
        moved = way[np.arange(len(there)), main] > 0
        used[there[moved], main[moved]] = True
    out = replace(first, lower=first.lower.copy(), points=first.points.copy(), size=first.size.copy())
    patterns, group = np.unique(used, axis=0, return_inverse=True)
    for number, mask in enumerate(patterns):
        at = np.flatnonzero(group.ravel() == number)
        if not mask.any():
            continue
        closest = solve(frozen_too(question, mask), at)
        out.lower[at], out.points[at], out.size[at] = closest.lower, closest.points, closest.size
    return out


def towards_other_points(
    question: Question,
    answers: Answers,
    earlier: list[np.ndarray],
    reference: np.ndarray | None,
    count: int,
    max_features: int,
) -> np.ndarray:
    """The closest answers found whose nearest datum of their class is not that of an earlier answer: (m, d), or NaN."""
    rows, codes = answers.rows, answers.codes
    aims = answers.targets.copy()
    first = earlier[0]
    there = np.flatnonzero((aims == ANY) & np.isfinite(first).all(axis=1))
    if there.size:
        aims[there] = question.voter.predict(first[there])
    at = np.flatnonzero((aims != ANY) & np.isfinite(first).all(axis=1) & (answers.size > 0))
    best, size = np.full(rows.shape, np.nan), np.full(len(rows), np.inf)
    already = (first == rows).all(axis=1)
    best[already] = rows[already]  # the row is the answer, and stays it
    if not at.size:
        return best
    ends = list(places(question, rows[at], aims[at], reference, _TRIED * count))
    taken = [_nearest(ends, points[at]) for points in earlier]

    quick = question.quick()

    def accepts(i, points):
        return quick.accepts(points, rows[at[i]], codes[at[i]], answers.targets[at[i]])

    for end in ends:
        cell = question.moves.enforce(in_cell(question, rows[at], end, aims[at]), rows[at])
        for moved in (cell, walk(accepts, rows[at], end, question.slack == 0)):
            own = _nearest(ends, moved)
            length = question.sizes(moved, rows[at])
            fresh = np.all([own != other for other in taken], axis=0)
            few = (moved != rows[at]).sum(axis=1) <= max_features
            tried = np.flatnonzero((length < size[at]) & fresh & few)
            good = tried[accepts(tried, moved[tried])] if tried.size else tried
            best[at[good]], size[at[good]] = moved[good], length[good]
    return best


def _nearest(ends: list[np.ndarray], points: np.ndarray) -> np.ndarray:
    """The place that each point is nearest to."""
    distance = np.array([((end - points) ** 2).sum(axis=1) for end in ends])
    return np.nan_to_num(distance, nan=np.inf).argmin(axis=0)
