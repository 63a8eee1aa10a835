"""The user's rows as numbers: one coordinate for each column, one more for each category and for each gap."""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.certificates.folding.values import as_column, as_number, as_rows, columns_of, key, numeric, unknown, words
from holdfast.certificates.folding.warp import Warp
from holdfast.certificates.moves import Moves

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
    warps : tuple of Warp
        Coordinates at the end that are computed from those of columns; see :meth:`refreshed`.
    read : frozenset of int or None
        Columns that some step reads; None: all.
    unseen, filled, refused : dict of int to set of int
        Column of categories → codes of the values that an encoder was not fitted on, that an imputer replaces before
        one, and that one does not take.
    """

    n_columns: int
    names: Any = None
    categories: dict[int, tuple] = field(default_factory=dict)
    gaps: tuple[int, ...] = ()
    warps: tuple[Warp, ...] = ()
    read: frozenset[int] | None = None
    unseen: dict[int, set[int]] = field(default_factory=dict)
    filled: dict[int, set[int]] = field(default_factory=dict)
    refused: dict[int, set[int]] = field(default_factory=dict)

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
        return self.n_columns + len(self.gaps) + indicators + len(self.warps)

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
        return self.refreshed(out)

    def refreshed(self, rows: np.ndarray) -> np.ndarray:
        """Encoded rows with the coordinates of warps computed from the columns."""
        if not self.warps:
            return rows
        rows, first = rows.copy(), self.size - len(self.warps)
        inner, _, missing = self.inputs(rows)
        rows[:, first:] = np.where(missing, 0.0, self.bend(inner))
        return rows

    def inputs(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The inputs of the warps' maps, bounds on how much the model's own inputs differ, and which are gaps.

        Three arrays (m, n_warps). Where nothing comes before a map, its input is the number in the row itself.
        """
        inner, error, missing = (np.zeros((len(rows), len(self.warps))) for _ in range(3))
        for i, warp in enumerate(self.warps):
            gap = rows[:, self.gap(warp.source)] > 0 if warp.source in self.gaps else np.zeros(len(rows), bool)
            x = rows[:, warp.source]
            known = warp.inner(x)
            inner[:, i] = np.where(gap, known if warp.filled is None else warp.filled, known)
            if (warp.weight, warp.offset) != (1.0, 0.0):
                error[:, i] = 1e-14 * (np.abs(warp.weight * x) + np.abs(inner[:, i]) + abs(warp.offset))
            missing[:, i] = gap & (warp.filled is None)
        return inner, error, missing > 0

    def blur(self, rows: np.ndarray) -> np.ndarray:
        """A bound on the change of each coordinate by rounding before its monotone map; large at a jump of the map."""
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
        for map_ in {id(warp.map.step): warp.map for warp in self.warps}.values():  # one map for each step
            at = [i for i, warp in enumerate(self.warps) if warp.map.step is map_.step]
            columns = [self.warps[i].map.column for i in at]
            twice = len(set(columns)) < len(columns)  # a column of the step that two warps use
            for part in [[i] for i in at] if twice else [at]:
                probe = np.ones((len(inner), map_.width))
                probe[:, [self.warps[i].map.column for i in part]] = inner[:, part]
                out[:, part] = map_.images(probe)[:, [self.warps[i].map.column for i in part]]
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
