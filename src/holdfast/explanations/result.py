"""What ``counterfactuals`` returns, as tables and as sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from holdfast.base.text import number, percent, printable
from holdfast.certificates.certificate import meet


def entry_data(answers: "Counterfactuals", entry) -> dict:
    """One answer as a dict: row, number, prediction, target, status, size, lower_bound, closest, changes, sentence.

    ``changes`` is a list of dicts of column, from and to, the largest change first; empty where there is no answer.
    """
    return {
        "row": answers.labels[entry],
        "number": answers.number[entry],
        "prediction": answers.prediction[entry],
        "target": answers.target[entry],
        "status": answers.status[entry],
        "size": answers.size[entry],
        "lower_bound": answers.lower_bound[entry],
        "closest": bool(answers.closest[entry]),
        "changes": [{"column": name, "from": old, "to": to} for name, old, to in answers.changed(entry)]
        if answers.valid[entry]
        else [],
        "sentence": entry_sentence(answers, entry),
    }


_LISTED = 6  # changes in one sentence


def exact_number(value: float) -> str:
    """A number with all its digits, as short as it can be read back.

    Examples
    --------
    >>> exact_number(16.2), exact_number(120000.0), exact_number(-0.0)
    ('16.2', '120000', '0')
    """
    if value == 0:
        return "0"
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def as_given(value, digits: int | None = None) -> str:
    """A value of a table as text: a number to ``digits`` digits, or to all; a word as it is.

    Examples
    --------
    >>> as_given(0.123456789, 6), as_given(0.123456789), as_given("A11")
    ('0.123457', '0.123456789', 'A11')
    """
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        return str(value)
    return exact_number(float(value if digits is None else f"{value:.{digits}g}"))


def entry_sentence(answers: "Counterfactuals", entry: int, listed: int = _LISTED) -> str:
    """``to be benign instead of malignant: worst radius 17.9 → 16.2; no smaller change can do it``."""
    before, target = answers.prediction[entry], answers.target[entry]
    if answers.status[entry] == "already":
        return printable(f"it is {before} already")
    aim = f"to be {target} instead of {before}" if target is not None else f"to be anything but {before}"
    return printable(f"{aim}: {change_text(answers, entry, listed)}")


def change_text(answers: "Counterfactuals", entry: int, listed: int = _LISTED) -> str:
    """``worst radius 17.9 → 16.2; no smaller change can do it``: the largest changes, and what is proven."""
    if answers.status[entry] != "found":
        return proof_text(answers, entry)
    changes = answers.changed(entry)
    text = ", ".join(f"{name} {as_given(old, 6)} → {as_given(to)}" for name, old, to in changes[:listed])
    left = len(changes) - listed
    if left > 0:
        text += f" and {left} smaller change{'s' if left > 1 else ''}"
    return printable(f"{text}; {proof_text(answers, entry)}")


def proof_text(answers: "Counterfactuals", entry: int, possible: str = "possible change") -> str:
    """What is proven: ``no smaller change can do it``.

    Parameters
    ----------
    answers : Counterfactuals
    entry : int
    possible : str
        What was looked for, where it is proven not to be there.
    """
    status, size, lower = answers.status[entry], answers.size[entry], answers.lower_bound[entry]
    if status == "already":
        return "no change is needed"
    if status == "impossible":
        return f"no {possible} does it, which is proven"
    if status == "not found":
        return "none found within the budget" + (f"; proven: none below {number(lower)} does it" if lower else "")
    if size == 0:
        return "no number has to change"
    if meet(lower, size):
        return "no smaller change can do it"
    if answers.closest[entry]:
        return f"no change smaller by more than {percent(answers.rounding, 0)} can do it"
    return f"a change of size {number(size)}; none below {number(lower)} can do it"


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
