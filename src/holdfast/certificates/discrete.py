"""Categories and whole numbers, above the engines: every row that a row can become is bounded as a separate row."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from holdfast.base.blocks import single_threaded_blas
from holdfast.certificates.bracket import Bracket, Progress, bracket
from holdfast.certificates.certificate import meet
from holdfast.certificates.moves import Moves, Relations
from holdfast.certificates.questions import DEFAULT_BUDGET, UNIT, Effort
from holdfast.certificates.vote import NeighborVoter, Voter
from holdfast.certificates.witnesses import answer_changes

PLACES = 256  # most choices of whole numbers of one row; with more, the relaxed bound is kept
FEW_PLACES = 8  # the same, where the bound of each choice is slow
_DOUBLINGS = 40  # of a size, while few enough whole numbers are within it


def coarse_columns(moves: Moves, x: np.ndarray, size: float, most_places: int = PLACES) -> np.ndarray:
    """A mask of the whole-number features to enumerate within a size: those with the largest steps, as many as fit.

    The others may take any value, which is sound, and costs little where a step is small. If even the feature with the
    largest step has too many values, the mask has all of them.
    """
    integer = np.asarray(moves.integer)
    columns = np.flatnonzero(integer)
    unit = np.ones(len(x)) if moves.unit is None else moves.unit
    low, high = (side[0, columns] for side in moves.limits(x[None]))
    with np.errstate(invalid="ignore", over="ignore"):
        room = np.minimum(high, x[columns] + size * unit[columns]) - np.maximum(low, x[columns] - size * unit[columns])
        counts = np.floor(room) + 2.0
        order = np.argsort(unit[columns], kind="stable")
        few = np.cumprod(counts[order]) <= most_places
    if not few.any():
        return integer
    out = np.zeros(len(x), bool)
    out[columns[order[few]]] = True
    return out


def offsets(
    moves: Moves, x: np.ndarray, radius: float, upper: float, at: float | None, most_places: int = PLACES
) -> tuple[np.ndarray, float]:
    """All rows with other whole numbers, no farther than ``reach``, the row itself first; and ``reach``.

    Sizes outside of the known bounds ``radius`` and ``upper``, or other than ``at``, are of no interest; ``reach`` is
    ``radius`` if there are too many rows beyond.
    """
    columns = np.flatnonzero(np.asarray(moves.integer))
    low, high = (side[0, columns] for side in moves.limits(x[None]))
    unit = np.ones(len(columns)) if moves.unit is None else moves.unit[columns]

    def values(size: float) -> list[np.ndarray] | None:
        """The whole numbers within a size of each value, and the value; None if there are too many."""
        least = np.ceil(np.maximum(low, x[columns] - size * unit * (1 + 1e-9)))
        most = np.floor(np.minimum(high, x[columns] + size * unit * (1 + 1e-9)))
        counts = np.maximum(most - least + 1, 0) + (x[columns] != np.rint(x[columns]))
        if not np.isfinite(counts).all() or np.prod(np.maximum(counts, 1)) > most_places:
            return None
        return [
            np.unique(np.append(np.arange(a, b + 1), v)) for a, b, v in zip(least, most, x[columns], strict=True)
        ]  # fmt: skip

    size = upper if at is None else min(upper, at)
    choices = values(size)
    if choices is None:  # double a smaller size as long as there are few enough
        size = 2.0 * max(radius, 1e-300)
        choices, before = values(size), None
        for _ in range(_DOUBLINGS):
            if choices is None:
                break
            before, size = choices, 2.0 * size
            choices = values(size)
        size, choices = size / 2.0, before
    if choices is None:
        return x[None], radius
    places = np.tile(x, (int(np.prod([len(each) for each in choices])), 1))
    places[:, columns] = list(product(*choices))
    price = moves.lengths(places - x)
    order = np.argsort(price, kind="stable")
    return places[order[price[order] <= size * (1 + 1e-9)]], size


_PLACES = 8_192  # places that are made at once, to bound memory
_BATCH_ROWS = 256  # rows at once, where only the verdict at one size is needed
_WITNESSES = 3  # places of a row from which witnesses are searched, where whole numbers make that slow

Bound = Callable[[np.ndarray, np.ndarray, Effort], Bracket]  # (rows, codes, effort) -> their bounds


def bracket_threat(
    voter: Voter,
    moves: Moves,
    rows: np.ndarray,
    effort: Effort,
    progress: Progress | None = None,
) -> Bracket:
    """Bounds of every row (m, d) under a whole threat, whose ``check`` the rows have passed.

    A row of a class that is not attacked has infinite bounds (Lemma V4). ``progress`` gets the number of rows that are
    done, and of all.
    """
    with single_threaded_blas():  # once, in place of once for each call of predict
        codes = voter.predict(rows)
        chosen = np.arange(len(rows)) if moves.attacked is None else np.flatnonzero(np.isin(codes, moves.attacked))
        budget = effort.budget.metered(len(chosen))
        bounds = _all(voter, moves, rows[chosen], codes[chosen], replace(effort, budget=budget), progress)
        effort.budget.charge(chosen, budget)
    if len(chosen) == len(rows):
        return bounds
    out = _infinite_bounds(rows, codes)
    out.radius[chosen], out.upper[chosen], out.adversarial[chosen] = bounds.radius, bounds.upper, bounds.adversarial
    return out


def _all(voter, moves: Moves, rows, codes, effort: Effort, progress: Progress | None) -> Bracket:
    """Bounds of rows, all of which are attacked: the least over their categories, and over their whole numbers."""
    if not len(rows):
        return _infinite_bounds(rows, codes)
    categories = moves.categories

    def of_numbers(x: np.ndarray, y: np.ndarray, work: Effort, report: Progress | None = None) -> Bracket:
        relaxed = bracket(voter, moves, x, work, report, y)
        return relaxed if moves.integer is None or work.fast else _on_lattice(voter, moves, x, relaxed, work)

    if categories is None and effort.budget.at is None:
        return of_numbers(rows, codes, effort, progress)
    best = _infinite_bounds(rows, codes)
    priced = categories if categories is not None and categories.whole.size else None
    if priced is not None:
        effort = replace(effort, budget=replace(effort.budget, at=moves.norm.rest_at(effort.budget.at)))
    for part, owner, places in _blocks(rows) if categories is None else categories.blocks(rows, _PLACES):
        unchanged = np.arange(part.start, part.stop)
        if categories is not None:
            possible = possible_places(moves, categories.columns, rows[part][owner], places)
            owner, places = owner[possible] + part.start, places[possible]
        owner, places = np.concatenate([unchanged, owner]), np.vstack([rows[part], places])
        price = np.zeros(len(owner))
        if priced is not None:
            price = priced.price(moves, places - rows[owner]) * (1.0 - 1e-12)
        _over_places(voter, moves, rows, best, owner, places, price, of_numbers, effort)
        if progress is not None:
            progress(part.stop, len(rows))
    if priced is not None:
        known = np.isfinite(best.upper)
        best.upper[known] = priced.lengths(moves, best.adversarial[known] - rows[known])
        np.minimum(best.radius, best.upper, out=best.radius)
    return best


def _blocks(rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """The blocks of :meth:`Categories.blocks` where no category changes: rows without other places."""
    for start in range(0, len(rows), _BATCH_ROWS):
        yield slice(start, min(start + _BATCH_ROWS, len(rows))), np.empty(0, np.int64), np.empty((0, rows.shape[1]))


def possible_places(moves: Moves, columns: np.ndarray, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
    """True for changed rows that keep box and sides, and those relations in which no other feature can move."""
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
    best: Bracket,
    owner: np.ndarray,
    places: np.ndarray,
    price: np.ndarray,
    bound: Bound,
    effort: Effort,
) -> None:
    """Lower ``best`` to the least over places, each reached at a price; ``moves`` are the moves from there on.

    Places that are far by the fast bound are not searched: they cannot be the least, or the verdict is known.
    """
    codes, at = best.codes[owner], effort.budget.at
    # Places with another answer need no further move.
    defined = voter.chain.defined(places)  # elsewhere there is no answer, such as behind the logarithm of 0
    at_once = defined & moves.allows(places, places) & (places != rows[owner]).any(axis=1)
    at_once[at_once] = answer_changes(voter, rows[owner[at_once]], places[at_once], codes[at_once])
    size = price if effort.witness else np.full(len(price), np.inf)
    _lower(best, owner[at_once], price[at_once], size[at_once], places[at_once])
    left = np.flatnonzero(defined & ~at_once & (price < best.radius[owner]))
    if not left.size:
        return
    quick = replace(effort, fast=True, witness=False, budget=replace(effort.budget, spent=None, ended=None))
    radius = moves.norm.combine(price[left], bound(places[left], codes[left], quick).radius)
    # First the nearest place of each row: its witness is often nearer than all other places are.
    order, rank = _ranked(owner[left], radius)
    for batch in (order[rank == 0], order[rank > 0]):
        whose = owner[left[batch]]
        near = radius[batch] < (best.upper[whose] if at is None else np.minimum(best.upper[whose], at))
        if at is not None:
            near &= ~(best.upper[whose] < at)  # the verdict is known
        if effort.fast and not effort.witness:
            near[:] = False
        np.minimum.at(best.radius, whose[~near], radius[batch[~near]])
        batch = batch[near]
        if batch.size > _WITNESSES and effort.witness and moves.integer is not None:
            # With more whole numbers to choose, witnesses take long and rarely meet the bound: only the nearest places.
            part = left[batch]
            lower = _shared(bound, places[part], codes[part], owner[part], replace(effort, witness=False)).radius
            lower = np.maximum(radius[batch], moves.norm.combine(price[left[batch]], lower))
            by_bound, rank = _ranked(owner[left[batch]], lower)
            far = by_bound[rank >= _WITNESSES]
            np.minimum.at(best.radius, owner[left[batch[far]]], lower[far])
            batch = batch[by_bound[rank < _WITNESSES]]
        if batch.size:
            rest = _shared(bound, places[left[batch]], codes[left[batch]], owner[left[batch]], effort)
            lower = np.maximum(radius[batch], moves.norm.combine(price[left[batch]], rest.radius))
            upper = moves.norm.combine(price[left[batch]], rest.upper)
            _lower(best, owner[left[batch]], np.minimum(lower, upper), upper, rest.adversarial)


def _shared(bound: Bound, places: np.ndarray, codes: np.ndarray, owner: np.ndarray, effort: Effort) -> Bracket:
    """The bounds of places, which share what their owners have left of the budget."""
    out = _infinite_bounds(places, codes)
    shares = effort.budget.shared(owner)
    for share in np.unique(shares):
        at = np.flatnonzero(shares == share)
        budget = replace(effort.budget, work=int(share)).metered(at.size)
        part = bound(places[at], codes[at], replace(effort, budget=budget))
        effort.budget.charge(owner[at], budget)
        out.radius[at], out.upper[at], out.adversarial[at] = part.radius, part.upper, part.adversarial
    return out


def _ranked(owner: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places (at least one) in the order of owner and size, and the rank of each among those of its owner, from 0."""
    order = np.lexsort([size, owner])
    first = np.flatnonzero(np.append(True, np.diff(owner[order]) > 0))
    return order, np.arange(order.size) - np.repeat(first, np.diff(np.append(first, order.size)))


def _lower(best: Bracket, owner: np.ndarray, radius: np.ndarray, upper: np.ndarray, moved: np.ndarray) -> None:
    """Put the least radius and the smallest witness of each owner into ``best``."""
    np.minimum.at(best.radius, owner, radius)
    order = np.argsort(-upper, kind="stable")  # the smallest is written last
    better = order[upper[order] < best.upper[owner[order]]]
    best.adversarial[owner[better]], best.upper[owner[better]] = moved[better], upper[better]


def _on_lattice(voter: Voter, moves: Moves, rows: np.ndarray, relaxed: Bracket, effort: Effort) -> Bracket:
    """Bounds with whole numbers, where few enough of them are near: ``relaxed``, tightened by the bounds of all places.

    Let R be a size, and let the places be all choices of whole numbers of a price up to R. A move of size below R goes
    to one of them. So the least over them, or R if that is less, is certified (Lemma V2). Where there are too many,
    only features with large steps take whole numbers, and the others may take any value.
    """
    if not moves.norm.splits:
        return relaxed
    open_ = np.flatnonzero(~meet(relaxed.radius, relaxed.upper) & (relaxed.radius > 0))
    if effort.budget.at is not None:
        open_ = open_[(relaxed.radius[open_] < effort.budget.at) & (relaxed.upper[open_] >= effort.budget.at)]
    effort = replace(effort, budget=replace(effort.budget, at=moves.norm.rest_at(effort.budget.at)))
    out = Bracket(relaxed.radius.copy(), relaxed.upper.copy(), relaxed.adversarial.copy(), relaxed.codes)
    most = _most_places(voter, effort)
    for chosen, at, reach, owner, places in _lattice_blocks(moves, rows, relaxed, open_, effort.budget.at, most):
        fine = np.asarray(moves.integer) & ~chosen
        frozen = chosen if moves.frozen is None else moves.frozen | chosen
        rest = replace(moves, frozen=frozen, integer=fine if fine.any() else None)

        def of_rest(x: np.ndarray, y: np.ndarray, work: Effort, rest=rest) -> Bracket:
            return bracket(voter, rest, x, work, None, y)

        x = rows[at]
        price = moves.lengths(places - x[owner]) * (1.0 - 1e-12)
        best = Bracket(reach, relaxed.upper[at].copy(), relaxed.adversarial[at].copy(), relaxed.codes[at])
        budget = effort.budget.of(at)
        _over_places(voter, rest, x, best, owner, places, price, of_rest, replace(effort, budget=budget))
        effort.budget.put(at, budget)
        known = np.isfinite(best.upper)
        out.adversarial[at[known]] = best.adversarial[known]
        out.upper[at[known]] = moves.lengths(best.adversarial[known] - x[known])
        out.radius[at] = np.minimum(np.maximum(relaxed.radius[at], best.radius), out.upper[at])
    return out


def _most_places(voter: Voter, effort: Effort) -> int:
    """How many choices of whole numbers of a row to go through: fewer where every one takes long, many votes say."""
    most = voter.chain.most_variants
    if not isinstance(voter, NeighborVoter):
        return most
    place = voter.points.size * (2 + voter.n_neighbors // 2)  # the work of the fast bound, roughly
    return int(np.clip(max(effort.budget.work, DEFAULT_BUDGET) * UNIT // place, FEW_PLACES, most))


def _lattice_blocks(
    moves: Moves, rows: np.ndarray, relaxed: Bracket, open_: np.ndarray, size: float | None, most: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """``(chosen, at, reach, owner, places)``: rows with the same chosen columns and their places, block by block."""
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


def _infinite_bounds(rows: np.ndarray, codes: np.ndarray) -> Bracket:
    """Bounds of rows whose answers nothing changes."""
    infinite = np.full(len(rows), np.inf)
    return Bracket(infinite, infinite.copy(), np.full(rows.shape, np.nan), codes)
