"""One function that bounds from below and searches witnesses from above; ``certify`` and ``attack`` both call it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from holdfast.certificates.certificate import meet
from holdfast.certificates.engines import solve
from holdfast.certificates.folding.normalizer import linearised, radii_before_normalizer
from holdfast.certificates.moves import Moves
from holdfast.certificates.problems import Bounds, Budget, NeighborProblem, Problem
from holdfast.certificates.voting import DistanceVoter, NeighborVoter, Voter
from holdfast.certificates.warped import warped_bounds
from holdfast.certificates.witnesses.segment import segment
from holdfast.certificates.witnesses.walk import walk
from holdfast.numerics.sums import product_by_rows
from holdfast.numerics.threads import single_threaded_blas

_BLOCK = 256  # rows between two reports of progress; four times as many if there are many reference points
_MANY = 5_000  # reference points from which on a walk asks the model as rarely as it can
_VISIBLE = 1e3  # rounding is at most 1e-9 of a comparison below this ratio
_NODES = 200  # of the search for a way through a normalisation
_WAYS = (1.2, 3.0)  # how far these ways are followed
_TANGENTS = 3  # how often the way is found again
_PUSHES = (0.0, 1e-9, 1e-7, 1e-5, 1e-3)  # a hair beyond the boundary, if need be; each is checked by predict
_PARTS = (1.0, 0.6)  # of the size of a verdict: where the ways are looked at
_ONE_BLOCK = 16.0  # megabytes of distances from a few witnesses
_ROUNDINGS = ("nearest", "outward", "inward")  # of features that are whole numbers, one after the other

Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class Bracket:
    """``radius ≤ smallest move that changes the prediction ≤ upper``, row by row.

    Attributes
    ----------
    radius, upper : ndarrays of shape (m,)
    adversarial : ndarray of shape (m, d)
        Rows at which the model's own predict was seen to change; NaN where none was found.
    codes : int ndarray of shape (m,)
        Predictions, as indices into the classes.
    """

    radius: np.ndarray
    upper: np.ndarray
    adversarial: np.ndarray
    codes: np.ndarray


@dataclass(frozen=True)
class Effort:
    """The work that goes into a bracket.

    Attributes
    ----------
    fast : bool
        Whether to leave out searches for the exact radius.
    witness : bool
        Whether to look for adversarial points.
    budget : Budget
        For each row, where an engine searches.
    memory : float
        Megabytes that distances to all reference points may take at once.
    n_jobs : int or None
        Threads.
    """

    fast: bool
    witness: bool
    budget: Budget
    memory: float
    n_jobs: int | None


def bracket(
    voter: Voter,
    moves: Moves,
    rows: np.ndarray,
    effort: Effort,
    progress: Progress | None = None,
    codes: np.ndarray | None = None,
) -> Bracket:
    """Bound every row from below and look for witnesses, block by block.

    Whole numbers and categories are not looked at here: see :mod:`holdfast.certificates.enumeration`.

    Parameters
    ----------
    voter : Voter
    moves : Moves
        What may move, and how far it is.
    rows : ndarray of shape (m, d)
        Checked by ``voter.check_rows``.
    effort : Effort
    progress : callable, optional
        Called with the number of rows done and of all rows, after each block.
    codes : int ndarray of shape (m,), optional
        The answers that are certified; by default the predictions at the rows.
    """
    codes = voter.predict(rows) if codes is None else codes
    parts = voter.encoding.patterns(rows, moves)
    if len(parts) == 1:
        return _bracket(voter, parts[0][1], rows, codes, effort, progress)
    out = Bracket(np.empty(len(rows)), np.empty(len(rows)), np.empty_like(rows), codes)
    done = 0
    for at, own in parts:  # rows with the same gaps, in which the same features stand still
        found = _bracket(voter, own, rows[at], codes[at], effort, None)
        out.radius[at], out.upper[at], out.adversarial[at] = found.radius, found.upper, found.adversarial
        done += at.size
        if progress is not None:
            progress(done, len(rows))
    return out


def _bracket(voter: Voter, moves: Moves, rows: np.ndarray, codes: np.ndarray, effort: Effort, progress) -> Bracket:
    """:func:`bracket` of rows that can all move in the same ways."""
    many = isinstance(voter, NeighborVoter) and len(voter.points) >= _MANY
    step = 4 * _BLOCK if many else _BLOCK
    after = voter.fold.after
    relaxed = moves.relaxed()
    problem = voter.problem(voter.fold.before, relaxed) if after is None else voter.problem(after, Moves())
    parts = []
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        with single_threaded_blas():  # once for a block, in place of once for each of its calls of predict
            bounds = _bounds(voter, problem, moves, rows[part], codes[part], effort)
            if effort.witness:
                bounds = _with_witnesses(voter, problem, moves, rows[part], codes[part], bounds, effort, many)
            else:
                bounds = Bounds(bounds.lower, np.full_like(bounds.lower, np.inf), np.full_like(rows[part], np.nan))
        parts.append(bounds)
        if progress is not None:
            progress(min(start + step, len(rows)), len(rows))
    radius, upper, adversarial = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Bracket(radius, upper, adversarial, codes)


def _bounds(
    voter: Voter, problem: Problem, moves: Moves, rows: np.ndarray, codes: np.ndarray, effort: Effort
) -> Bounds:
    """The bounds of the engine; behind a Normalizer, those of cones."""
    if voter.encoding.warps:
        return warped_bounds(voter, moves, rows, codes, effort)
    if voter.fold.after is None:
        return solve(
            problem, voter.fold(rows), codes, rows,
            fast=effort.fast, budget=effort.budget, n_jobs=effort.n_jobs, memory=effort.memory,
        )  # fmt: skip
    lower, ways = radii_before_normalizer(problem, voter.fold, moves, rows, codes, effort.fast)
    return Bounds(lower, np.full(len(rows), np.inf), ways)


def _through_tangents(voter: Voter, problem: Problem, moves: Moves, rows, codes, effort: Effort) -> list[np.ndarray]:
    """Rows to walk to through a normalisation: beyond the shortest moves by its tangent, here and where that leads."""
    ends, budget = [], replace(effort.budget, nodes=min(effort.budget.nodes, _NODES))
    at = rows.copy()
    for _ in range(_TANGENTS):
        delta = np.full(rows.shape, np.nan)
        with single_threaded_blas():
            for t, y in enumerate(codes):
                near, query = linearised(problem, voter.fold, moves, rows[t], at[t])
                delta[t] = solve(
                    near, query[None], y[None], rows[t][None], fast=False, budget=budget, n_jobs=1, memory=effort.memory
                ).delta[0]
        ends += [moves.enforce(rows + far * delta, rows) for far in _WAYS]
        at = np.where(np.isfinite(delta), moves.enforce(rows + delta, rows), at)
    return ends


def _with_witnesses(
    voter: Voter, problem: Problem, moves: Moves, rows, codes, bounds: Bounds, effort: Effort, many: bool
) -> Bounds:
    """Radius, upper and moved rows; a witness counts only if the model's own predict changes at it."""
    best, size = np.full(rows.shape, np.nan), np.full(len(rows), np.inf)
    # No move at all is no witness: of such a row rounding decides, in another batch otherwise.
    proposed = np.isfinite(bounds.delta).all(axis=1) & (bounds.delta != 0).any(axis=1)
    for push, rounding in product(_PUSHES, _ROUNDINGS[: 1 if moves.integer is None else None]):
        missing = np.flatnonzero(np.isinf(size) & proposed)
        if not missing.size:
            break
        moved = moves.enforce(rows[missing] + (1.0 + push) * bounds.delta[missing], rows[missing], rounding)
        changed = is_witness(voter, moves, rows[missing], moved, codes[missing], problem)
        hit = missing[changed]
        best[hit] = moved[changed]
        size[hit] = moves.lengths(best[hit] - rows[hit])
    loose = np.flatnonzero(~meet(bounds.lower, size))
    if (at := effort.budget.at) is not None:  # where the verdict is known, no closer witness is needed
        loose = loose[(bounds.lower[loose] <= at) & (size[loose] > at) & (at > 0)]
    if loose.size:
        ends = list(_ends(voter, moves, rows[loose], codes[loose], effort.n_jobs))
        if voter.encoding.warps or voter.fold.after is not None or isinstance(voter, DistanceVoter):
            ends += [moves.enforce(rows[loose] + far * bounds.delta[loose], rows[loose]) for far in (*_WAYS, 10.0)]
        if voter.fold.after is not None:
            ends += _through_tangents(voter, problem, moves, rows[loose], codes[loose], effort)
        simple = moves.integer is None and moves.relations is None
        plain = voter.encoding.keeps_rows
        affine = voter.fold.after is None and not voter.encoding.warps
        if (many or not plain) and simple and affine and isinstance(voter, NeighborVoter):
            walked = walk(voter, rows[loose], codes[loose], ends, moves.lengths, effort.n_jobs)
        elif at is not None:
            walked = _within(voter, problem, moves, rows[loose], codes[loose], ends, at)
        else:
            # What this finds is checked below.
            predict = _guide(voter, problem)
            project = None if simple else moves.enforce
            walked = segment(predict, rows[loose], codes[loose], ends, moves.lengths, project)
        found = np.flatnonzero(np.isfinite(walked).all(axis=1))
        kept = is_witness(voter, moves, rows[loose[found]], walked[found], codes[loose[found]], problem)
        walked[found[~kept]] = np.nan
        length = np.where(np.isfinite(walked).all(axis=1), moves.lengths(walked - rows[loose]), np.inf)
        better = length < size[loose]
        best[loose[better]], size[loose[better]] = walked[better], length[better]
    best[np.isinf(size)] = np.nan  # none was found, or its size is beyond float64
    return Bounds(np.minimum(bounds.lower, size), size, best)


def _guide(voter: Voter, problem: Problem) -> Callable[[np.ndarray], np.ndarray]:
    """Predictions that show the way; decoded rows take the model long, so there it is the vote of the fold."""
    return voter.predict if voter.encoding.keeps_rows else lambda moved: problem.vote(voter.fold(moved))


def _within(voter: Voter, problem: Problem, moves: Moves, rows, codes, ends, at: float) -> np.ndarray:
    """Rows with another answer on the ways to ``ends``, no farther than a size; NaN where none was met."""
    found, predict = np.full(rows.shape, np.nan), _guide(voter, problem)
    for end in ends:
        size = moves.lengths(end - rows)
        for part in _PARTS:
            left = np.flatnonzero(np.isnan(found[:, 0]) & np.isfinite(end).all(axis=1) & (size > 0))
            if not left.size:
                break
            share = np.minimum(part * at * (1.0 - 1e-12) / size[left], 1.0)  # 1e-12: however its length is summed
            moved = moves.enforce(rows[left] + share[:, None] * (end[left] - rows[left]), rows[left])
            hit = predict(moved) != codes[left]
            found[left[hit]] = moved[hit]
    return found


def is_witness(
    voter: Voter, moves: Moves, rows: np.ndarray, moved: np.ndarray, codes: np.ndarray, problem: Problem | None = None
) -> np.ndarray:
    """True for each moved row that keeps all limits and at which the model's own predict gives another answer."""
    out = moves.allows(moved, rows)
    out[out] = changes(voter, rows[out], moved[out], codes[out], problem)
    return out


def changes(
    voter: Voter, rows: np.ndarray, moved: np.ndarray, codes: np.ndarray, problem: Problem | None = None
) -> np.ndarray:
    """True for each moved row at which the model's own predict gives another answer, in one batch and alone.

    A matrix product may round a row alone in another way. That is checked where rounding can be seen at all: where the
    numbers behind the vote are a thousand times as large as the way that the vote moved. With the problem of the vote
    it is proven where it can be, and else, or without, the model is asked about the row alone.
    """
    if not len(moved):
        return np.zeros(0, bool)
    batch = moved if len(moved) > 1 else np.repeat(moved, 2, axis=0)  # one row is no batch to a matrix product
    answers = voter.predict(batch)[: len(moved)]
    changed = answers != codes
    if not changed.any():
        return changed
    way = voter.fold.ways(rows, moved)
    visible = np.flatnonzero(changed & (voter.fold.sizes(moved) > _VISIBLE * way))
    if visible.size and problem is not None:
        visible = visible[~_rounding_safe(voter, problem, moved[visible], answers[visible])]
    for row in visible:
        changed[row] = voter.predict(moved[row : row + 1])[0] != codes[row]
    return changed


def _rounding_safe(voter: Voter, problem: Problem, rows: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """True for each row whose answer no rounding of the model's changes: a certificate of it is above 0 (Lemma F2)."""
    free = not (problem.moves.confined or problem.moves.frozen is not None)  # a limit could be why nothing changes
    if not (free and isinstance(problem, NeighborProblem)) or voter.fold.after is not None or voter.encoding.warps:
        return np.zeros(len(rows), dtype=bool)
    found = solve(problem, voter.fold(rows), codes, rows, fast=True, budget=Budget(), n_jobs=1, memory=_ONE_BLOCK)
    return found.lower > 0


def _ends(voter: Voter, moves: Moves, rows: np.ndarray, codes: np.ndarray, n_jobs) -> Iterator[np.ndarray]:
    """Inputs near which another class should win: the shortest moves of the free features to the opponents' places."""
    chain = voter.fold
    if voter.encoding.warps:  # no affine way back: the ways of the engine are all there are
        return
    queries = chain(rows)
    map_ = chain.before if chain.after is None else chain.before.then(chain.after)
    free = moves.free(rows.shape[1])
    back = np.linalg.pinv(map_.W[:, free])
    # On the way to the sphere a row keeps its length, so that it lands where it should.
    length = 1.0 if chain.after is None else np.linalg.norm(chain.before(rows), axis=1, keepdims=True)
    for place in voter.opponents(queries, codes, n_jobs):
        moved = rows.copy()
        moved[:, free] += product_by_rows((place - queries) * length, back)
        moved[~np.isfinite(place).all(axis=1)] = np.nan
        yield moves.enforce(moved, rows)
