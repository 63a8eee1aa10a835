"""Moves that change the answer: proposed, walked to, and checked by the model's own ``predict``."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from holdfast._core.order import first_change
from holdfast.base.blocks import single_threaded_blas
from holdfast.base.neighbors import nearest
from holdfast.certificates.certificate import meet
from holdfast.certificates.engines import solve
from holdfast.certificates.moves import Moves
from holdfast.certificates.questions import Bounds, Budget, Effort, NeighborProblem, Problem
from holdfast.certificates.scikit_neighbors import DistanceVoter
from holdfast.certificates.vote import NeighborVoter, Voter

# Engines move a row beyond the border by more than the rounding they count; below this ratio no witness was ever seen
# to depend on the rows beside it (18,000 of scikit-learn's neighbours and linear models at offsets to 1,000).
_VISIBLE = 1e3
_MEMORY = 16.0  # megabytes that distances from a batch of witnesses to all reference points may take at once


def is_witness(
    voter: Voter, moves: Moves, rows: np.ndarray, moved: np.ndarray, codes: np.ndarray, problem: Problem | None = None
) -> np.ndarray:
    """True for each moved row that keeps all limits and at which the model's own predict gives another answer."""
    out = moves.allows(moved, rows)
    out[out] = voter.chain.defined(moved[out])
    out[out] = answer_changes(voter, rows[out], moved[out], codes[out], problem)
    return out


def answer_changes(
    voter: Voter, rows: np.ndarray, moved: np.ndarray, codes: np.ndarray, problem: Problem | None = None
) -> np.ndarray:
    """True for each moved row at which the model's own predict gives another answer, both in a batch and alone.

    A matrix product may round a row differently when the row is alone. That can matter only where rounding is visible:
    where the numbers behind the vote are a thousand times as large as the distance that the query moved. There,
    :func:`_rounding_safe` proves the answer where it can (this needs ``problem``), and the remaining rows are predicted
    one by one.

    Parameters
    ----------
    voter : Voter
    rows, moved : ndarrays of shape (m, d)
        Rows before and after the move.
    codes : int ndarray of shape (m,)
        The answers that have to change.
    problem : Problem, optional
        The vote, as the engines take it.
    """
    if not len(moved):
        return np.zeros(0, bool)
    batch = moved if len(moved) > 1 else np.repeat(moved, 2, axis=0)  # one row is no batch to a matrix product
    answers = voter.predict(batch)[: len(moved)]
    changed = answers != codes
    if not changed.any():
        return changed
    distance = voter.chain.shift(rows, moved)
    unsure = np.flatnonzero(changed & (voter.chain.magnitude(moved) > _VISIBLE * distance))
    if unsure.size and problem is not None:
        unsure = unsure[~_rounding_safe(voter, problem, moved[unsure], answers[unsure])]
    for row in unsure:
        changed[row] = voter.predict(moved[row : row + 1])[0] != codes[row]
    return changed


def _rounding_safe(voter: Voter, problem: Problem, rows: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """True for each row whose answer no rounding of the model changes: its certified radius is above 0 (Lemma F2)."""
    unlimited = not (problem.moves.confined or problem.moves.frozen is not None)  # a limit could be why nothing changes
    if not (unlimited and voter.chain.affine_map is not None and isinstance(problem, NeighborProblem)):
        return np.zeros(len(rows), dtype=bool)
    bounds = solve(problem, voter.chain.image(rows), codes, rows, fast=True, budget=Budget(), n_jobs=1, memory=_MEMORY)
    return bounds.lower > 0


Predict = Callable[[np.ndarray], np.ndarray]
Project = Callable[[np.ndarray, np.ndarray], np.ndarray]
_HALVINGS = 40  # of a segment: to 1e-12 of its length
_BEYOND = 1e-9  # how far a witness goes beyond the boundary, relative to the move: a hair, as in walk.py


def segment(
    predict: Predict,
    X: np.ndarray,
    codes: np.ndarray,
    ends: Iterable[np.ndarray],
    lengths,
    project: Project | None = None,
) -> np.ndarray:
    """``x + t (end − x)`` with the smallest t found at which ``predict`` is no longer ``codes``.

    Parameters
    ----------
    predict : callable
        Predictions as codes; they differ from ``codes`` at every point that is returned.
    X : ndarray of shape (m, d)
    codes : ndarray of shape (m,)
        Predictions at X.
    ends : iterable of ndarrays of shape (m, d)
        Points to walk to, one array for each choice; NaN rows are skipped.
    lengths : callable
        The norm of rows, to choose between the ends.
    project : callable, optional
        ``project(moved, rows)`` takes a point of a segment to one that is allowed (whole numbers, relations).

    Returns
    -------
    ndarray of shape (m, d)
        NaN rows where no end changes the answer.
    """
    best, size = np.full(X.shape, np.nan), np.full(len(X), np.inf)
    project = project or (lambda moved, rows: moved)
    for end in ends:
        rows = np.flatnonzero(np.isfinite(end).all(axis=1))
        rows = rows[predict(end[rows]) != codes[rows]] if rows.size else rows
        if not rows.size:
            continue
        low, high = np.zeros(rows.size), np.ones(rows.size)  # changed at high, not at low
        step = end[rows] - X[rows]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            changed = predict(project(X[rows] + middle[:, None] * step, X[rows])) != codes[rows]
            high, low = np.where(changed, middle, high), np.where(changed, low, middle)
        # A hair beyond the boundary, if the answer is changed there too: at the boundary itself rounding decides.
        beyond = np.minimum(high * (1.0 + _BEYOND), 1.0)
        kept = predict(project(X[rows] + beyond[:, None] * step, X[rows])) != codes[rows]
        high = np.where(kept, beyond, high)
        # At t = 1 the end itself was checked; x + (end − x) may differ from it in the last bit.
        witness = np.where((high == 1.0)[:, None], end[rows], project(X[rows] + high[:, None] * step, X[rows]))
        length = lengths(witness - X[rows])
        better = length < size[rows]
        best[rows[better]], size[rows[better]] = witness[better], length[better]
    return best


_NEAR = 32  # reference points around each end of a segment that vote along it; 8k if that is more
_PAST_THE_EDGE = 1e-9  # a hair beyond the boundary, relative to the move


def walk(
    voter: NeighborVoter, rows: np.ndarray, codes: np.ndarray, ends: Sequence[np.ndarray], lengths, n_jobs
) -> np.ndarray:
    """The shortest witnesses on the segments to ``ends``, with one or two calls of ``predict`` for each end.

    :func:`~holdfast.certificates.witnesses.segment` needs some forty calls for the same.
    At ``u(t) = u + t(e − u)``, ``‖u(t) − p‖² = (1 − t)‖u − p‖² + t‖e − p‖²`` up to a term that all points share. So
    the vote among the points near u and those near e is known for every t without a search; where it changes, the
    model's own ``predict`` is called, the shortest segment first. Points near the middle of a long segment, far from
    both ends, are missed: where ``predict`` does not confirm any change, the ends themselves are tried.
    """
    m, k = len(rows), voter.n_neighbors
    count = min(max(_NEAR, 8 * k), len(voter.points))
    U, *E = (voter.chain.image(np.where(np.isfinite(place), place, rows)) for place in (rows, *ends))
    near = nearest(voter.points, np.vstack([U, *E]), count, n_jobs)  # one pass over the points for all
    changes = []
    for number, end in enumerate(ends, start=1):
        voters = np.sort(np.hstack([near[:m], near[number * m : (number + 1) * m]]), axis=1)
        t = np.empty(m)
        lowest_wins = voter.ties == "lowest"
        first_change(voter.points, voter.codes, U, E[number - 1], voters, codes, k, len(voter.classes), lowest_wins, t)
        changes.append(rows + np.minimum(t * (1.0 + _PAST_THE_EDGE), 1.0)[:, None] * (end - rows))
    witnesses = np.full(rows.shape, np.nan)
    for moved in (*_by_length(changes, rows, lengths), *_by_length(ends, rows, lengths)):
        left = np.flatnonzero(np.isnan(witnesses[:, 0]) & np.isfinite(moved).all(axis=1))
        if left.size:
            hit = left[voter.predict(moved[left]) != codes[left]]
            witnesses[hit] = moved[hit]
    return witnesses


def _by_length(choices: Sequence[np.ndarray], rows: np.ndarray, lengths) -> Iterator[np.ndarray]:
    """The shortest move of every row, then the second shortest, …; NaN rows come last."""
    moved = np.stack(choices)
    size = np.array([lengths(each - rows) for each in moved])
    for order in np.argsort(size, axis=0, kind="stable"):
        yield moved[order, np.arange(len(rows))]


_PUSHES = (0.0, 1e-9, 1e-7, 1e-5, 1e-3)  # a hair beyond the boundary, if need be; each is checked by predict
_ROUNDINGS = ("nearest", "outward", "inward")  # of features that are whole numbers, one after the other
_STRETCHES = (1.2, 3.0)  # multiples of a move at which an endpoint is put, beyond the boundary
_FAR_STRETCH = 10.0  # one more multiple, where an engine's move is only an estimate
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
    if voter.chain.affine_map is None or isinstance(voter, DistanceVoter):
        ends += [moves.enforce(rows + stretch * delta, rows) for stretch in (*_STRETCHES, _FAR_STRETCH)]
    ends += _beyond_tangent_moves(voter, problem, moves, rows, codes, effort)
    for end in ends:
        end[~voter.chain.defined(end)] = np.nan
    return ends


def _opponents_in_input(
    voter: Voter, moves: Moves, rows: np.ndarray, codes: np.ndarray, n_jobs: int | None
) -> Iterator[np.ndarray]:
    """Inputs near which another class should win: the shortest moves of the free features to the opponents' places."""
    queries, free = voter.chain.image(rows), moves.free(rows.shape[1])
    for place in voter.opponents(queries, codes, n_jobs):
        moved = voter.chain.towards(rows, place - queries, free)
        moved[~np.isfinite(place).all(axis=1)] = np.nan
        yield moves.enforce(moved, rows)


def _beyond_tangent_moves(
    voter: Voter, problem: Problem, moves: Moves, rows: np.ndarray, codes: np.ndarray, effort: Effort
) -> list[np.ndarray]:
    """Endpoints beyond the shortest moves by tangents of the chain, at the row and where the moves lead."""
    ends, budget = [], replace(effort.budget, work=effort.budget.work // _TANGENT_SHARE, spent=None, ended=None)
    at = rows.copy()
    for _ in range(voter.chain.tangents):
        delta = np.full(rows.shape, np.nan)
        with single_threaded_blas():
            for t, y in enumerate(codes):
                map_ = voter.chain.near(at[t])
                near = replace(problem, T=map_.W, absolute=map_.absolute, moves=moves)  # type: ignore[type-var]
                query = voter.chain.image(at[t][None])[0] + map_.W @ (rows[t] - at[t])
                delta[t] = solve(
                    near, query[None], y[None], rows[t][None], fast=False, budget=budget, n_jobs=1, memory=effort.memory
                ).delta[0]
        ends += [moves.enforce(rows + stretch * delta, rows) for stretch in _STRETCHES]
        moved = moves.enforce(rows + delta, rows)
        moved[~np.isfinite(delta).all(axis=1)] = np.nan
        at = np.where(voter.chain.defined(moved)[:, None] & np.isfinite(moved), moved, at)
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
    if slow_predict and simple and voter.chain.affine_map is not None and isinstance(voter, NeighborVoter):
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

    The model's own where they are quick and never raise; else the vote.
    """
    plain = voter.encoding.keeps_rows and voter.chain.defined_everywhere
    return voter.predict if plain else lambda moved: problem.vote(voter.chain.image(moved))
