"""How a table was read: kept beside the model, so that every new table is read in the same way."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from math import isfinite

import numpy as np

from holdfast.datasets.formats.number_words import USUAL, parse
from holdfast.datasets.formats.options import ReadOptions


@dataclass(frozen=True)
class Days:
    """A column of dates as training had it.

    Attributes
    ----------
    order : {"", "day", "month"}
        What stands first in dates with slashes; "" if there were none.
    first, last : float
        The range, in days since 1970.
    """

    order: str = ""
    first: float = -np.inf
    last: float = np.inf


@dataclass(frozen=True)
class Reading:
    """The signs and formats of a table; everything is plain, so that a model file holds it.

    Attributes
    ----------
    decimal, thousands : str or None
        The signs of the file; None if it had none.
    missing : sequence of str
        Values that stand for a missing one, such as "-999".
    dates : dict of str to Days
        Columns of dates.
    whole : sequence of str
        Columns of numbers, all of which are whole.
    """

    decimal: str | None = None
    thousands: str | None = None
    missing: Sequence[str] = ()
    dates: dict[str, Days] = field(default_factory=dict)
    whole: Sequence[str] = ()

    def options(self, given: ReadOptions | None = None, columns: Sequence[str] | None = None) -> ReadOptions:
        """Options to read another table by; what the user gives comes first.

        Parameters
        ----------
        given : ReadOptions, optional
        columns : sequence of str, optional
            The columns that are needed; see :class:`ReadOptions`.
        """
        given = ReadOptions() if given is None else given
        decimal, thousands = given.decimal, given.thousands
        if decimal is None and thousands is None:  # a decimal sign says enough of the usual others
            decimal, thousands = self.decimal, None if self.thousands in USUAL else self.thousands
        missing = (*self.missing, *given.missing)
        return replace(given, decimal=decimal, thousands=thousands, missing=missing, columns=columns)

    def check(self) -> None:
        """Raise ``ValueError`` unless every field is of its kind, as in a file that anybody may have written."""
        ReadOptions(decimal=self.decimal, thousands=self.thousands)
        words = [*self.missing, *self.whole, *self.dates]
        known = isinstance(self.missing, (list, tuple)) and isinstance(self.whole, (list, tuple))
        if not known or not all(isinstance(word, str) for word in words) or set(vars(self)) != set(vars(Reading())):
            raise ValueError("missing, whole and the names of dates must be words.")
        for days in self.dates.values():
            ends = (days.first, days.last) if isinstance(days, Days) else ("",)
            if days.order not in ("", "day", "month") or not all(type(end) is float and end == end for end in ends):
                raise ValueError("dates must be an order and two days.")


def with_gaps(table: dict, reading: Reading) -> dict:
    """Name → column, with gaps where a value stands for a missing one; in words and numbers, and in dates by day."""
    if not reading.missing:
        return table
    words = {str(word) for word in reading.missing}
    numbers = {number for word in words if (number := parse(word, reading.decimal)) is not None and isfinite(number)}
    return {name: _with_gaps(column, words, numbers) for name, column in table.items()}


def _with_gaps(column, words: set[str], numbers: set[float]):
    if column.dtype.kind in "iuf":
        values = column.to_numpy(np.float64, na_value=np.nan) if hasattr(column, "mask") else np.asarray(column, float)
        found = np.isin(values, list(numbers))
    else:
        found = np.array([_stands_for_a_gap(value, words, numbers) for value in column.tolist()], dtype=bool)
    if not found.any():
        return column
    if hasattr(column, "mask"):  # pandas, which knows what a gap is in each of its types
        return column.mask(found)
    return np.where(found, np.nan if column.dtype.kind in "iuf" else None, column)


def _stands_for_a_gap(value, words: set[str], numbers: set[float]) -> bool:
    if isinstance(value, str):
        return value.strip() in words or parse(value) in numbers
    if isinstance(value, date):
        return value == value and value.isoformat()[:10] in words
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) and value in numbers
