"""Answers that change few features."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np

from holdfast.explanations.question import Question
from holdfast.explanations.search import Answers, find, frozen_too

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
