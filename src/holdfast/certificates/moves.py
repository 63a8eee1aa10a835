"""A threat in arrays over all features of one model, as the engines take it."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
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
    """Moved rows with whole numbers in the features ``integer``, within ``low`` and ``high``.

    Parameters
    ----------
    moved, rows : ndarrays of shape (m, d)
    integer : bool ndarray of shape (d,)
    low, high : ndarrays of shape (m, d)
        Limits of every value.
    rounding : {"nearest", "outward", "inward"}
        To which whole number: away from the row, or towards it.

    Returns
    -------
    ndarray of shape (m, d)
        Where there is no whole number within the limits, the value of the row is kept.
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
