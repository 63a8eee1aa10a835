"""A table between two steps of a pipeline: columns are affine maps of the encoded row, or words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Number

import numpy as np

from holdfast.affine import Affine
from holdfast.certificates.folding.encoding import Encoding
from holdfast.certificates.folding.values import key


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
    map : Affine
        From encoded rows to the columns; rows of zeros for words.
    words : tuple of Word or None
        One entry for each column; None for numbers.
    gap : tuple of int or None
        For each column of numbers the user's column whose gap makes it NaN, if there is one.
    """

    encoding: Encoding
    map: Affine
    words: tuple[Word | None, ...]
    gap: tuple[int | None, ...]

    @classmethod
    def start(cls, encoding: Encoding) -> "Table":
        """The user's own columns."""
        d, n = encoding.n_columns, encoding.size
        W = np.eye(d, n)
        W[list(encoding.categories)] = 0.0
        words = tuple(
            Word(j, (*encoding.categories[j], UNKNOWN)) if j in encoding.categories else None for j in range(d)
        )
        gap = tuple(j if j in encoding.gaps else None for j in range(d))
        return cls(encoding, Affine(W, np.zeros(d), W.copy(), np.zeros(d), 0), words, gap)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.words)

    def take(self, columns: Sequence[int]) -> "Table":
        """Some of the columns."""
        at = list(columns)
        m = self.map
        part = Affine(m.W[at], m.w0[at], m.absolute[at], m.cancellation[at], m.n_steps, m.n_terms)
        return Table(self.encoding, part, tuple(self.words[i] for i in at), tuple(self.gap[i] for i in at))

    def then(self, step: Affine) -> "Table":
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
        first = self.encoding.size - len(self.encoding.warps)
        W = np.eye(self.encoding.size)[[first + i for i in warps]]
        step = Affine(W, np.zeros(len(W)), W.copy(), np.zeros(len(W)), self.map.n_steps + 1, self.map.n_terms)
        return Table(self.encoding, step, (None,) * len(W), tuple(gap))

    def sources(self, column: int) -> list[int]:
        """The user's columns that move a column of numbers."""
        row, n = self.map.W[column], self.encoding.n_columns
        first = self.encoding.size - len(self.encoding.warps)
        bent = {self.encoding.warps[i].source for i in np.flatnonzero(row[first:])}
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


def side_by_side(tables: Sequence[Table], encoding: Encoding) -> Table:
    """The columns of several tables as one."""
    maps = [table.map for table in tables]
    if not tables:
        none = np.zeros((0, encoding.size))
        return Table(encoding, Affine(none, np.zeros(0), none, np.zeros(0), 0), (), ())
    joined = Affine(
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
