"""Counterfactuals that change few features, or categories, and several different ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np

from holdfast.certificates.discrete import possible_places
from holdfast.certificates.moves import Categories
from holdfast.explanations.question import ANY, Question, in_cell
from holdfast.explanations.search import Answers, find, frozen_too, places, walk

_SUBSETS = 2000  # sets of features that are gone through one by one; beyond, features are dropped step by step
_SOLVED = 60  # sets that are solved for a row; the others have their bounds

Search = Callable[[Question, np.ndarray], Answers]  # (question, indices of rows) -> answers


def find_sparse(
    question: Question, rows: np.ndarray, codes: np.ndarray, targets: np.ndarray, reference, max_features: int
) -> Answers:
    """The closest answers that change at most ``max_features`` features.

    Where there are at most 2000 sets of that many features, each is bounded by a certificate in which all others are
    frozen, and they are solved in the order of their bounds until the next bound is above the best answer: what is
    found is the closest. Otherwise features are dropped by halves, those that move least first, and the bound is that
    of all features together.
    """
    free = question.moves.free(rows.shape[1])
    if max_features >= free.size:
        return find(question, rows, codes, targets, reference)

    def search(asked: Question, at: np.ndarray) -> Answers:
        return find(asked, rows[at], codes[at], targets[at], reference)

    out = Answers.none(question, rows, codes, targets)
    if comb(free.size, max_features) <= _SUBSETS:
        _all_subsets(out, list(combinations(free, max_features)), search)
    else:
        _by_elimination(out, free, max_features, search)
    out.lower = np.minimum(out.lower, out.size)
    return out


def _all_subsets(out: Answers, subsets: Sequence[tuple], search: Search) -> None:
    """Every set, by growing bound."""
    question, m = out.question, len(out.rows)
    questions = [frozen_too(question, _all_but(subset, out.rows.shape[1])) for subset in subsets]
    fast = replace(question.effort, fast=True, witness=False)
    # An answer is a change, so the certificate bounds it; a set of features is a smaller set of moves.
    bounds = np.array([each.bounds(out.rows, effort=fast).radius for each in questions])
    bounds[:, out.targets == out.codes] = 0.0
    order = np.argsort(bounds, axis=0, kind="stable")
    for turn in range(min(len(subsets), _SOLVED)):
        pick = order[turn]
        left = np.flatnonzero(bounds[pick, np.arange(m)] < out.size)
        for subset in np.unique(pick[left]):
            at = left[pick[left] == subset]
            answers = search(questions[subset], at)
            bounds[subset, at] = np.maximum(bounds[subset, at], answers.lower)
            out.offer(at, answers.points)
        if not left.size:
            break
    out.lower = bounds.min(axis=0)


def _by_elimination(out: Answers, free: np.ndarray, max_features: int, search: Search) -> None:
    """Solve, keep the half that moves most, and solve again, until few enough are left."""
    d = out.rows.shape[1]
    everyone = np.arange(len(out.rows))
    answers = search(out.question, everyone)
    out.lower = answers.lower
    unit = np.ones(d) if out.question.moves.unit is None else out.question.moves.unit
    kept = {tuple(free): everyone}
    points = answers.points
    while kept:
        smaller: dict[tuple, list[int]] = {}
        for features, at in kept.items():
            count = max(max_features, len(features) // 2)
            for t in at:
                if np.isfinite(points[t]).all():
                    way = np.abs(points[t] - out.rows[t])[list(features)] / unit[list(features)]
                    largest = np.argsort(-way, kind="stable")[:count]
                    smaller.setdefault(tuple(np.array(features)[np.sort(largest)]), []).append(int(t))
        kept = {}
        for features, some in smaller.items():
            at = np.array(some)
            part = search(frozen_too(out.question, _all_but(features, d)), at)
            points[at] = part.points
            if len(features) > max_features:
                kept[features] = at
            else:
                out.offer(at, part.points)


def _all_but(features: Sequence, d: int) -> np.ndarray:
    mask = np.ones(d, bool)
    mask[list(features)] = False
    return mask


_PLACES = 8_192  # places at once, as in certify
_VARIANTS_SOLVED = 60  # places that are solved for a row; the others have their bounds


def find_recoded(
    question: Question, rows: np.ndarray, codes: np.ndarray, targets: np.ndarray, reference, max_features: int
) -> Answers:
    """The closest answers over all choices of categories that the threat allows.

    A change of categories takes x to one of finitely many *places* x', at no cost, and the numbers move from there: the
    least over all places is the closest (Lemma V1). Places that are answers themselves come first, those with the
    fewest changes before others; the rest are solved in the order of their bounds, until the next bound is above the
    best answer. A category that changes is one of the ``max_features``.
    """
    categories = question.moves.categories
    if categories is None:
        return find_sparse(question, rows, codes, targets, reference, max_features)
    out = Answers.none(question, rows, codes, targets)
    out.lower[:] = np.inf
    for part, owner, changed in categories.blocks(rows, _PLACES):
        unanswered = np.arange(part.start, part.stop)
        unanswered = unanswered[out.size[unanswered] > 0]
        possible = possible_places(question.moves, categories.columns, rows[part][owner], changed)
        owner, changed = owner[possible] + part.start, changed[possible]
        owner, changed = np.concatenate([unanswered, owner]), np.vstack([rows[unanswered], changed])
        _over_places(out, _places(out, owner, changed, categories, max_features), reference)
    out.lower = np.minimum(out.lower, out.size)
    return out


@dataclass
class _Places:
    """Rows that rows can become: whose they are, their answers, what is asked of them, how many features may change.

    ``reached``: any other class is asked for, and the place has one. It is the only one looked for from there, and so
    a bound on its answers is none on those of a third class (Lemma K3).
    """

    owner: np.ndarray
    rows: np.ndarray
    codes: np.ndarray
    targets: np.ndarray
    left: np.ndarray
    reached: np.ndarray

    def at(self, chosen: np.ndarray) -> "_Places":
        return replace(self, **{name: value[chosen] for name, value in vars(self).items()})


def _places(out: Answers, owner: np.ndarray, rows: np.ndarray, categories: Categories, max_features: int) -> _Places:
    """The places that are allowed and wanted."""
    barred = out.question.barred
    spent = np.zeros(len(rows), np.int64)
    allowed = out.size[owner] > 0
    for group in categories.groups:
        changed = (rows[:, group.columns] != out.rows[owner][:, group.columns]).any(axis=1)
        spent += changed
        if barred is not None and barred[group.columns].any():
            allowed &= ~changed
    allowed &= spent <= max_features
    owner, rows, spent = owner[allowed], rows[allowed], spent[allowed]
    codes = out.question.voter.predict(rows) if len(rows) else np.empty(0, np.int64)
    wanted, before = out.targets[owner], out.codes[owner]
    reached = (wanted == ANY) & (codes != before)
    targets = np.where(reached, codes, wanted)
    order = np.argsort(spent, kind="stable")
    return _Places(owner, rows, codes, targets, max_features - spent, reached).at(order)


def _over_places(out: Answers, places: _Places, reference) -> None:
    """Take the least over some places of all rows."""
    question = out.question
    if not len(places.owner):
        return
    at_once = places.targets == places.codes
    at_once[at_once] = question.accepts(*(getattr(places.at(at_once), name) for name in _ASKED))
    for i in np.flatnonzero(at_once)[::-1]:  # the fewest changes are written last
        t = places.owner[i]
        out.points[t], out.size[t], out.lower[t] = places.rows[i], 0.0, 0.0
    places = places.at(out.size[places.owner] > 0)
    if not len(places.owner):
        return
    fast = replace(question.effort, fast=True, witness=False)
    # An answer is a change from what the place is, so the certificate bounds it.
    bounds = question.bounds(places.rows, effort=fast).radius
    bounds[places.targets == places.codes] = 0.0
    bounds[(places.left == 0) & (places.targets != places.codes)] = np.inf  # nothing may change any more
    order = np.lexsort([bounds, places.owner])
    first = np.append(True, np.diff(places.owner[order]) > 0)
    turn = np.arange(order.size) - np.flatnonzero(first)[np.cumsum(first) - 1]  # place by place of each row
    for k in range(min(int(turn.max()) + 1, _VARIANTS_SOLVED)):
        tried = order[turn == k]
        tried = tried[bounds[tried] < out.size[places.owner[tried]]]
        for left in np.unique(places.left[tried]):
            at = tried[places.left[tried] == left]
            chosen = places.at(at)
            closest = find_sparse(question, chosen.rows, chosen.codes, chosen.targets, reference, int(left))
            bounds[at] = np.where(chosen.reached, bounds[at], np.maximum(bounds[at], closest.lower))
            closer = closest.size < out.size[chosen.owner]
            t = chosen.owner[closer]
            out.points[t], out.size[t] = closest.points[closer], closest.size[closer]
    np.minimum.at(out.lower, places.owner, bounds)


_ASKED = ("rows", "rows", "codes", "targets")  # what accepts takes of a place that is its own answer


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
