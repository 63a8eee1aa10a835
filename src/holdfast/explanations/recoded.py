"""Answers for which categories change: every row that a row can become is asked for like a row of its own."""

from dataclasses import dataclass, replace

import numpy as np

from holdfast.certificates.categories import Categories
from holdfast.certificates.enumeration import possible_places
from holdfast.explanations.question import ANY, Question
from holdfast.explanations.search import Answers
from holdfast.explanations.sparse import find_sparse

_PLACES = 8_192  # places at once, as in certify
_SOLVED = 60  # places that are solved for a row; the others have their bounds


def find_recoded(
    question: Question, rows: np.ndarray, codes: np.ndarray, targets: np.ndarray, reference, max_features: int
) -> Answers:
    """The closest answers over all choices of categories that the threat allows.

    A change of categories takes x to one of finitely many *places* x', at no cost, and the numbers move from there: the
    least over all places is the closest (Lemma V1). Places that are answers themselves come first, those with the
    fewest changes before others; the rest are solved in the order of their bounds, until the next bound is above the
    best answer. A category that changes is one of the ``max_features``.
    """
    categories = question.categories
    if categories is None:
        return find_sparse(question, rows, codes, targets, reference, max_features)
    out = Answers.none(question, rows, codes, targets)
    out.lower[:] = np.inf
    for part, owner, places in categories.blocks(rows, _PLACES):
        unanswered = np.arange(part.start, part.stop)
        unanswered = unanswered[out.size[unanswered] > 0]
        possible = possible_places(question.moves, categories.columns, rows[part][owner], places)
        owner, places = owner[possible] + part.start, places[possible]
        owner, places = np.concatenate([unanswered, owner]), np.vstack([rows[unanswered], places])
        _over_places(out, _places(out, owner, places, categories, max_features), reference)
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
    for k in range(min(int(turn.max()) + 1, _SOLVED)):
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
