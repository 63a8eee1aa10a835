"""Neighbours: the closest point at which a given class wins the vote of several, with a majority or without one."""

from dataclasses import replace

import numpy as np

from holdfast.certificates.bracket import Bracket
from holdfast.certificates.engines import solve
from holdfast.certificates.problems import NeighborProblem
from holdfast.certificates.voting import NeighborVoter
from holdfast.explanations.question import Question
from holdfast.explanations.relabelled import against_the_rest
from holdfast.numerics.threads import single_threaded_blas

_CLASSES = 3  # that are put in the place of y, one after the other
_NEAR = 1.0 - 1e-6  # of a size: bounds this near meet
_TURNS = 6  # searches for a row: one for each of them, and again where a closer answer is found


def with_majority(question: Question, rows: np.ndarray, target: int) -> Bracket:
    """``min ‖δ‖ : class c has more than half of the votes at x + δ``: the class against the rest, a vote of two."""
    assert isinstance(question.voter, NeighborVoter)
    return question.bounds(rows, against_the_rest(question.voter, target))


class WithoutMajority:
    """``min ‖δ‖ : class c wins at x + δ with at most half of the votes``, by branch and bound (Lemma K2).

    The lemma holds for every class that loses in the place of y, so the largest of their bounds counts. Whole numbers
    are left out of account, which is sound.

    Parameters
    ----------
    question : Question
        About a vote of neighbours behind affine steps.
    rows : ndarray of shape (m, d)
    target : int
        Class c, which is the prediction of none of the rows.
    """

    def __init__(self, question: Question, rows: np.ndarray, target: int):
        voter = question.voter
        assert isinstance(voter, NeighborVoter)
        problem = voter.problem(voter.fold.before, question.moves.relaxed())
        assert isinstance(problem, NeighborProblem)
        self.problem = replace(problem, goal=target, goal_votes=problem.n_neighbors // 2)
        self.question, self.rows, self.queries = question, rows, voter.fold(rows)
        self.others = [c for c in np.unique(problem.labels).tolist() if c != target]

    def bound(self, row: int, code: int, seen: np.ndarray, size: float) -> tuple[float, np.ndarray]:
        """A bound on such victories of one row, as far as sizes below ``size`` go, and the best point found, or NaN.

        Parameters
        ----------
        row : int
        code : int
            Its prediction: the first class that is put in the place of y; then come those nearest to a point ``seen``.
        seen : ndarray of shape (d,)
            Where the class won, or NaN.
        size : float
        """
        effort, x = self.question.effort, self.rows[row : row + 1]
        query, point, lower = self.queries[row : row + 1], np.full(x.shape[1], np.nan), 0.0
        waiting, whole = self._losers(code, seen), not np.isfinite(size)
        with single_threaded_blas():
            for _ in range(_TURNS):
                near = size * _NEAR  # where nothing is seen below it, the search for less is over
                if not waiting or lower >= near:
                    break
                bounds = solve(
                    self.problem, query, np.array([waiting[0]]), x, fast=False, n_jobs=1, memory=effort.memory,
                    budget=replace(effort.budget, at=None if whole else near),
                )  # fmt: skip
                lower = max(lower, float(bounds.lower[0]))
                if bounds.upper[0] < size:
                    size, point = float(bounds.upper[0]), x[0] + bounds.delta[0]
                    # A verdict stops at any victory below the size; the closest one takes a whole search.
                    waiting, whole = (waiting[1:], whole) if whole else (waiting, True)
                else:
                    waiting = waiting[1:]
        return lower, point

    def _losers(self, code: int, seen: np.ndarray) -> list[int]:
        """Classes to put in the place of y, the prediction first."""
        if not np.isfinite(seen).all():
            return [code]
        place, points, labels = self.question.voter.fold(seen[None]), self.problem.points, self.problem.labels
        way = ((points - place) ** 2).sum(axis=1)
        others = [c for c in self.others if c != code]
        return [code, *sorted(others, key=lambda c: way[labels == c].min())][:_CLASSES]
