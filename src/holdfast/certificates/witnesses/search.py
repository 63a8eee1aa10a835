"""Search for witnesses where a certificate leaves room: an engine's own moves first, then walks towards endpoints."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from holdfast.certificates.certificate import meet
from holdfast.certificates.effort import Effort
from holdfast.certificates.engines import solve
from holdfast.certificates.folding.normalizer import linearised
from holdfast.certificates.moves import Moves
from holdfast.certificates.problems import Bounds, Problem
from holdfast.certificates.voting import DistanceVoter, NeighborVoter, Voter
from holdfast.certificates.witnesses.check import is_witness
from holdfast.certificates.witnesses.segment import segment
from holdfast.certificates.witnesses.walk import walk
from holdfast.numerics.sums import product_by_rows
from holdfast.numerics.threads import single_threaded_blas

_PUSHES = (0.0, 1e-9, 1e-7, 1e-5, 1e-3)  # a hair beyond the boundary, if need be; each is checked by predict
_ROUNDINGS = ("nearest", "outward", "inward")  # of features that are whole numbers, one after the other
_STRETCHES = (1.2, 3.0)  # multiples of a move at which an endpoint is put, beyond the boundary
_FAR_STRETCH = 10.0  # one more multiple, where an engine's move is only an estimate
_TANGENTS = 3  # tangents of a normalisation, each taken where the move by the last one leads
_TANGENT_SHARE = 10  # the share of the budget that the move by one tangent may take, one part in so many
_FRACTIONS = (1.0, 0.6)  # of the size of a verdict: the two points tried on each segment


def find_witnesses(
    voter: Voter,
    problem: Problem,
    moves: Moves,
    rows: np.ndarray,
    codes: np.ndarray,
    bounds: Bounds,
    effort: Effort,
    many_points: bool,
) -> Bounds:
    """Bounds with witnesses: a moved row counts only if it keeps every limit and the model's own predict changes there.

    Parameters
    ----------
    voter : Voter
    problem : Problem
        The vote of ``voter``, as the engines take it.
    moves : Moves
    rows : ndarray of shape (m, d)
    codes : int ndarray of shape (m,)
        The answers that are certified.
    bounds : Bounds
        Certified radii, and moves that may change the answer (NaN where there is none).
    effort : Effort
    many_points : bool
        Whether there are so many reference points that the model should be called as rarely as possible.

    Returns
    -------
    Bounds
        ``delta`` holds the moved rows in place of the moves.
    """
    best, size = _from_proposed_moves(voter, problem, moves, rows, codes, bounds.delta)
    loose = _undecided(bounds.lower, size, effort.budget.at)
    if loose.size:
        x, y, delta = rows[loose], codes[loose], bounds.delta[loose]
        ends = _endpoints(voter, problem, moves, x, y, delta, effort)
        walked = _walk_to(ends, voter, problem, moves, x, y, effort, many_points)
        length = np.where(np.isfinite(walked).all(axis=1), moves.lengths(walked - x), np.inf)
        better = length < size[loose]
        best[loose[better]], size[loose[better]] = walked[better], length[better]
    best[np.isinf(size)] = np.nan  # none was found, or its size is beyond float64
    return Bounds(np.minimum(bounds.lower, size), size, best)


def _from_proposed_moves(
    voter: Voter, problem: Problem, moves: Moves, rows: np.ndarray, codes: np.ndarray, delta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Witnesses at the moves ``delta`` or a hair beyond, and their sizes; NaN and infinity where there is none."""
    best, size = np.full(rows.shape, np.nan), np.full(len(rows), np.inf)
    # A move of size 0 is no witness: rounding decides the answer of such a row, and may decide otherwise in a batch.
    proposed = np.isfinite(delta).all(axis=1) & (delta != 0).any(axis=1)
    for push, rounding in product(_PUSHES, _ROUNDINGS[: 1 if moves.integer is None else None]):
        missing = np.flatnonzero(np.isinf(size) & proposed)
        if not missing.size:
            break
        moved = moves.enforce(rows[missing] + (1.0 + push) * delta[missing], rows[missing], rounding)
        changed = is_witness(voter, moves, rows[missing], moved, codes[missing], problem)
        hit = missing[changed]
        best[hit] = moved[changed]
        size[hit] = moves.lengths(best[hit] - rows[hit])
    return best, size


def _undecided(lower: np.ndarray, size: np.ndarray, at: float | None) -> np.ndarray:
    """Rows for which a shorter witness would help: the bounds differ, or the verdict at the size ``at`` is open."""
    loose = np.flatnonzero(~meet(lower, size))
    return loose if at is None else loose[(lower[loose] <= at) & (size[loose] > at) & (at > 0)]


def _endpoints(
    voter: Voter, problem: Problem, moves: Moves, rows: np.ndarray, codes: np.ndarray, delta: np.ndarray, effort: Effort
) -> list[np.ndarray]:
    """Rows to walk to, a few for each row: near opponents, and beyond the moves ``delta`` where these are estimates."""
    ends = list(_opponents_in_input(voter, moves, rows, codes, effort.n_jobs))
    if not voter.fold.affine or isinstance(voter, DistanceVoter):
        ends += [moves.enforce(rows + stretch * delta, rows) for stretch in (*_STRETCHES, _FAR_STRETCH)]
    if voter.fold.after is not None:
        ends += _beyond_tangent_moves(voter, problem, moves, rows, codes, effort)
    return ends


def _opponents_in_input(
    voter: Voter, moves: Moves, rows: np.ndarray, codes: np.ndarray, n_jobs: int | None
) -> Iterator[np.ndarray]:
    """Inputs near which another class should win: the shortest moves of the free features to the opponents' places."""
    fold = voter.fold
    if voter.encoding.warps:  # monotone maps have no affine inverse: only the engine's moves give endpoints
        return
    queries = fold(rows)
    map_ = fold.before if fold.after is None else fold.before.then(fold.after)
    free = moves.free(rows.shape[1])
    to_input = np.linalg.pinv(map_.W[:, free])
    # Before a normalisation a row keeps its length, so that it lands where it should on the sphere.
    length = 1.0 if fold.after is None else np.linalg.norm(fold.before(rows), axis=1, keepdims=True)
    for place in voter.opponents(queries, codes, n_jobs):
        moved = rows.copy()
        moved[:, free] += product_by_rows((place - queries) * length, to_input)
        moved[~np.isfinite(place).all(axis=1)] = np.nan
        yield moves.enforce(moved, rows)


def _beyond_tangent_moves(
    voter: Voter, problem: Problem, moves: Moves, rows: np.ndarray, codes: np.ndarray, effort: Effort
) -> list[np.ndarray]:
    """Endpoints through a normalisation: beyond the shortest moves by its tangent, at the row and where they lead."""
    ends, budget = [], replace(effort.budget, work=effort.budget.work // _TANGENT_SHARE, spent=None, ended=None)
    at = rows.copy()
    for _ in range(_TANGENTS):
        delta = np.full(rows.shape, np.nan)
        with single_threaded_blas():
            for t, y in enumerate(codes):
                near, query = linearised(problem, voter.fold, moves, rows[t], at[t])
                delta[t] = solve(
                    near, query[None], y[None], rows[t][None], fast=False, budget=budget, n_jobs=1, memory=effort.memory
                ).delta[0]
        ends += [moves.enforce(rows + stretch * delta, rows) for stretch in _STRETCHES]
        at = np.where(np.isfinite(delta), moves.enforce(rows + delta, rows), at)
    return ends


def _walk_to(
    ends: list[np.ndarray],
    voter: Voter,
    problem: Problem,
    moves: Moves,
    rows: np.ndarray,
    codes: np.ndarray,
    effort: Effort,
    many_points: bool,
) -> np.ndarray:
    """Witnesses on the segments from rows to ``ends``, each checked; NaN where there is none."""
    simple = moves.integer is None and moves.relations is None
    slow_predict = many_points or not voter.encoding.keeps_rows
    if slow_predict and simple and voter.fold.affine and isinstance(voter, NeighborVoter):
        walked = walk(voter, rows, codes, ends, moves.lengths, effort.n_jobs)
    elif effort.budget.at is not None:
        walked = _within(voter, problem, moves, rows, codes, ends, effort.budget.at)
    else:
        project = None if simple else moves.enforce
        walked = segment(_steering_predict(voter, problem), rows, codes, ends, moves.lengths, project)
    met = np.flatnonzero(np.isfinite(walked).all(axis=1))
    kept = is_witness(voter, moves, rows[met], walked[met], codes[met], problem)
    walked[met[~kept]] = np.nan
    return walked


def _within(voter: Voter, problem: Problem, moves: Moves, rows, codes, ends, at: float) -> np.ndarray:
    """Rows with another answer on the segments to ``ends``, no farther than the size ``at``; NaN where none was met."""
    changed, predict = np.full(rows.shape, np.nan), _steering_predict(voter, problem)
    for end in ends:
        size = moves.lengths(end - rows)
        for fraction in _FRACTIONS:
            left = np.flatnonzero(np.isnan(changed[:, 0]) & np.isfinite(end).all(axis=1) & (size > 0))
            if not left.size:
                break
            # 1e-12: no longer than ``at``, in whichever order the length is summed.
            share = np.minimum(fraction * at * (1.0 - 1e-12) / size[left], 1.0)
            moved = moves.enforce(rows[left] + share[:, None] * (end[left] - rows[left]), rows[left])
            hit = predict(moved) != codes[left]
            changed[left[hit]] = moved[hit]
    return changed


def _steering_predict(voter: Voter, problem: Problem) -> Callable[[np.ndarray], np.ndarray]:
    """Predictions that steer a walk, whose result is checked later.

    The model's own where rows are encoded as they are; else, as decoding makes ``predict`` slow, the folded vote.
    """
    return voter.predict if voter.encoding.keeps_rows else lambda moved: problem.vote(voter.fold(moved))
