"""The user's rows as numbers: one coordinate for each column, one more for each category and for each gap."""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Number
from typing import Any

import numpy as np

from holdfast.certificates.moves import Moves

NEUTRAL = {"unit": 1.0, "lower": -np.inf, "upper": np.inf}  # what stands for "no limit" in an array of Moves


def key(value) -> Any:
    """A value as a key of a dict: every kind of NaN is one key, numpy's numbers are Python's."""
    if value is None:
        return "none", None
    if isinstance(value, np.generic):
        value = value.item()
    try:
        if value != value:
            return "nan", None
    except TypeError:  # pandas.NA compares as neither true nor false
        return "nan", None
    return "value", value


@dataclass(frozen=True, eq=False)
class Warp:
    """A coordinate ``t = g(weight · x + offset)`` of one column x.

    Attributes
    ----------
    source : int
        The column.
    weight, offset : float
        The affine steps before g.
    filled : float or None
        The input of g where x has a gap; None if nothing was filled in.
    map : Monotone
        g.
    """

    source: int
    weight: float
    offset: float
    filled: float | None
    map: Any

    def same_as(self, other: "Warp") -> bool:
        """True for the same column of the same step."""
        mine, theirs = self.map, other.map
        same = (self.source, self.weight, self.offset) == (other.source, other.weight, other.offset)
        return same and mine.step == theirs.step and mine.column == theirs.column

    def inner(self, x):
        """The input of g."""
        return self.weight * x + self.offset


@dataclass
class Kinds:
    """The kind of each of the user's columns (numbers, categories), found while the steps are read.

    Attributes
    ----------
    categories : dict of int to list
        Column → the values that its encoders and imputers name, NaN and None.
    gaps : set of int
        Columns of numbers that an imputer looks for gaps in.
    warps : list of Warp
        Columns that a monotone step bends.
    selected : bool
        Whether some step takes columns of its choice, so that others may be of any kind.
    """

    categories: dict[int, list] = field(default_factory=dict)
    gaps: set[int] = field(default_factory=set)
    warps: list[Warp] = field(default_factory=list)
    selected: bool = False

    def add_values(self, column: int, values) -> bool:
        """Take a column for categories, with these values among them; False if nothing is new."""
        fresh = column not in self.categories
        known = self.categories.setdefault(column, [])
        seen = {key(value) for value in known}
        for value in [*values, *([np.nan, None] if fresh else [])]:
            if key(value) not in seen:
                known.append(value)
                seen.add(key(value))
                fresh = True
        return fresh


@dataclass(frozen=True)
class Encoding:
    """``x̃ = (numbers, gaps, indicators)``: every step of a pipeline is an affine map of it.

    The first ``n_columns`` coordinates are the user's columns: their numbers, 0 for words and gaps. Then comes an
    indicator for every column of ``gaps``, and for every column of ``categories`` an indicator for each value and for
    any other value. Only numbers move: see :meth:`moves`.

    Attributes
    ----------
    n_columns : int
    names : sequence of str or None
        Of the columns.
    categories : dict of int to tuple
    gaps : tuple of int
    warps : tuple of Warp
        Coordinates at the end that are computed from those of columns; see :meth:`refreshed`.
    read : frozenset of int or None
        Columns that matter; None: all.
    """

    n_columns: int
    names: Any = None
    categories: dict[int, tuple] = field(default_factory=dict)
    gaps: tuple[int, ...] = ()
    warps: tuple[Warp, ...] = ()
    read: frozenset[int] | None = None

    @cached_property
    def indicators(self) -> dict[int, range]:
        """Column of categories → its coordinates, the last one for values that no step knows."""
        out, start = {}, self.n_columns + len(self.gaps)
        for column, values in self.categories.items():
            out[column] = range(start, start + len(values) + 1)
            start += len(values) + 1
        return out

    @property
    def size(self) -> int:
        """Coordinates of an encoded row."""
        indicators = sum(len(values) + 1 for values in self.categories.values())
        return self.n_columns + len(self.gaps) + indicators + len(self.warps)

    @property
    def plain(self) -> bool:
        """True if rows are encoded as they are."""
        return self.size == self.n_columns and self.read is None

    def gap(self, column: int) -> int:
        """The coordinate that is 1 where a column of numbers has a gap."""
        return self.n_columns + self.gaps.index(column)

    @cached_property
    def _codes(self) -> dict[int, dict]:
        return {j: {key(value): i for i, value in enumerate(values)} for j, values in self.categories.items()}

    def encode(self, X) -> np.ndarray:
        """Rows of the user, a frame or an array, as rows of numbers."""
        columns = columns_of(X)
        out = np.zeros((len(columns[0]), self.size))
        for j, column in enumerate(columns):
            if j in self.categories:
                codes = self._codes[j]
                other = len(codes)
                at = self.indicators[j].start + np.array([codes.get(key(value), other) for value in column])
                out[np.arange(len(out)), at] = 1.0
                out[:, j] = [_as_number(value) for value in column]
            elif self.read is None or j in self.read:
                values = self._numbers(column, j)
                missing = np.isnan(values)
                if missing.any() and j not in self.gaps:
                    raise ValueError(f"X contains NaN in column {self.name(j)}, and no step of the model fills it in.")
                out[:, j] = np.where(missing, 0.0, values)
                if j in self.gaps:
                    out[:, self.gap(j)] = missing
        return self.refreshed(out)

    def refreshed(self, rows: np.ndarray) -> np.ndarray:
        """Encoded rows with the coordinates of warps computed from the columns."""
        if not self.warps:
            return rows
        rows, first = rows.copy(), self.size - len(self.warps)
        inner, _, lost = self.inputs(rows)
        rows[:, first:] = np.where(lost, 0.0, self.bend(inner))
        return rows

    def inputs(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The inputs of the warps' maps, by how much the model's own may differ from them, and which are gaps.

        Three arrays (m, n_warps). Where nothing comes before a map, its input is the number in the row itself.
        """
        inner, error, lost = (np.zeros((len(rows), len(self.warps))) for _ in range(3))
        for i, warp in enumerate(self.warps):
            gap = rows[:, self.gap(warp.source)] > 0 if warp.source in self.gaps else np.zeros(len(rows), bool)
            x = rows[:, warp.source]
            known = warp.inner(x)
            inner[:, i] = np.where(gap, known if warp.filled is None else warp.filled, known)
            if (warp.weight, warp.offset) != (1.0, 0.0):
                error[:, i] = 1e-14 * (np.abs(warp.weight * x) + np.abs(inner[:, i]) + abs(warp.offset))
            lost[:, i] = gap & (warp.filled is None)
        return inner, error, lost > 0

    def blur(self, rows: np.ndarray) -> np.ndarray:
        """By how much rounding before a monotone map may change each coordinate of rows: more than that at a jump."""
        out = np.zeros_like(rows)
        if not self.warps:
            return out
        inner, error, _ = self.inputs(rows)
        width = np.abs(self.bend(inner + error) - self.bend(inner - error))
        out[:, self.size - len(self.warps) :] = np.nan_to_num(width)
        return out

    def bend(self, inner: np.ndarray) -> np.ndarray:
        """The warps' maps of their inputs (m, n_warps), with one call of each step."""
        out = np.empty_like(inner)
        for step in {id(warp.map.step): warp.map for warp in self.warps}.values():
            at = [i for i, warp in enumerate(self.warps) if warp.map.step is step.step]
            columns = [self.warps[i].map.column for i in at]
            twice = len(set(columns)) < len(columns)  # one column of a step that is met in two places
            for part in [[i] for i in at] if twice else [at]:
                probe = np.ones((len(inner), step.width))
                probe[:, [self.warps[i].map.column for i in part]] = inner[:, part]
                out[:, part] = step.images(probe)[:, [self.warps[i].map.column for i in part]]
        return out

    def _numbers(self, column, j: int) -> np.ndarray:
        """A column as float64."""
        try:
            values = np.array([np.nan if key(value)[0] != "value" else float(value) for value in column])
        except (TypeError, ValueError):
            raise ValueError(f"Column {self.name(j)} holds words, but the model takes it for numbers.") from None
        if np.isinf(values).any():
            raise ValueError(f"X contains infinity in column {self.name(j)}.")
        return values

    def decode(self, rows: np.ndarray, X=None):
        """Encoded rows as rows of the user's kind: a frame where the columns have names, else an array.

        Parameters
        ----------
        rows : ndarray of shape (m, size)
        X : frame or array of m rows, optional
            Where values come from that the encoding does not keep: words no step knows, columns no step reads.
        """
        given = None if X is None else columns_of(X)
        out: list[np.ndarray] = []
        for j in range(self.n_columns):
            if j in self.categories:
                values, last = self.categories[j], len(self.categories[j])
                code = rows[:, list(self.indicators[j])].argmax(axis=1)
                other = list(rows[:, j]) if numeric(values) else [unknown(values)] * len(rows)
                other = other if given is None else list(given[j])
                out.append(as_column([values[c] if c < last else other[i] for i, c in enumerate(code)], values))
            elif self.read is None or j in self.read:
                gap = rows[:, self.gap(j)] > 0 if j in self.gaps else False
                out.append(np.where(gap, np.nan, rows[:, j]))
            else:
                out.append(np.zeros(len(rows)) if given is None else as_column(given[j], given[j]))
        return as_rows(out, self.names)

    def moves(self, moves: Moves) -> Moves:
        """Moves of the user's columns as moves of encoded rows, in which categories and indicators stand still."""
        if self.plain:
            return moves
        changed: dict[str, Any] = {}
        extra = self.size - self.n_columns
        for name in (each.name for each in fields(moves)):
            value = getattr(moves, name)
            if isinstance(value, np.ndarray) and value.shape == (self.n_columns,):
                changed[name] = np.append(value, np.full(extra, NEUTRAL.get(name, 0), dtype=value.dtype))
        if moves.relations is not None:
            A, b = moves.relations
            changed["relations"] = (np.hstack([A, np.zeros((len(A), extra))]), b)
        frozen = np.zeros(self.size, bool) if moves.frozen is None else changed["frozen"]
        frozen[self.n_columns :] = True
        frozen[list(self.categories)] = True
        if self.read is not None:
            frozen[[j for j in range(self.n_columns) if j not in self.read]] = True
        return replace(moves, **changed | {"frozen": frozen})

    def patterns(self, rows: np.ndarray, moves: Moves) -> list[tuple[np.ndarray, Moves]]:
        """Rows with the same gaps, as their numbers, with the moves they have: what was filled in stands still."""
        if not self.gaps:
            return [(np.arange(len(rows)), moves)]
        gaps = rows[:, self.n_columns : self.n_columns + len(self.gaps)] > 0
        found, which = np.unique(gaps, axis=0, return_inverse=True)
        out = []
        for number, pattern in enumerate(found):
            frozen = np.array(moves.frozen)
            frozen[np.array(self.gaps)[pattern]] = True
            out.append((np.flatnonzero(which.ravel() == number), replace(moves, frozen=frozen)))
        return out

    def name(self, column: int) -> str:
        """A column as users call it."""
        return str(column) if self.names is None else repr(str(self.names[column]))


def columns_of(X) -> list:
    """The columns of a frame or of an array, as sequences."""
    if hasattr(X, "columns"):
        return [list(X[name]) for name in X.columns]
    X = np.asarray(X, dtype=object) if not isinstance(X, np.ndarray) else X
    return [X[:, j] for j in range(X.shape[1])]


def as_column(values, kind) -> np.ndarray:
    """Values as a column: float64 if ``kind`` are numbers (and no value is None), else of objects."""
    if numeric(kind) and all(key(value)[0] != "none" and isinstance(_plain(value), Number) for value in values):
        return np.array([float(value) for value in values])
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out


def as_rows(columns: list[np.ndarray], names):
    """Columns as a frame if they have names, else as an array."""
    if names is None:
        alike = all(column.dtype == np.float64 for column in columns)
        out = np.empty((len(columns[0]), len(columns)), dtype=np.float64 if alike else object)
        for j, column in enumerate(columns):
            out[:, j] = column
        return out
    from pandas import DataFrame  # installed: the names came from a data frame

    return DataFrame(dict(zip(names, columns, strict=True)))


def numeric(values) -> bool:
    """True if all values, but for NaN and None, are numbers, and some are."""
    present = [_plain(value) for value in values if key(value)[0] == "value"]
    return bool(present) and all(isinstance(value, Number) for value in present)


def unknown(values) -> Any:
    """A value that is none of these, of their kind."""
    if numeric(values):
        return max(float(value) for value in values if key(value)[0] == "value") + 1.0
    return "no such category"


def _as_number(value) -> float:
    """The number that a value is; 0 for words and gaps."""
    value = _plain(value)
    return float(value) if isinstance(value, int | float) and value == value else 0.0


def _plain(value):
    return value.item() if isinstance(value, np.generic) else value
