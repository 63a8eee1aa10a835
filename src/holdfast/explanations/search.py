"""The search for the closest row with another answer: bounds, places to try, shorter digits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from holdfast.certificates.bracket import Bracket
from holdfast.certificates.certificate import meet
from holdfast.certificates.readers import LinearVoter
from holdfast.certificates.scikit_neighbors import DistanceVoter
from holdfast.certificates.vote import NeighborVoter
from holdfast.explanations.question import (
    ANY,
    Question,
    WithoutMajority,
    against_the_rest,
    in_cell,
    largest_score,
    with_majority,
)

_HALVINGS = 30  # of a segment: to 1e-9 of its length
_FEW_HALVINGS = 7  # to 1 %
_BEYOND = 1e-9  # how far beyond the boundary, relative to the move


def places(
    question: Question, rows: np.ndarray, aims: np.ndarray, reference: np.ndarray | None, count: int
) -> Iterator[np.ndarray]:
    """Possible inputs near the ``count`` nearest data of the class ``aims`` of each row, nearest first; NaN for none.

    These are reference rows that the model gives this class; without reference rows, the inputs of least size
    that reach the points which vote for it.
    """
    voter, moves = question.voter, question.moves
    inputs = np.full((count, *rows.shape), np.nan)
    unit = 1.0 if moves.unit is None else moves.unit
    known = None if reference is None else voter.predict(reference)
    for aim in np.unique(aims):
        at = np.flatnonzero(aims == aim)
        if reference is not None:
            candidates = reference[known == aim]
            if not len(candidates):
                continue
            for t in at:
                moved = moves.enforce(candidates, np.broadcast_to(rows[t], candidates.shape))
                # Where frozen features stay, the nearest of the data is not the data any more: by the size of the move.
                order = np.argsort((((moved - rows[t]) / unit) ** 2).sum(axis=1), kind="stable")[:count]
                inputs[: order.size, t] = moved[order]
        elif isinstance(voter, NeighborVoter) and voter.chain.affine_map is not None:
            _map_back(question, rows, at, voter.points[voter.codes == aim], inputs)
    yield from inputs


def _map_back(question: Question, rows: np.ndarray, at: np.ndarray, points: np.ndarray, inputs: np.ndarray) -> None:
    """Fill the array ``inputs`` with those that the chain takes to the nearest of the points."""
    moves, map_ = question.moves, question.voter.chain.affine_map
    assert map_ is not None
    free = moves.free(rows.shape[1])
    back = np.linalg.pinv(map_.W[:, free])
    for t in at:
        query = map_(rows[t : t + 1])
        order = np.argsort(((points - query) ** 2).sum(axis=1), kind="stable")[: len(inputs)]
        moved = np.repeat(rows[t : t + 1], order.size, axis=0)
        moved[:, free] += (points[order] - query) @ back.T
        inputs[: order.size, t] = moves.enforce(moved, np.broadcast_to(rows[t], moved.shape))


def walk(
    accepts: Callable[[np.ndarray, np.ndarray], np.ndarray], rows: np.ndarray, ends: np.ndarray, fine: bool = True
) -> np.ndarray:
    """``x + t (end − x)`` with the smallest t found that is accepted; NaN where the end itself is not.

    Parameters
    ----------
    accepts : callable
        ``(indices, points) -> mask``: whether points answer the rows with these indices.
    rows, ends : ndarrays of shape (m, d)
    fine : bool, default=True
        Whether to go to 1e-9 of the way; else to 1 %, where each step takes a certificate.
    """
    out = np.full(rows.shape, np.nan)
    at = np.flatnonzero(np.isfinite(ends).all(axis=1))
    at = at[accepts(at, ends[at])]
    if not at.size:
        return out
    low, high = np.zeros(at.size), np.ones(at.size)  # accepted at high, not at low
    step = ends[at] - rows[at]
    for _ in range(_HALVINGS if fine else _FEW_HALVINGS):
        middle = (low + high) / 2
        good = accepts(at, rows[at] + middle[:, None] * step)
        high, low = np.where(good, middle, high), np.where(good, low, middle)
    beyond = np.minimum(high * (1.0 + _BEYOND), 1.0)
    good = accepts(at, rows[at] + beyond[:, None] * step)
    high = np.where(good, beyond, high)
    # At t = 1 the end itself was accepted; x + (end − x) may differ from it in the last bit.
    out[at] = np.where((high == 1.0)[:, None], ends[at], rows[at] + high[:, None] * step)
    return out


_LEVELS = 17  # steps of one digit: the last is beyond float64
_DECIMALS = 300  # of a number at most: 10 to this power is finite
_STRETCHES = (1.0, 1.002, 1.005)  # a little farther, where a rounded number falls short


def shorten(
    question: Question, rows: np.ndarray, codes: np.ndarray, targets: np.ndarray, points: np.ndarray, allowance: float
) -> np.ndarray:
    """Answers with as few digits as possible, no more than ``allowance`` farther, each accepted by the question.

    Values are multiples of ``10⁻ᵠ``, the same number of digits for features of the same unit; level by level, from
    coarse to fine, the first rounding that is still an answer is taken. Tried are the nearest number, the next one
    away from the row, and both for a point a little farther. A change of less than half a step is left out.

    Parameters
    ----------
    question : Question
    rows, points : ndarrays of shape (m, d)
        NaN points stay so.
    codes, targets : int ndarrays of shape (m,)
    allowance : float
        As a share of the size; 0 changes nothing.
    """
    out = points.copy()
    size = question.sizes(points, rows)
    left = np.flatnonzero(np.isfinite(size) & (size > 0))
    if not allowance:
        return out
    unit = np.ones(rows.shape[1]) if question.moves.unit is None else question.moves.unit
    for level in range(_LEVELS):
        if not left.size:
            break
        left = left[_round_level(question, rows, codes, targets, points, size, unit, level, allowance, left, out)]
    return out


def _round_level(
    question, rows, codes, targets, points, size, unit, level: int, allowance: float, left: np.ndarray, out: np.ndarray
) -> np.ndarray:
    """Try one number of digits for the rows ``left``; a mask of those for which nothing was accepted."""
    x, delta = rows[left], points[left] - rows[left]
    decimals = level - np.floor(np.log10(size[left, None] * unit)).astype(int)
    missing = np.ones(left.size, bool)
    closest = np.full(left.size, np.inf)
    for stretch in _STRETCHES:
        for outward in (False, True):
            moved = _rounded(x, x + stretch * delta, decimals, outward)
            moved = question.moves.enforce(moved, x)
            length = question.sizes(moved, x)
            tried = np.flatnonzero((length <= (1 + allowance) * size[left]) & (length < closest))
            if not tried.size:
                continue
            at = left[tried]
            good = question.accepts(moved[tried], rows[at], codes[at], targets[at])
            hit = tried[good]
            out[left[hit]], closest[hit] = moved[hit], length[hit]
            missing[hit] = False
    return missing


def _rounded(x: np.ndarray, moved: np.ndarray, decimals: np.ndarray, outward: bool) -> np.ndarray:
    """Values as multiples of ``10^−decimals``; where less than half a step was made, those of x."""
    decimals = np.clip(decimals, -_DECIMALS, _DECIMALS)
    step = 10.0 ** np.abs(decimals)
    fine = decimals >= 0
    # A quotient of whole numbers is the float64 nearest to the decimal number, which a product with 0.1 is not.
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.where(fine, moved * step, moved / step)
        whole = np.rint(scaled)
        if outward:
            # Away from x; a value that is a multiple already, up to rounding, stays.
            exact = np.abs(scaled - whole) <= 1e-9 * np.maximum(np.abs(scaled), 1.0)
            whole = np.where(exact, whole, np.where(moved > x, np.ceil(scaled), np.floor(scaled)))
        value = np.where(fine, whole / step, whole * step)
    quantum = np.where(fine, 1.0 / step, step)
    small = np.abs(moved - x) < 0.5 * quantum
    return np.where(small | ~np.isfinite(value), x, value)


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
    if not isinstance(voter, LinearVoter) or voter.chain.affine_map is None:
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
        if voter.chain.affine_map is None:
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
            distance = ((voter.points - voter.chain.image(rows[t : t + 1])) ** 2).sum(axis=1)
            distance[voter.codes == codes[t]] = np.inf
            aims[t] = voter.codes[np.argmin(distance)]
        else:
            score = voter.chain.image(rows[t : t + 1])[0]
            score[codes[t]] = -np.inf
            aims[t] = int(np.argmax(score))
    return aims


def frozen_too(question: Question, mask: np.ndarray) -> Question:
    """The question with more features frozen."""
    frozen = mask if question.moves.frozen is None else mask | question.moves.frozen
    barred = mask if question.barred is None else mask | question.barred
    return replace(question, moves=replace(question.moves, frozen=frozen), barred=barred)
