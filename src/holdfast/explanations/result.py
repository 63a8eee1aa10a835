"""The result: rows that would get another answer, and what is proven about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from holdfast.explanations.text import entry_sentence

_SHOWN = 20  # answers in a notebook


def _stacked(tables: list):
    """The rows of several tables, frames or arrays, with the index they have."""
    if not hasattr(tables[0], "iloc"):
        return np.concatenate([np.asarray(table) for table in tables])
    from pandas import concat

    return concat(tables)


@dataclass(frozen=True, eq=False)
class Counterfactuals:
    """Answers row by row: those of row 0 come first, ``n`` of them for every row; with ``n = 1`` they stand as X does.

    Attributes
    ----------
    points : ndarray or data frame of shape (n_answers, n_features)
        What the row would have to be; NaN where no answer was found. A frame if X is one, with its index.
    row, number : int ndarrays of shape (n_answers,)
        The position of the row in X, and which of its answers it is, from 1.
    size : ndarray of shape (n_answers,)
        How far the point is from the row, in the measure of the threat; infinite where no answer was found.
    lower_bound : ndarray of shape (n_answers,)
        Proven: no possible row that is closer has the answer. Infinite: no possible row has it. Of further answers in
        other features: no such row that leaves the main features of those before as they were.
    closest : bool ndarray of shape (n_answers,)
        Whether the two meet: nothing that is smaller by more than ``rounding`` can do.
    valid : bool ndarray of shape (n_answers,)
        True where there is a point. The model's own ``predict`` has given it the answer.
    prediction : ndarray of shape (n_answers,)
        The answer for the row as it is.
    target : object ndarray of shape (n_answers,)
        The answer for the point; where there is none, the class that was asked for, or None.
    original : array-like
        The X that was given.
    values, rows : ndarrays of shapes (n_answers, n_features) and (n_rows, n_features)
        Points and rows as numbers.
    columns : list of str
    unit : ndarray of shape (n_features,) or None
        The change that counts as size 1 in each feature.
    norm : str
    rounding : float
    recoded : bool ndarray of shape (n_answers, n_features)
        Columns of words that change.
    """

    points: Any
    row: np.ndarray
    number: np.ndarray
    size: np.ndarray
    lower_bound: np.ndarray
    closest: np.ndarray
    valid: np.ndarray
    prediction: np.ndarray
    target: np.ndarray
    original: Any
    values: np.ndarray
    rows: np.ndarray
    columns: list[str]
    unit: np.ndarray | None
    norm: str
    rounding: float
    recoded: np.ndarray

    @classmethod
    def concatenate(cls, parts: Sequence["Counterfactuals"]) -> "Counterfactuals":
        """The answers for several batches of rows, asked in the same way, as one."""
        first = parts[0]
        if len(parts) == 1:
            return first
        before = np.cumsum([0, *(len(part.rows) for part in parts[:-1])])
        joined: dict = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("number", "size", "lower_bound", "closest", "valid", "prediction", "target", "values", "rows",
                         "recoded")
        }  # fmt: skip
        return replace(
            first, points=_stacked([part.points for part in parts]), original=_stacked([p.original for p in parts]),
            row=np.concatenate([part.row + start for part, start in zip(parts, before, strict=True)]), **joined,
        )  # fmt: skip

    def __len__(self) -> int:
        return self.size.size

    def __repr__(self) -> str:
        return (
            f"<Counterfactuals of {len(self.rows)} rows: {int(self.valid.sum())} answers, "
            f"{int(self.closest.sum())} proven closest, {self.norm}>"
        )

    @property
    def status(self) -> np.ndarray:
        """Status of each answer: ``found``, ``already`` (the row has it), ``impossible`` (proven), or ``not found``."""
        words = np.where(np.isinf(self.lower_bound), "impossible", "not found").astype(object)
        same = (self.values == self.rows[self.row]).all(axis=1) & ~self.recoded.any(axis=1)
        words[self.valid] = np.where(same[self.valid], "already", "found")
        return words

    @property
    def labels(self) -> np.ndarray:
        """The index of X for each answer; without one, the position of the row."""
        index = getattr(self.original, "index", None)
        return self.row if index is None or callable(index) else np.asarray(index)[self.row]

    def moved(self, entry: int) -> list[tuple[int, float]]:
        """``(feature, change in units)`` of one answer: words first, of change 0, then the largest change."""
        x, point, words = self.rows[self.row[entry]], self.values[entry], self.recoded[entry]
        at = np.flatnonzero(((point != x) | words) & np.isfinite(point))
        way = np.where(words, 0.0, point - x if self.unit is None else (point - x) / self.unit)
        return [(int(i), float(way[i])) for i in at[np.lexsort([-np.abs(way[at]), ~words[at]])]]

    def changed(self, entry: int) -> list[tuple[str, Any, Any]]:
        """``(column, from, to)`` of one answer: words first, then the largest change in units."""
        x, point = self.rows[self.row[entry]], self.values[entry]
        return [
            (self.columns[i], *self._words(entry, i))
            if self.recoded[entry, i]
            else (self.columns[i], float(x[i]), float(point[i]))
            for i, _ in self.moved(entry)
        ]

    def _words(self, entry: int, column: int) -> tuple[Any, Any]:
        """What a column of words holds before and after."""
        if hasattr(self.points, "iloc"):
            return self.original.iloc[self.row[entry], column], self.points.iloc[entry, column]
        return np.asarray(self.original, dtype=object)[self.row[entry], column], self.points[entry, column]

    @cached_property
    def changes(self):
        """Every change as one line of a data frame: row, number, column, from, to."""
        from pandas import DataFrame

        labels = self.labels
        lines = [
            (labels[entry], self.number[entry], *change)
            for entry in np.flatnonzero(self.valid).tolist()
            for change in self.changed(entry)
        ]
        return DataFrame(lines, columns=["row", "number", "column", "from", "to"])

    def to_frame(self):
        """One line for every answer, as a data frame."""
        from pandas import DataFrame

        return DataFrame(
            {
                "row": self.labels,
                "number": self.number,
                "prediction": self.prediction,
                "target": self.target,
                "status": self.status,
                "size": self.size,
                "lower_bound": self.lower_bound,
                "closest": self.closest,
                "changes": [len(self.changed(entry)) if self.valid[entry] else 0 for entry in range(len(self))],
            }
        )

    def sentences(self) -> list[str]:
        """One sentence for every answer."""
        return [entry_sentence(self, entry) for entry in range(len(self))]

    def _repr_html_(self) -> str:
        shown = min(len(self), _SHOWN)
        labels = self.labels
        items = "".join(
            f"<tr><td>{escape(str(labels[entry]))}</td><td>{escape(entry_sentence(self, entry))}</td></tr>"
            for entry in range(shown)
        )
        more = f"<p>… and {len(self) - shown} more</p>" if len(self) > shown else ""
        return f"<p>{escape(repr(self))}</p><table><tr><th>row</th><th>answer</th></tr>{items}</table>{more}"

    def plot(self, row: int = 0, ax=None):
        """The changes of the answers for one row, in units of the threat, as bars.

        Parameters
        ----------
        row : int, default=0
            Position in X.
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as missing:
            raise ImportError("plot needs matplotlib: pip install 'holdfast[plot]'") from missing
        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        entries = np.flatnonzero((self.row == row) & self.valid).tolist()
        names = list(dict.fromkeys(name for entry in entries for name, _, _ in self.changed(entry)))
        height = 0.8 / max(len(entries), 1)
        for k, entry in enumerate(entries):
            moved = {self.columns[i]: way for i, way in self.moved(entry)}
            at = [names.index(name) + k * height for name in moved]
            ax.barh(at, list(moved.values()), height, label=f"{self.target[entry]}, size {self.size[entry]:.3g}")
        ax.set_yticks(np.arange(len(names)) + 0.4 - height / 2, names)
        ax.invert_yaxis()
        ax.axvline(0.0, color="0.4", linewidth=1)
        ax.set_xlabel("change" if self.unit is None else "change, in units")
        if len(entries):
            ax.legend(frameon=False)
        return ax
