"""Categories and whole numbers, above the engines: every row that a row can become is bounded like a row of its own.

A move of a row x is a change of its categories (or of its whole numbers), which takes x to one of finitely many
*places* x', and a move of the other features from there. So the smallest move that changes the answer y of x is the
least, over all places, of the price of x' and the smallest move from x' after which the answer is not y (Lemmas V1
and V2). Places are made in blocks, so that memory is bounded.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from holdfast.certificates.bracket import Bracket, Progress, bracket
from holdfast.certificates.certificate import meet
from holdfast.certificates.effort import Effort
from holdfast.certificates.lattice import FEW_PLACES, PLACES, coarse_columns, offsets
from holdfast.certificates.moves import Moves
from holdfast.certificates.norms import L1, L2, LInf
from holdfast.certificates.problems import Budget
from holdfast.certificates.relations import Relations
from holdfast.certificates.threat_reading import Reading
from holdfast.certificates.voting import Voter
from holdfast.certificates.witnesses.check import answer_changes
from holdfast.numerics.threads import single_threaded_blas

_PLACES = 8_192  # places at once
_BATCH_ROWS = 1_024  # rows at once, where a verdict is asked for
_WITNESSES = 3  # places of a row from which witnesses are looked for, where whole numbers make that long
_ROUNDED = 1.0 - 1e-12  # for the rounding of a price and of its sum with a radius

Bound = Callable[[np.ndarray, np.ndarray, Effort], Bracket]


def bracket_threat(
    voter: Voter,
    reading: Reading,
    rows: np.ndarray,
    effort: Effort,
    attacked: np.ndarray | None = None,
    progress: Progress | None = None,
) -> Bracket:
    """Bounds of every row under a whole threat.

    Parameters
    ----------
    voter : Voter
    reading : Reading
        Whose ``check_rows`` has seen the rows.
    rows : ndarray of shape (m, d)
    effort : Effort
    attacked : int ndarray, optional
        Codes of the classes that are attacked; a row that is predicted otherwise has infinite bounds (Lemma V4).
    progress : callable, optional
        Called with the number of rows done and of all rows.
    """
    with single_threaded_blas():  # once, in place of once for each call of predict
        codes = voter.predict(rows)
        chosen = np.arange(len(rows)) if attacked is None else np.flatnonzero(np.isin(codes, attacked))
        found = _all(voter, reading, rows[chosen], codes[chosen], effort, progress)
    if len(chosen) == len(rows):
        return found
    out = _nothing(rows, codes)
    out.radius[chosen], out.upper[chosen], out.adversarial[chosen] = found.radius, found.upper, found.adversarial
    return out


def _all(voter, reading: Reading, rows, codes, effort: Effort, progress: Progress | None) -> Bracket:
    """Bounds of rows that are attacked."""
    if not len(rows):
        return _nothing(rows, codes)
    moves, categories = reading.moves, reading.categories

    def of_numbers(x: np.ndarray, y: np.ndarray, work: Effort, report: Progress | None = None) -> Bracket:
        found = bracket(voter, moves, x, work, report, y)
        return found if moves.integer is None or work.fast else _on_lattice(voter, moves, x, found, work)

    if categories is None and effort.budget.at is None:
        return of_numbers(rows, codes, effort, progress)
    found = _nothing(rows, codes)
    for part, owner, places in _blocks(rows) if categories is None else categories.blocks(rows, _PLACES):
        own = np.arange(part.start, part.stop)
        if categories is not None:
            possible = possible_places(moves, categories.columns, rows[part][owner], places)
            owner, places = owner[possible] + part.start, places[possible]
        owner, places = np.concatenate([own, owner]), np.vstack([rows[part], places])
        _over_places(voter, moves, rows, found, owner, places, np.zeros(len(owner)), of_numbers, effort)
        if progress is not None:
            progress(part.stop, len(rows))
    return found


def _blocks(rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Rows without other places."""
    for start in range(0, len(rows), _BATCH_ROWS):
        yield slice(start, min(start + _BATCH_ROWS, len(rows))), np.empty(0, np.int64), np.empty((0, rows.shape[1]))


def possible_places(moves: Moves, columns: np.ndarray, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
    """True for changes of categories that keep box and sides, and the relations in which nothing else can move."""
    low, high = replace(moves, frozen=None).limits(rows)
    out: np.ndarray = np.all(((places >= low) & (places <= high))[:, columns], axis=1)
    if moves.relations is not None:
        A, b = moves.relations
        fixed = ~(A[:, moves.free(A.shape[1])] != 0).any(axis=1)
        out &= ~Relations(A[fixed], b[fixed]).broken(places).any(axis=1)
    return out


def _over_places(
    voter: Voter,
    moves: Moves,
    rows: np.ndarray,
    found: Bracket,
    owner: np.ndarray,
    places: np.ndarray,
    price: np.ndarray,
    bound: Bound,
    effort: Effort,
) -> None:
    """Lower ``found`` to the least over places, each reached at a price; ``moves`` are those that go on from there.

    Places that are far by the fast bound are not searched: they cannot be the least, or the verdict is known.
    """
    codes, at = found.codes[owner], effort.budget.at
    # Places where the answer is another need no further move.
    at_once = moves.allows(places, places) & (places != rows[owner]).any(axis=1)
    at_once[at_once] = answer_changes(voter, rows[owner[at_once]], places[at_once], codes[at_once])
    size = price if effort.witness else np.full(len(price), np.inf)
    _lower(found, owner[at_once], price[at_once], size[at_once], places[at_once])
    left = np.flatnonzero(~at_once & (price < found.radius[owner]))
    if not left.size:
        return
    quick = replace(effort, fast=True, witness=False)
    radius = together(moves, price[left], bound(places[left], codes[left], quick).radius)
    # First the nearest place of each row: its witness is often nearer than all other places are.
    order = np.lexsort([radius, owner[left]])
    first = np.append(True, np.diff(owner[left[order]]) > 0)
    for some in (order[first], order[~first]):
        whose = owner[left[some]]
        near = radius[some] < (found.upper[whose] if at is None else np.minimum(found.upper[whose], at))
        if at is not None:
            near &= ~(found.upper[whose] < at)  # the verdict is known
        if effort == quick:
            near[:] = False
        np.minimum.at(found.radius, whose[~near], radius[some[~near]])
        some = some[near]
        if some.size > _WITNESSES and effort.witness and moves.integer is not None:
            # Where whole numbers are left, witnesses take long and rarely meet the bound: only from the nearest places.
            lower = bound(places[left[some]], codes[left[some]], replace(effort, witness=False)).radius
            lower = np.maximum(radius[some], together(moves, price[left[some]], lower))
            order = np.lexsort([lower, owner[left[some]]])
            first = np.flatnonzero(np.append(True, np.diff(owner[left[some[order]]]) > 0))
            number = np.arange(order.size) - np.repeat(first, np.diff(np.append(first, order.size)))
            far = order[number >= _WITNESSES]
            np.minimum.at(found.radius, owner[left[some[far]]], lower[far])
            some = some[order[number < _WITNESSES]]
        if some.size:
            rest = bound(places[left[some]], codes[left[some]], effort)
            lower = np.maximum(radius[some], together(moves, price[left[some]], rest.radius))
            upper = together(moves, price[left[some]], rest.upper)
            _lower(found, owner[left[some]], np.minimum(lower, upper), upper, rest.adversarial)


def _lower(found: Bracket, owner: np.ndarray, radius: np.ndarray, upper: np.ndarray, moved: np.ndarray) -> None:
    """Put the least radius and the smallest witness of each owner into ``found``."""
    np.minimum.at(found.radius, owner, radius)
    order = np.argsort(-upper, kind="stable")  # the smallest is written last
    better = order[upper[order] < found.upper[owner[order]]]
    found.adversarial[owner[better]], found.upper[owner[better]] = moved[better], upper[better]


def _on_lattice(voter: Voter, moves: Moves, rows: np.ndarray, relaxed: Bracket, effort: Effort) -> Bracket:
    """Bounds with whole numbers, where few enough of them are near: the relaxed bounds, and those of all the places.

    Let R be a size, and let the places be all choices of whole numbers of a price up to R. A move of size below R goes
    to one of them. So the least over them, or R if that is less, is certified (Lemma V2). Where there are many, only
    those with large steps are chosen, and the others move like any number.
    """
    if not isinstance(moves.norm, L1 | L2 | LInf):
        return relaxed
    open_ = np.flatnonzero(~meet(relaxed.radius, relaxed.upper) & (relaxed.radius > 0))
    if effort.budget.at is not None:
        open_ = open_[(relaxed.radius[open_] < effort.budget.at) & (relaxed.upper[open_] >= effort.budget.at)]
    if not isinstance(moves.norm, LInf):  # the verdict at one size is not that of the rest at the same size
        effort = replace(effort, budget=Budget(effort.budget.nodes))
    out = Bracket(relaxed.radius.copy(), relaxed.upper.copy(), relaxed.adversarial.copy(), relaxed.codes)
    most = FEW_PLACES if voter.encoding.warps else PLACES  # behind monotone maps a place takes a row's time
    for chosen, at, reach, owner, places in _lattice_blocks(moves, rows, relaxed, open_, effort.budget.at, most):
        fine = np.asarray(moves.integer) & ~chosen
        frozen = chosen if moves.frozen is None else moves.frozen | chosen
        rest = replace(moves, frozen=frozen, integer=fine if fine.any() else None)

        def of_rest(x: np.ndarray, y: np.ndarray, work: Effort, rest=rest) -> Bracket:
            return bracket(voter, rest, x, work, None, y)

        x = rows[at]
        price = moves.lengths(places - x[owner]) * _ROUNDED
        found = Bracket(reach, relaxed.upper[at].copy(), relaxed.adversarial[at].copy(), relaxed.codes[at])
        _over_places(voter, rest, x, found, owner, places, price, of_rest, effort)
        seen = np.isfinite(found.upper)
        out.adversarial[at[seen]] = found.adversarial[seen]
        out.upper[at[seen]] = moves.lengths(found.adversarial[seen] - x[seen])
        out.radius[at] = np.minimum(np.maximum(relaxed.radius[at], found.radius), out.upper[at])
    return out


def _lattice_blocks(
    moves: Moves, rows: np.ndarray, relaxed: Bracket, open_: np.ndarray, size: float | None, most: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """``(chosen, at, reach, owner, places)``: rows with the same chosen columns, and their places, some at a time."""
    waiting: dict[bytes, list] = {}

    def block(key: bytes) -> tuple:
        at, reach, places = zip(*waiting.pop(key), strict=True)
        owner = np.repeat(np.arange(len(at)), [len(each) for each in places])
        return np.frombuffer(key, bool), np.array(at), np.array(reach), owner, np.concatenate(places)

    for row in open_:
        lower, upper = relaxed.radius[row], relaxed.upper[row]
        chosen = coarse_columns(moves, rows[row], upper if size is None else min(upper, size), most)
        places, reach = offsets(replace(moves, integer=chosen), rows[row], lower, upper, size, most)
        if reach > lower:
            waiting.setdefault(chosen.tobytes(), []).append((int(row), reach, places))
            if sum(len(each[2]) for each in waiting[chosen.tobytes()]) > _PLACES:
                yield block(chosen.tobytes())
    for key in list(waiting):
        yield block(key)


def together(moves: Moves, price: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """The size of a move of some features of size ``price`` and of others of size ``radius``, from below."""
    if not price.any():
        return radius
    if isinstance(moves.norm, LInf):
        return np.maximum(price, radius)
    return (price + radius if isinstance(moves.norm, L1) else np.hypot(price, radius)) * _ROUNDED


def _nothing(rows: np.ndarray, codes: np.ndarray) -> Bracket:
    """Infinite bounds."""
    infinite = np.full(len(rows), np.inf)
    return Bracket(infinite, infinite.copy(), np.full(rows.shape, np.nan), codes)
