"""The closest answer of every row, and a bound on how close any answer can be."""

from dataclasses import dataclass, replace

import numpy as np

from holdfast.certificates.bracket import Bracket
from holdfast.certificates.certificate import meet
from holdfast.certificates.voting import DistanceVoter, LinearVoter, NeighborVoter
from holdfast.explanations.cells import in_cell
from holdfast.explanations.linear_targets import largest_score
from holdfast.explanations.one_class import WithoutMajority, with_majority
from holdfast.explanations.places import places, walk
from holdfast.explanations.question import ANY, Question
from holdfast.explanations.relabelled import against_the_rest

_PUSHES = (0.0, 1e-9, 1e-7, 1e-5, 1e-3)  # a hair beyond the boundary, if need be; each is checked by predict
_PLACES = 5  # data of the class that a row is walked to


@dataclass
class Answers:
    """The best answers so far.

    Attributes
    ----------
    question : Question
    rows, codes, targets : ndarrays of shapes (m, d), (m,) and (m,)
    lower : ndarray of shape (m,)
        No answer is closer.
    points, size : ndarrays of shapes (m, d) and (m,)
        NaN and infinite where none was found.
    """

    question: Question
    rows: np.ndarray
    codes: np.ndarray
    targets: np.ndarray
    lower: np.ndarray
    points: np.ndarray
    size: np.ndarray

    @classmethod
    def none(cls, question: Question, rows: np.ndarray, codes: np.ndarray, targets: np.ndarray) -> "Answers":
        """No answers yet; rows that are answers themselves have one of size 0."""
        m = len(rows)
        answers = cls(question, rows, codes, targets, np.zeros(m), np.full(rows.shape, np.nan), np.full(m, np.inf))
        answers.offer(np.flatnonzero(targets == codes), rows[targets == codes])
        return answers

    @property
    def open(self) -> np.ndarray:
        """Indices of the rows whose answer, if any, is not yet proven to be the closest."""
        return np.flatnonzero(~meet(self.lower, self.size))

    def accepts(self, at: np.ndarray, points: np.ndarray) -> np.ndarray:
        """True for points that answer the rows ``at``."""
        return self.question.accepts(points, self.rows[at], self.codes[at], self.targets[at])

    def offer(self, at: np.ndarray, points: np.ndarray) -> None:
        """Take points that answer the rows ``at`` and are closer than what is there; a hair farther if need be."""
        left = np.arange(len(at))
        for push in _PUSHES:
            moved = self.rows[at[left]] + (1.0 + push) * (points[left] - self.rows[at[left]])
            if push == 0.0:
                moved = points[left].copy()
            there = np.isfinite(moved).all(axis=1)
            left, moved = left[there], moved[there]
            moved = self.question.moves.enforce(moved, self.rows[at[left]])
            size = self.question.sizes(moved, self.rows[at[left]])
            closer = size < self.size[at[left]]
            left, moved, size = left[closer], moved[closer], size[closer]
            if not left.size:
                return
            good = self.accepts(at[left], moved)
            hit = at[left[good]]
            self.points[hit], self.size[hit] = moved[good], size[good]
            left = left[~good]


def find(
    question: Question, rows: np.ndarray, codes: np.ndarray, targets: np.ndarray, reference: np.ndarray | None = None
) -> Answers:
    """The closest answers.

    Parameters
    ----------
    question : Question
    rows : ndarray of shape (m, d)
    codes, targets : int ndarrays of shape (m,)
        Predictions, and classes that are asked for.
    reference : ndarray of shape (n, d), optional
        Rows to walk to.
    """
    answers = Answers.none(question, rows, codes, targets)
    start = np.full(rows.shape, np.nan)  # where another class was seen, whether or not it is an answer
    moved = np.flatnonzero(targets != codes)
    if moved.size:
        first = question.bounds(rows[moved])
        _take_bracket(answers, moved, first, start)
    _linear(answers)
    _one_class(answers, start)
    _mark_impossible(answers)
    left = answers.open
    if left.size and (isinstance(question.voter, NeighborVoter) or reference is not None):
        _search_around(answers, left, start, reference)
    answers.lower = np.minimum(answers.lower, answers.size)
    return answers


def _mark_impossible(answers: Answers) -> None:
    """A bound beyond the largest possible move is infinite: no possible move is an answer."""
    moves = answers.question.moves
    beyond = answers.lower > moves.free_norm.diameter(*moves.room(answers.rows)) * (1 + 1e-9)
    answers.lower = np.minimum(np.where(beyond, np.inf, answers.lower), answers.size)


def _raise_bound(answers: Answers, at: np.ndarray, radius: np.ndarray) -> None:
    """Take a bound on every change that leads to an answer.

    An answer that holds within ``slack`` is that much farther (Lemma K1), if a part of a possible move is possible too,
    which of whole numbers it is not.
    """
    question = answers.question
    if question.slack > 0 and question.moves.integer is None:
        radius = (radius + question.slack) * (1.0 - 1e-15)
    answers.lower[at] = np.maximum(answers.lower[at], radius)


def _take_bracket(answers: Answers, at: np.ndarray, bracket: Bracket, start: np.ndarray) -> None:
    """Bounds and witnesses of the certificate: an answer is a change, so the radius bounds it (Lemma K3)."""
    question = answers.question
    _raise_bound(answers, at, bracket.radius)
    start[at] = bracket.adversarial
    if question.slack == 0:
        answers.offer(at, bracket.adversarial)


def _linear(answers: Answers) -> None:
    """Linear models behind affine steps, where several classes or a slack make one polyhedron for each class."""
    question = answers.question
    voter = question.voter
    if not isinstance(voter, LinearVoter) or not voter.fold.affine:
        return
    if question.slack == 0 and len(voter.classes) == 2:
        return  # the certificate has said it all
    least, bounded = np.full(len(answers.rows), np.inf), np.zeros(len(answers.rows), bool)
    for target in range(len(voter.classes)):
        wants_target = answers.targets == target
        if question.slack > 0:  # else the certificate has the closest of the other classes
            wants_target |= (answers.targets == ANY) & (answers.codes != target)
        at = np.flatnonzero(wants_target & (answers.size > 0))
        if at.size:
            lower, points = largest_score(question, answers.rows[at], target)
            least[at] = np.minimum(least[at], lower)
            bounded[at] = True
            answers.offer(at, points)
    answers.lower[bounded] = np.maximum(answers.lower[bounded], least[bounded])


def _one_class(answers: Answers, start: np.ndarray) -> None:
    """Neighbours, one of several classes asked for: against the rest, and behind affine steps by pieces (Lemma K2)."""
    question = answers.question
    voter = question.voter
    if not isinstance(voter, NeighborVoter) or len(voter.classes) == 2:
        return
    for target in np.unique(answers.targets[answers.open]):
        at = answers.open
        at = at[(answers.targets[at] == target) & (answers.codes[at] != target)]
        if target == ANY or not at.size:
            continue
        if voter.n_neighbors == 1:
            _take_bracket(answers, at, question.bounds(answers.rows[at], against_the_rest(voter, int(target))), start)
            continue
        majority = with_majority(question, answers.rows[at], int(target))
        answers.offer(at, majority.adversarial)
        start[at] = np.where(np.isfinite(majority.adversarial), majority.adversarial, start[at])
        if not voter.fold.affine:
            continue
        minority = WithoutMajority(question, answers.rows[at], int(target))
        for t, row in enumerate(at):
            size = min(answers.size[row], majority.radius[t])
            lower, point = minority.bound(t, int(answers.codes[row]), start[row], size)
            _raise_bound(answers, at[t : t + 1], np.array([min(lower, majority.radius[t])]))
            if np.isfinite(point).all():
                answers.offer(at[t : t + 1], point[None])


def _search_around(answers: Answers, left: np.ndarray, start: np.ndarray, reference: np.ndarray | None) -> None:
    """Closest points of cells around what was seen and around data of the class, and walks to these data."""
    question = answers.question
    aims = _aims(question, answers.rows[left], answers.codes[left], answers.targets[left], start[left])
    seen = np.where(np.isfinite(answers.points[left]), answers.points[left], start[left])
    answers.offer(left, in_cell(question, answers.rows[left], seen, aims))
    for end in places(question, answers.rows[left], aims, reference, _PLACES):
        if isinstance(question.voter, NeighborVoter):
            answers.offer(left, in_cell(question, answers.rows[left], end, aims))
        missing = np.flatnonzero(np.isinf(answers.size[left]) | (question.near is not None))
        if missing.size:
            at = left[missing]
            quick = replace(answers, question=question.quick())

            def accepts(i: np.ndarray, points: np.ndarray, at=at, quick=quick) -> np.ndarray:
                return quick.accepts(at[i], points)

            answers.offer(at, walk(accepts, answers.rows[at], end[missing], question.slack == 0))
        if not np.isin(left, answers.open).any():
            return


def _aims(question: Question, rows, codes, targets, start) -> np.ndarray:
    """The class each row is led to: the one asked for, that of the change seen, or that of the nearest other point."""
    voter = question.voter
    aims = targets.copy()
    anyone = targets == ANY
    there = np.flatnonzero(anyone & np.isfinite(start).all(axis=1))
    if there.size:
        aims[there] = voter.predict(start[there])
    for t in np.flatnonzero(anyone & ~np.isfinite(start).all(axis=1)):
        if isinstance(voter, NeighborVoter | DistanceVoter):
            distance = ((voter.points - voter.fold(rows[t : t + 1])) ** 2).sum(axis=1)
            distance[voter.codes == codes[t]] = np.inf
            aims[t] = voter.codes[np.argmin(distance)]
        else:
            score = voter.fold(rows[t : t + 1])[0]
            score[codes[t]] = -np.inf
            aims[t] = int(np.argmax(score))
    return aims


def frozen_too(question: Question, mask: np.ndarray) -> Question:
    """The question with more features frozen."""
    frozen = mask if question.moves.frozen is None else mask | question.moves.frozen
    barred = mask if question.barred is None else mask | question.barred
    return replace(question, moves=replace(question.moves, frozen=frozen), barred=barred)
