"""The user's rows as numbers, and back."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Number
from typing import Any

import numpy as np

from holdfast.base.affine import AffineMap
from holdfast.certificates.moves import Moves


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


def columns_of(X) -> list:
    """The columns of a frame or of an array, as sequences."""
    if hasattr(X, "columns"):
        return [list(X[name]) for name in X.columns]
    X = np.asarray(X, dtype=object) if not isinstance(X, np.ndarray) else X
    return [X[:, j] for j in range(X.shape[1])]


def as_column(values, kind) -> np.ndarray:
    """Values as a column: float64 if ``kind`` are numbers (and no value is None), else of objects."""
    if numeric(kind) and all(key(value)[0] != "none" and isinstance(_to_python(value), Number) for value in values):
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
    present = [_to_python(value) for value in values if key(value)[0] == "value"]
    return bool(present) and all(isinstance(value, Number) for value in present)


def words(values) -> bool:
    """True if all values, but for NaN and None, are strings."""
    return all(isinstance(_to_python(value), str | bytes) for value in values if key(value)[0] == "value")


def unknown(values) -> Any:
    """An example of a value that is none of these, of the same kind (number or string)."""
    if numeric(values):
        return max(float(value) for value in values if key(value)[0] == "value") + 1.0
    return "no such category"


def as_number(value) -> float:
    """The number that a value is; 0 for words and gaps."""
    value = _to_python(value)
    return float(value) if isinstance(value, int | float) and value == value else 0.0


def _to_python(value):
    return value.item() if isinstance(value, np.generic) else value


NEUTRAL = {"unit": 1.0, "lower": -np.inf, "upper": np.inf}  # the entries of arrays of Moves that limit nothing


@dataclass(frozen=True)
class Encoding:
    """``x̃ = (numbers, gaps, indicators)``: every step of a pipeline is an affine map of it.

    The first ``n_columns`` coordinates are the user's columns: their numbers, 0 for words and gaps. Then comes an
    indicator for every column of ``gaps``, and for every column of ``categories`` an indicator for each value and for
    any other value. Only numbers that no encoder reads move: see :meth:`moves`.

    Attributes
    ----------
    n_columns : int
    names : sequence of str or None
        Of the columns.
    categories : dict of int to tuple
    gaps : tuple of int
    read : frozenset of int or None
        Columns that some step reads; None: all.
    unseen, filled, refused : dict of int to set of int
        Column of categories → codes of the values that an encoder was not fitted on, that an imputer replaces before
        one, and that one does not take.
    also_numbers : frozenset of int
        Columns of categories whose numbers some step reads besides.
    """

    n_columns: int
    names: Any = None
    categories: dict[int, tuple] = field(default_factory=dict)
    gaps: tuple[int, ...] = ()
    read: frozenset[int] | None = None
    unseen: dict[int, set[int]] = field(default_factory=dict)
    filled: dict[int, set[int]] = field(default_factory=dict)
    refused: dict[int, set[int]] = field(default_factory=dict)
    also_numbers: frozenset[int] = frozenset()

    @cached_property
    def indicators(self) -> dict[int, range]:
        """Column of categories → its coordinates, the last one for values that no step knows."""
        out, start = {}, self.n_columns + len(self.gaps)
        for column, values in self.categories.items():
            out[column] = range(start, start + len(values) + 1)
            start += len(values) + 1
        return out

    @cached_property
    def encoded_numbers(self) -> list[int]:
        """Columns that an encoder reads, and that hold no words: numbers, True and False, dates."""
        return [j for j, values in self.categories.items() if not words(values)]

    @property
    def size(self) -> int:
        """Coordinates of an encoded row."""
        indicators = sum(len(values) + 1 for values in self.categories.values())
        return self.n_columns + len(self.gaps) + indicators

    @property
    def keeps_rows(self) -> bool:
        """True if rows are encoded as they are: all columns are numbers without gaps, and all are read."""
        return self.size == self.n_columns and self.read is None

    def gap(self, column: int) -> int:
        """The coordinate that is 1 where a column of numbers has a gap."""
        return self.n_columns + self.gaps.index(column)

    def gap_codes(self, column: int) -> list[int]:
        """The coordinates of which one is 1 where a column of categories has a gap."""
        at = zip(self.indicators[column], self.categories[column], strict=False)  # the last is for unknown values
        return [place for place, value in at if key(value)[0] != "value"]

    @cached_property
    def _codes(self) -> dict[int, dict]:
        return {j: {key(value): i for i, value in enumerate(values)} for j, values in self.categories.items()}

    def encode(self, X) -> np.ndarray:
        """Rows of the user, a frame or an array, as rows of numbers."""
        columns = columns_of(X)
        out = np.zeros((len(columns[0]), self.size))
        for j, column in enumerate(columns):
            if j in self.categories:
                self._check_words(column, j)
                codes = self._codes[j]
                other = len(codes)
                at = self.indicators[j].start + np.array([codes.get(key(value), other) for value in column])
                out[np.arange(len(out)), at] = 1.0
                out[:, j] = [as_number(value) for value in column]
            elif self.read is None or j in self.read:
                values = self.numbers(column, j)
                missing = np.isnan(values)
                if missing.any() and j not in self.gaps:
                    raise ValueError(f"X contains NaN in column {self.name(j)}, and no step of the model fills it in.")
                out[:, j] = np.where(missing, 0.0, values)
                if j in self.gaps:
                    out[:, self.gap(j)] = missing
        return out

    def _check_words(self, column, j: int) -> None:
        """Raise ``ValueError`` for numbers whose categories are words, as after a recoding of yes to 1; or words for
        numbers."""
        known = [value for value in self.categories[j] if key(value)[0] == "value"]
        if known and all(isinstance(value, str) for value in known) and numeric(column):
            raise ValueError(
                f"Column {self.name(j)} holds numbers, but the model was fitted on words there, such as {known[0]!r}."
            )
        word = next((value for value in column if isinstance(value, str)), None) if numeric(known) else None
        if word is not None:
            raise ValueError(
                f"Column {self.name(j)} holds words, such as {word!r}, but the model was fitted on numbers."
            )

    def numbers(self, column, j: int) -> np.ndarray:
        """Column j as float64, NaN for gaps."""
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
            The source of values that the encoding does not keep: words no step knows, columns no step reads.
        """
        given = None if X is None else columns_of(X)
        out: list[np.ndarray] = []
        for j in range(self.n_columns):
            if j in self.categories:
                values, last = self.categories[j], len(self.categories[j])
                code = rows[:, list(self.indicators[j])].argmax(axis=1)
                other = list(rows[:, j]) if numeric(values) else [unknown(values)] * len(rows)
                if given is not None:  # a number may have moved
                    moved = zip(other, given[j], strict=True)
                    other = [n if numeric(values) and n != as_number(cell) else cell for n, cell in moved]
                out.append(as_column([values[c] if c < last else other[i] for i, c in enumerate(code)], values))
            elif self.read is None or j in self.read:
                gap = rows[:, self.gap(j)] > 0 if j in self.gaps else False
                out.append(np.where(gap, np.nan, rows[:, j]))
            else:
                out.append(np.zeros(len(rows)) if given is None else as_column(given[j], given[j]))
        return as_rows(out, self.names)

    def moves(self, moves: Moves) -> Moves:
        """Moves of the user's columns as moves of encoded rows, in which categories and indicators are frozen.

        Columns of :attr:`encoded_numbers` are frozen here, too: what they become is enumerated, or the threat says that
        they do not move.
        """
        if self.keeps_rows:
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
        if moves.integer is not None:
            whole = changed["integer"] & ~frozen
            changed["integer"] = whole if whole.any() else None
        return replace(moves, **changed | {"frozen": frozen})

    def patterns(self, rows: np.ndarray, moves: Moves) -> list[tuple[np.ndarray, Moves]]:
        """Groups of rows with the same gaps: their numbers, and their moves, in which values filled in are frozen."""
        if not self.gaps:
            return [(np.arange(len(rows)), moves)]
        gaps = rows[:, self.n_columns : self.n_columns + len(self.gaps)] > 0
        distinct, which = np.unique(gaps, axis=0, return_inverse=True)
        out = []
        for number, pattern in enumerate(distinct):
            frozen = np.array(moves.frozen)
            frozen[np.array(self.gaps)[pattern]] = True
            out.append((np.flatnonzero(which.ravel() == number), replace(moves, frozen=frozen)))
        return out

    def gaps_filled(self, rows: np.ndarray) -> dict[int | str, np.ndarray]:
        """Column → mask of the encoded rows in which an imputer fills it in."""
        out = {self.label(j): rows[:, self.gap(j)] > 0 for j in self.gaps}
        return out | {self.label(j): self._has(rows, j, self.filled[j]) for j in self.filled}

    def unknown_words(self, rows: np.ndarray) -> dict[int | str, np.ndarray]:
        """Column of categories → mask of the encoded rows that have a value there which no encoder was fitted on."""
        return {self.label(j): self._has(rows, j, self.unseen[j] - self.filled.get(j, set())) for j in self.unseen}

    def _has(self, rows: np.ndarray, column: int, codes: set[int]) -> np.ndarray:
        at = [self.indicators[column][code] for code in sorted(codes)]
        return np.asarray((rows[:, at] > 0).any(axis=1))

    def label(self, column: int) -> int | str:
        """The name of a column, or its number where columns have no names."""
        return column if self.names is None else str(self.names[column])

    def name(self, column: int) -> str:
        """A column as users call it."""
        return str(column) if self.names is None else repr(str(self.names[column]))


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
    unseen, filled, refused : dict of int to set of int
        Column → codes of the values that an encoder was not fitted on, that an imputer replaces before one, and that
        one does not take; they hold for the last reading of the steps.
    """

    categories: dict[int, list] = field(default_factory=dict)
    gaps: set[int] = field(default_factory=set)
    warps: list = field(default_factory=list)
    selected: bool = False
    unseen: dict[int, set[int]] = field(default_factory=dict)
    filled: dict[int, set[int]] = field(default_factory=dict)
    refused: dict[int, set[int]] = field(default_factory=dict)

    def add_values(self, column: int, values) -> bool:
        """Record that a column holds categories, these values among them; False if nothing is new."""
        fresh = column not in self.categories
        known = self.categories.setdefault(column, [])
        keys = {key(value) for value in known}
        for value in [*values, *([np.nan, None] if fresh else [])]:
            if key(value) not in keys:
                known.append(value)
                keys.add(key(value))
                fresh = True
        return fresh


@dataclass(frozen=True)
class Word:
    """A column whose value is a function of the category in one of the user's columns.

    Attributes
    ----------
    source : int
        That column.
    values : tuple
        The word for each of its categories, in the order of ``Encoding.indicators``.
    """

    source: int
    values: tuple


@dataclass(frozen=True)
class Table:
    """Columns of numbers and of words.

    Attributes
    ----------
    encoding : Encoding
    map : AffineMap
        From encoded rows to the columns; rows of zeros for words.
    words : tuple of Word or None
        One entry for each column; None for numbers.
    gap : tuple of int or None
        For each column of numbers the user's column whose gap makes it NaN, if there is one.
    """

    encoding: Encoding
    map: AffineMap
    words: tuple[Word | None, ...]
    gap: tuple[int | None, ...]

    @classmethod
    def start(cls, encoding: Encoding, n_warps: int = 0) -> "Table":
        """The user's own columns, of encoded rows that are followed by ``n_warps`` coordinates of monotone maps."""
        d, n = encoding.n_columns, encoding.size + n_warps
        W = np.eye(d, n)
        W[list(encoding.categories)] = 0.0
        words = tuple(
            Word(j, (*encoding.categories[j], UNKNOWN)) if j in encoding.categories else None for j in range(d)
        )
        gap = tuple(j if j in encoding.gaps else None for j in range(d))
        return cls(encoding, AffineMap(W, np.zeros(d), W.copy(), np.zeros(d), 0), words, gap)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.words)

    @property
    def size(self) -> int:
        """Coordinates of an encoded row and of the monotone maps."""
        return self.map.W.shape[1]

    def take(self, columns: Sequence[int]) -> "Table":
        """Some of the columns."""
        at = list(columns)
        m = self.map
        part = AffineMap(m.W[at], m.w0[at], m.absolute[at], m.cancellation[at], m.n_steps, m.n_terms)
        return Table(self.encoding, part, tuple(self.words[i] for i in at), tuple(self.gap[i] for i in at))

    def then(self, step: AffineMap) -> "Table":
        """Columns of numbers after an affine step; a gap passes a step that keeps columns apart."""
        moves = step.W != 0
        first, single = moves.argmax(axis=1).tolist(), (moves.sum(axis=1) == 1).tolist()
        gap = tuple(self.gap[i] if one else None for i, one in zip(first, single, strict=True))
        return Table(self.encoding, self.map.then(step), (None,) * len(step.W), gap)

    def numbers(self, step) -> "Table":
        """The table with words that are numbers turned into numbers; other words are refused, naming the step."""
        if all(word is None for word in self.words):
            return self
        map_, taker = self.map, step if isinstance(step, str) else type(step).__name__
        W = map_.W.copy()
        for i, word in enumerate(self.words):
            if word is None:
                continue
            raw = (*self.encoding.categories[word.source], UNKNOWN)
            words = [value for value in raw[:-1] if key(value)[0] == "value" and not isinstance(value, Number)]
            if words or any(key(a) != key(b) for a, b in zip(raw, word.values, strict=True)):
                raise ValueError(
                    f"{taker} takes column {self.encoding.name(word.source)} for numbers, but it holds "
                    "categories: put an encoder before it (OneHotEncoder, OrdinalEncoder), in a ColumnTransformer."
                )
            W[i, word.source] = 1.0
        numbers = replace(map_, W=W, absolute=np.maximum(map_.absolute, np.abs(W)))
        return Table(self.encoding, numbers, (None,) * self.width, self.gap)

    def bent(self, warps: Sequence[int], gap: Sequence[int | None]) -> "Table":
        """The columns that are these coordinates of the encoding, and the gaps that make them NaN."""
        W = np.eye(self.size)[[self.encoding.size + i for i in warps]]
        step = AffineMap(W, np.zeros(len(W)), W.copy(), np.zeros(len(W)), self.map.n_steps + 1, self.map.n_terms)
        return Table(self.encoding, step, (None,) * len(W), tuple(gap))

    def sources(self, column: int, warps: Sequence) -> list[int]:
        """The user's columns that move a column of numbers."""
        row, n = self.map.W[column], self.encoding.n_columns
        bent = {warps[i].source for i in np.flatnonzero(row[self.encoding.size :]).tolist()}
        return sorted(bent | set(np.flatnonzero(row[:n]).tolist()))

    def source_of(self, column: int) -> int | None:
        """The user's column that a column of numbers equals, perhaps with gaps filled in; None if there is none."""
        row, n = self.map.W[column], self.encoding.n_columns
        at = np.flatnonzero(row[:n])
        if self.words[column] is not None or at.size != 1 or row[at[0]] != 1.0 or self.map.w0[column] != 0.0:
            return None
        j = int(at[0])
        others = np.flatnonzero(row[n:]) + n
        gap = [self.encoding.gap(j)] if j in self.encoding.gaps else []
        return j if all(i in gap for i in others) else None


def side_by_side(tables: Sequence[Table], start: Table) -> Table:
    """The columns of several tables, all made from ``start``, as one."""
    maps, encoding = [table.map for table in tables], start.encoding
    if not tables:
        none = np.zeros((0, start.size))
        return Table(encoding, AffineMap(none, np.zeros(0), none, np.zeros(0), 0), (), ())
    joined = AffineMap(
        np.vstack([m.W for m in maps]),
        np.concatenate([m.w0 for m in maps]),
        np.vstack([m.absolute for m in maps]),
        np.concatenate([m.cancellation for m in maps]),
        max(m.n_steps for m in maps),
        max(m.n_terms for m in maps),
    )
    words, gap = (tuple(x for t in tables for x in getattr(t, name)) for name in ("words", "gap"))
    return Table(encoding, joined, words, gap)


class _Unknown:
    """Stands for any value that no step knows."""

    def __repr__(self) -> str:
        return "a value that no step knows"


UNKNOWN = _Unknown()
