"""A threat in arrays over all features of one model: which moves are possible, and which categories may change."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from holdfast.base.blocks import product_by_rows
from holdfast.certificates.norms import L2, Norm


def on_lattice(moved: np.ndarray, rows: np.ndarray, integer: np.ndarray) -> np.ndarray:
    """True for each row that has whole numbers, or its own values, in the features of the mask ``integer``."""
    values, own = moved[:, integer], rows[:, integer]
    return ((values == np.rint(values)) | (values == own)).all(axis=1)


def to_lattice(
    moved: np.ndarray, rows: np.ndarray, integer: np.ndarray, low: np.ndarray, high: np.ndarray, rounding: str
) -> np.ndarray:
    """Moved rows (m, d) with whole numbers in the features ``integer``, within ``low`` and ``high`` (m, d).

    ``rounding`` is "nearest", "outward" (away from the row) or "inward"; where there is no whole number within the
    limits, the value of the row is kept.
    """
    value, own = moved[:, integer], rows[:, integer]
    if rounding == "nearest":
        whole = np.rint(value)
    else:
        whole = np.where((value > own) == (rounding == "outward"), np.ceil(value), np.floor(value))
    lowest, highest = np.ceil(low[:, integer]), np.floor(high[:, integer])
    whole = np.where(lowest <= highest, np.clip(whole, lowest, highest), own)
    out = moved.copy()
    out[:, integer] = np.where(value == own, own, whole)
    return out


# A row may break a relation by this fraction of the sizes that are added, as 0.1 + 0.2 breaks "<= 0.3": more than the
# rounding of sums of up to a million terms.
TOLERANCE = 1e-9
_ROUNDS = 60  # of projections; a row that still breaks a relation then is no witness
_INSIDE = 1e-13  # how far inside a relation a projection aims, relative to the sizes that are added


class Relations(NamedTuple):
    """``A z ≤ b`` for every row z, before and after a move.

    Attributes
    ----------
    A : ndarray of shape (n_relations, d)
    b : ndarray of shape (n_relations,)
    """

    A: np.ndarray
    b: np.ndarray

    def sizes(self, rows: np.ndarray) -> np.ndarray:
        """``|A| |z| + |b|``: the sizes that are added in each relation of each row, (m, n_relations)."""
        return np.abs(rows) @ np.abs(self.A).T + np.abs(self.b)

    def broken(self, rows: np.ndarray) -> np.ndarray:
        """A mask (m, n_relations) of the relations that a row breaks by more than rounding can."""
        return rows @ self.A.T - self.b > TOLERANCE * self.sizes(rows)

    def room(self, rows: np.ndarray, slack: float) -> np.ndarray:
        """``b − A z + slack · sizes``, (m, n_relations); a row has the same room in any batch."""
        sizes = product_by_rows(np.abs(rows), np.abs(self.A)) + np.abs(self.b)
        return self.b - product_by_rows(rows, self.A) + slack * sizes

    def kept(self, moved: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """True for each moved row that keeps every relation in exact arithmetic.

        An equality, which is two opposite relations, is kept to rounding (1e-9 of the sizes that are added). Where the
        row before the move breaks a relation by rounding, the moved row may break it by as much.
        """
        value, size = moved @ self.A.T - self.b, self.sizes(moved)
        out = ~(value > TOLERANCE * size).any(axis=1)
        unclear = (np.abs(value) <= TOLERANCE * size) & ~self.equalities()
        for t, k in zip(*np.nonzero(unclear & out[:, None]), strict=True):
            now = _exact(self.A[k], moved[t], self.b[k])
            out[t] &= now <= 0 or now <= _exact(self.A[k], rows[t], self.b[k])
        return out

    def equalities(self) -> np.ndarray:
        """A mask of the relations whose opposite is there as well."""
        both = np.column_stack([self.A, self.b])
        return np.array([(both == -row).all(axis=1).any() for row in both], dtype=bool)

    def project(self, moved, rows, low, high, still: np.ndarray, unit: np.ndarray | None) -> np.ndarray:
        """Moved rows, projected onto the relations they break, one after the other, within ``low`` and ``high``.

        Projections alternate between halfspaces and the box, in units of the features; features of the mask ``still``
        do not change. A row that still breaks a relation at the end is drawn a little towards the row before the move,
        which keeps its relations.
        """
        todo = np.flatnonzero(np.isfinite(moved).all(axis=1))
        todo = todo[~self.kept(moved[todo], rows[todo])]
        if not todo.size:
            return moved
        out = moved.copy()
        z, low, high, x = moved[todo], low[todo], high[todo], rows[todo]
        scale = np.ones(len(still)) if unit is None else unit
        for _ in range(_ROUNDS):
            before = z
            for a, b in zip(self.A, self.b, strict=True):
                # Only features that can still move in the direction needed.
                move = np.where(still | ((z <= low) & (a > 0)) | ((z >= high) & (a < 0)), 0.0, a * scale)
                over = z @ a - b + _INSIDE * (np.abs(z) @ np.abs(a) + abs(b))
                length = np.einsum("md,md->m", move, move)
                step = np.divide(np.maximum(over, 0.0), length, out=np.zeros(len(z)), where=length > 0)
                z = np.clip(z - step[:, None] * move * scale, low, high)
            if np.array_equal(before, z):
                break
        kept = self.kept(z, x)
        if not kept.all() and not still.any():
            back = x[~kept] + (1.0 - 1e-6) * (z[~kept] - x[~kept])
            z[~kept] = np.clip(back, low[~kept], high[~kept])
        out[todo] = z
        return out


def _exact(a: np.ndarray, z: np.ndarray, b: float) -> Fraction:
    """``a · z − b`` in exact arithmetic."""
    terms = (Fraction(float(a[i])) * Fraction(float(z[i])) for i in np.flatnonzero(a))
    return sum(terms, Fraction(0)) - Fraction(float(b))


LIMIT = 10_000  # combinations of categories of one row: each is certified as a separate row, which takes time


@dataclass(frozen=True, eq=False)
class Category:
    """One column of numbers, or a group of columns of 0 and 1, and the values it can take."""

    name: str
    columns: np.ndarray  # (c,): its columns in the input of the model
    patterns: np.ndarray  # (n_values, c): the numbers in these columns for each value
    limited: bool  # do its changes count against max_changes?
    values: tuple | None = None  # what a column may become that an encoder reads: its number and its indicators change

    @property
    def one_hot(self) -> bool:
        """True if its columns are indicators that a user fills in, one of which is 1."""
        return len(self.columns) > 1 and self.values is None

    @property
    def whole(self) -> bool:
        """True if its values are whole numbers, a change of which has a price."""
        return False

    def becomes(self, rows: np.ndarray, choice: np.ndarray) -> np.ndarray:
        """The numbers in its columns after a change of each row to one of its values; NaN where there is none."""
        return self.patterns[choice]

    def current(self, rows: np.ndarray) -> np.ndarray:
        """The index of the value that each row has; −1 if it has none of them."""
        same = (rows[:, self.columns][:, None, :] == self.patterns).all(axis=2)
        return np.where(same.any(axis=1), same.argmax(axis=1), -1)


@dataclass(frozen=True, eq=False)
class WholeNumbers(Category):
    """Numbers that an encoder reads, and that stay whole: a change costs its size (Lemma C3).

    Numbers that the encoder does not tell apart have one image, so the nearest stands for them: it is the last pattern,
    with NaN for the number, where the encoder takes such numbers.
    """

    known: frozenset = frozenset()  # the whole numbers that the encoder tells apart
    low: float = -np.inf
    high: float = np.inf
    up: bool = True
    down: bool = True
    gaps: tuple[int, ...] = ()  # the coordinates that are 1 where there is no number, which none replaces

    @property
    def whole(self) -> bool:
        """True."""
        return True

    def becomes(self, rows: np.ndarray, choice: np.ndarray) -> np.ndarray:
        """The values of the choices; NaN for a gap, and where no other whole number is within the limits."""
        out = self.patterns[choice]
        for i in np.flatnonzero(np.isnan(out[:, 0])):
            out[i, 0] = self._nearest_other(rows[i, self.columns[0]])
        out[rows[:, list(self.gaps)].any(axis=1), 0] = np.nan
        return out

    def _nearest_other(self, x: float) -> float:
        """The whole number within the limits that is nearest to x, and that the encoder does not tell from others."""
        found = []
        for start, step, allowed in ((np.ceil(x), 1.0, self.up), (np.floor(x), -1.0, self.down)):
            value, step = start, step * max(1.0, np.spacing(abs(start)))
            while value in self.known or value == x:
                value += step
            if allowed and min(self.low, x) <= value <= max(self.high, x):
                found.append(value)
        return min(found, key=lambda value: abs(value - x), default=np.nan)


class Categories:
    """The categories of a row that may change, and how many of them together.

    :meth:`table` has one line for each choice: for each category the index of its new value, −1 if it stays. Of the
    limited ones up to ``max_changes`` change at once (None: all).
    """

    def __init__(self, groups, max_changes: int | None = None):
        self.groups = tuple(groups)
        limited = [g for g, group in enumerate(self.groups) if group.limited]
        most = len(limited) if max_changes is None else min(max_changes, len(limited))
        self._free = [g for g, group in enumerate(self.groups) if not group.limited]
        self._chosen = [subset for n in range(most + 1) for subset in combinations(limited, n)]  # that change together
        self.columns = np.concatenate([group.columns for group in self.groups])
        self.whole = np.array([group.columns[0] for group in self.groups if group.whole], dtype=np.int64)

    def count(self) -> int:
        """Number of lines of :meth:`table`, without making it; counting stops beyond 10⁹."""
        lines = 0
        for subset in self._chosen:
            sizes = [len(self.groups[g].patterns) for g in subset]
            sizes += [len(self.groups[g].patterns) + 1 for g in self._free]
            lines += int(np.prod(sizes, dtype=object)) if sizes else 1
            if lines > 10**9:  # far beyond LIMIT: no need to count on
                break
        return lines

    def table(self) -> np.ndarray:
        """All the choices, the first of which changes nothing: (n_choices, n_groups)."""
        lines = []
        for subset in self._chosen:
            where = [*subset, *self._free]
            values = [range(len(self.groups[g].patterns)) for g in subset]
            values += [range(-1, len(self.groups[g].patterns)) for g in self._free]
            for line in product(*values):
                choice = np.full(len(self.groups), -1, np.int64)
                choice[where] = line
                lines.append(choice)
        return np.array(lines)

    def blocks(self, rows: np.ndarray, most: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """``(part, owner, places)`` for a few rows at a time: every row that a row of the part can become.

        ``places`` are the changed rows, ``owner`` the number of the row (within the part) that each comes from; rows
        without a change are not among them. About ``most`` places are made at once.
        """
        table = self.table()[1:]
        step = max(1, most // max(len(table), 1))
        for start in range(0, len(rows), step):
            part = slice(start, min(start + step, len(rows)))
            current = np.column_stack([group.current(rows[part]) for group in self.groups])
            # Skip choices that name the value a row has already: the choice with −1 there is the same row.
            new = ((table == -1) | (table != current[:, None, :])).all(axis=2)
            owner, choice = np.nonzero(new)
            places = rows[part][owner]
            for g, group in enumerate(self.groups):
                changed = np.flatnonzero(table[choice, g] >= 0)
                places[np.ix_(changed, group.columns)] = group.becomes(places[changed], table[choice[changed], g])
            yield part, owner, places

    @property
    def at_no_cost(self) -> bool:
        """True if some of the changes cost nothing."""
        return any(not group.whole for group in self.groups)

    def price(self, moves: "Moves", delta: np.ndarray) -> np.ndarray:
        """The size of the changes of whole numbers alone, in moves (m, d)."""
        others = np.ones(delta.shape[1], bool)
        others[self.whole] = False
        return replace(moves, frozen=others).lengths(delta)

    def lengths(self, moves: "Moves", delta: np.ndarray) -> np.ndarray:
        """The size of moves (m, d) of whole numbers and of what ``moves`` lets move."""
        frozen = np.array(moves.frozen)
        frozen[self.whole] = False
        return replace(moves, frozen=frozen).lengths(delta)

    def problems(self, rows: np.ndarray) -> list[str]:
        """One sentence for each group of 0/1 columns in which a row has other values, or more than one 1."""
        out = []
        for group in self.groups:
            values = rows[:, group.columns]
            if not group.one_hot:
                continue
            bad = ~np.isin(values, (0.0, 1.0)).all(axis=1) | (values.sum(axis=1) > 1)
            if bad.any():
                out.append(
                    f"{int(bad.sum())} rows, the first is row {int(np.argmax(bad))}, do not have one 1 and else 0 in "
                    f"the columns of {group.name!r}: the columns of a group must hold 0 and 1 as the model takes them."
                )
        return out


@dataclass(frozen=True, eq=False)
class Moves:
    """Which moves δ of a row are possible, and how they are measured, in arrays over all features of one model.

    Sizes are in units: δ is measured as ``‖e‖``, ``e = δ / unit``.

    Attributes
    ----------
    norm : Norm
    unit : ndarray of shape (d,) or None
        None: all 1.
    lower, upper : ndarrays of shape (d,) or None
    frozen, only_up, only_down : bool ndarrays of shape (d,) or None
    relations : tuple of ndarrays (A, b), of shapes (n_relations, d) and (n_relations,), or None
        ``A (x + δ) ≤ b``: the moved row keeps them. Dropping them keeps a lower bound sound.
    slack : float
        Relations are relaxed by this fraction of ``|A| |x| + |b|``, row by row: a larger set of moves, for which the
        rounding of a row does not matter (Lemma V3).
    integer : bool ndarray of shape (d,) or None
        Features whose moved values are whole numbers. The engines ignore this, which is sound; witnesses obey it.
    categories : Categories or None
        Which categories may change. Their columns are frozen here: :mod:`holdfast.certificates.discrete` enumerates
        them, and asks the engines about the numbers alone.
    attacked : int ndarray or None
        Codes of the classes whose rows are attacked; None: all.
    labels : tuple of int or str
        The user's columns by name, or by number where they have no names: for messages and tables alone.
    gaps : mapping of int to sequence of int
        Column → the coordinates of which one is 1 where it has a gap.
    why_frozen : mapping
        Column (by label) that nothing moves or changes → "words", "no step reads it" or "by the threat".
    """

    norm: Norm = field(default_factory=L2)
    unit: np.ndarray | None = None
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    frozen: np.ndarray | None = None
    only_up: np.ndarray | None = None
    only_down: np.ndarray | None = None
    relations: tuple[np.ndarray, np.ndarray] | None = None
    integer: np.ndarray | None = None
    slack: float = 0.0
    categories: Categories | None = None
    attacked: np.ndarray | None = None
    labels: tuple[int | str, ...] = ()
    gaps: Mapping[int, Sequence[int]] = field(default_factory=dict)
    why_frozen: Mapping[int | str, str] = field(default_factory=dict)

    @property
    def at_no_cost(self) -> bool:
        """True if some category may change at no cost."""
        return self.categories is not None and self.categories.at_no_cost

    @property
    def enumerated(self) -> dict[int | str, tuple]:
        """Column that an encoder reads, and that may change → the values that are tried."""
        groups = () if self.categories is None else self.categories.groups
        return {
            self.labels[int(group.columns[0])]: tuple(np.array(group.values, dtype=object).tolist())
            for group in groups if group.values is not None
        }  # fmt: skip

    def of_numbers(self) -> "Moves":
        """The moves from a row whose categories stay as they are."""
        return replace(self, categories=None)

    def check(self, rows: np.ndarray) -> None:
        """Refuse rows that break the relations, or have no category; warn where nothing can move."""
        problems = [] if self.categories is None else self.categories.problems(rows)
        if self.categories is None and not self.can_move(rows.shape[1]).any():
            warnings.warn(
                "The threat lets nothing move: every feature is frozen, or can go neither up nor down, and no category "
                "may change. So every answer stands, which says nothing about the model. Free some feature.",
                UserWarning,
                stacklevel=3,
            )
        if self.relations is not None:
            A, b = self.relations
            for column, at in self.gaps.items():
                gap = rows[:, at].any(axis=1)
                if A[:, column].any() and gap.any():
                    problems.append(
                        f"A relation names {self._name(column)}, which has a gap in {int(gap.sum())} of {len(rows)} "
                        f"rows, the first is row {int(np.argmax(gap))}: leave out such rows, or drop the relation."
                    )
            broken = Relations(A, b).broken(rows)
            for k in np.flatnonzero(broken.any(axis=0)):
                terms = " + ".join(f"{A[k, i]:g} {self._name(int(i))}" for i in np.flatnonzero(A[k])).replace(
                    "+ -", "- "
                )
                problems.append(
                    f"{int(broken[:, k].sum())} of {len(rows)} rows break the relation {terms} <= {b[k]:g} before any "
                    f"move, the first is row {int(np.argmax(broken[:, k]))}: correct or leave out such rows, or drop "
                    "the relation."
                )
        if problems:
            raise ValueError(" ".join(problems))

    def _name(self, column: int) -> str:
        label = self.labels[column]
        return label if isinstance(label, str) else f"feature {label}"

    @property
    def confined(self) -> bool:
        """True if a moved input must stay in a box, or can only grow or only shrink."""
        return any(limit is not None for limit in (self.lower, self.upper, self.only_up, self.only_down))

    @property
    def boxed(self) -> bool:
        """True if a moved input is confined, and distances in its norm can take that into account."""
        return self.confined and self.norm.uses_box

    def free(self, d: int) -> np.ndarray:
        """Indices of those of d inputs that are not frozen."""
        return np.arange(d) if self.frozen is None else np.flatnonzero(~self.frozen)

    def can_move(self, d: int) -> np.ndarray:
        """Which of d inputs can go up or down at all; a mask."""
        out = np.zeros(d, bool)
        out[self.free(d)] = True
        if self.only_up is not None and self.only_down is not None:
            out &= ~(self.only_up & self.only_down)
        return out

    @cached_property
    def free_norm(self) -> Norm:
        """The norm of a move of the free inputs."""
        return self.norm if self.frozen is None else self.norm.restricted(np.flatnonzero(~self.frozen))

    def in_units(self, columns: np.ndarray) -> np.ndarray:
        """The free columns of a map of δ, as a map of ``e = δ / unit``."""
        free = self.free(columns.shape[1])
        return np.ascontiguousarray(columns[:, free] if self.unit is None else columns[:, free] * self.unit[free])

    def in_units_of(self, beta: float, d: int) -> "Moves":
        """The same moves of d inputs, measured in units ``beta`` times as large."""
        return replace(self, unit=beta * (np.ones(d) if self.unit is None else self.unit))

    def room(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The room of each free input, down and up, in units: two arrays (m, n_free)."""
        d = inputs.shape[1]
        free = self.free(d)
        x = np.ascontiguousarray(np.asarray(inputs, dtype=np.float64)[:, free])
        down, up = np.full(x.shape, np.inf), np.full(x.shape, np.inf)
        if self.lower is not None:
            down = np.maximum(x - np.broadcast_to(self.lower, d)[free], 0.0)
        if self.upper is not None:
            up = np.maximum(np.broadcast_to(self.upper, d)[free] - x, 0.0)
        if self.only_up is not None:
            down[:, self.only_up[free]] = 0.0
        if self.only_down is not None:
            up[:, self.only_down[free]] = 0.0
        if self.unit is not None:
            # Rounded outwards: a box that is a hair too large keeps a lower bound sound.
            down, up = (side / self.unit[free] * (1.0 + 4 * np.finfo(float).eps) for side in (down, up))
        return down, up

    def lengths(self, delta: np.ndarray) -> np.ndarray:
        """The size of moves of all inputs (m, d)."""
        free = self.free(delta.shape[1])
        return self.free_norm.lengths(delta[:, free] if self.unit is None else delta[:, free] / self.unit[free])

    def spread(self, move: np.ndarray, d: int) -> np.ndarray:
        """Moves of the free inputs in units (m, n_free) as moves of all inputs (m, d)."""
        out = np.zeros((move.shape[0], d))
        free = self.free(d)
        out[:, free] = move if self.unit is None else move * self.unit[free]
        return out

    def limits(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest value of every feature of moved rows: two arrays (m, d)."""
        low = np.full(rows.shape, -np.inf) if self.lower is None else np.minimum(self.lower, rows)
        high = np.full(rows.shape, np.inf) if self.upper is None else np.maximum(self.upper, rows)
        if self.only_up is not None:
            low = np.where(self.only_up, rows, low)
        if self.only_down is not None:
            high = np.where(self.only_down, rows, high)
        if self.frozen is not None:
            low, high = np.where(self.frozen, rows, low), np.where(self.frozen, rows, high)
        return low, high

    def enforce(self, moved: np.ndarray, rows: np.ndarray, rounding: str = "nearest") -> np.ndarray:
        """Moved rows, brought back into the set of possible rows: box, one side, whole numbers, relations.

        A row that is allowed already stays as it is. Relations are met by moving the features that need not be whole
        numbers; where that does not succeed the row still violates them, so :meth:`allows` must be checked.

        Parameters
        ----------
        moved, rows : ndarrays of shape (m, d)
            Where rows moved to, and where they were.
        rounding : {"nearest", "outward", "inward"}
            To which whole number: away from the row, or towards it.
        """
        low, high = self.limits(rows)
        moved = np.clip(moved, low, high)
        if self.integer is not None:
            moved = to_lattice(moved, rows, self.integer, low, high, rounding)
        if self.relations is not None:
            still = np.zeros(rows.shape[1], bool) if self.integer is None else self.integer
            moved = Relations(*self.relations).project(moved, rows, low, high, still, self.unit)
        return moved

    def allows(self, moved: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """True for each moved row that keeps every limit, without any tolerance."""
        low, high = self.limits(rows)
        with np.errstate(invalid="ignore"):
            inside = np.all((moved >= low) & (moved <= high), axis=1)
        if self.integer is not None:
            inside = inside & on_lattice(moved, rows, self.integer)
        if self.relations is not None:
            inside[inside] = Relations(*self.relations).kept(moved[inside], rows[inside])
        return inside

    def relaxed(self) -> "Moves":
        """The same moves for the engines: relations with room for the rounding of every row, which is sound."""
        return self if self.relations is None else replace(self, slack=2.0 * TOLERANCE)

    def relation_halfspaces(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``A (x + δ) ≤ b`` as halfspaces ``a · e ≥ c`` of the free inputs in units, a little wider than they are."""
        if self.relations is None:
            return np.empty((0, self.free(len(x)).size)), np.empty(0)
        A, b = self.relations
        room = TOLERANCE * (np.abs(A) @ np.abs(x) + np.abs(b))  # a bound may not hang on the rounding of a relation
        return -self.in_units(A), A @ x - b - room

    def relation_room(self, inputs: np.ndarray | None) -> np.ndarray:
        """The room left in every relation at each input: (m, n_relations)."""
        assert self.relations is not None
        if inputs is None:
            raise ValueError("Relations are on the moved inputs: the engine needs inputs as well as queries.")
        return Relations(*self.relations).room(inputs, self.slack)
