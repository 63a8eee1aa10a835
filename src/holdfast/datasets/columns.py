"""Columns of a table: words, numbers, dates, and values that training did not have."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from math import isfinite
from numbers import Real

import numpy as np

from holdfast.base.text import short_name
from holdfast.datasets.formats import NUMBER, USUAL, ReadOptions, parse_number

_MAX_LISTED = 20  # columns that are named in a message

_DESCRIPTIONS = {
    "category": "categories not seen in training",
    "gap": "no value",
    "word": "words instead of numbers",
    "infinite": "infinite numbers",
    "day": "dates far outside those of the training rows",
}


@dataclass(frozen=True, eq=False)
class UnknownValues:
    """The values of one column, all of one kind, that a model was not trained on."""

    column: str
    kind: str  # "category", "gap", "word", "infinite" or "day"
    rows: np.ndarray  # positions of the rows that have such a value, from 0
    first_row: int  # number of the first of them in the user's table, from 1
    example: str | None = None  # its value; None for a gap

    def describe(self) -> str:
        """``column 'site' has categories not seen in training in 3 rows, such as 'lake' in row 2``."""
        count = len(self.rows)
        example = f", such as {self.example!r} in" if self.example is not None else ", the first is"
        where = f"{count:,} rows{example} row {self.first_row}" if count > 1 else f"row {self.first_row}"
        if count == 1 and self.example is not None:
            where += f" ({self.example!r})"
        return f"column {self.column!r} has {_DESCRIPTIONS[self.kind]} in {where}"

    def to_dict(self) -> dict:
        """The same for a JSON document."""
        return {
            "column": self.column,
            "kind": self.kind,
            "rows": len(self.rows),
            "first_row": self.first_row,
            "example": self.example,
        }


def describe_all(values: Sequence[UnknownValues]) -> str:
    """All findings in one line; of very many columns, the first ones."""
    text = "; ".join(each.describe() for each in values[:_MAX_LISTED])
    return text + (f"; and {len(values) - _MAX_LISTED} more" if len(values) > _MAX_LISTED else "")


def count_rows(values: Sequence[UnknownValues]) -> int:
    """The number of rows with at least one such value."""
    return len(np.unique(np.concatenate([each.rows for each in values]))) if values else 0


# -- numbers and words ------------------------------------------------------------------------------

_NOT_FINITE = re.compile(r"(?i)[+-]?(inf|infinity|nan)")
MISSING = "(missing)"  # the category of a missing word


def as_columns(X, names: Sequence[str] | None = None) -> dict:
    """Name -> column, of a data frame or of a matrix, whose columns go by position."""
    if hasattr(X, "columns"):
        headings = [str(name) for name in X.columns]
        if len(set(headings)) < len(headings):
            raise ValueError(f"Two columns are named {next(n for n in headings if headings.count(n) > 1)!r}.")
        return {str(name): X[name] for name in X.columns}
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be a table or a matrix; got an array of shape {X.shape}.")
    if names is not None and len(names) != X.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns, but the model was trained on {len(names)}.")
    names = [f"x{k}" for k in range(X.shape[1])] if names is None else names
    return dict(zip(names, X.T, strict=True))


def _values(column) -> np.ndarray:
    """The values of a column as a NumPy array; missing ones are NaN (numbers) or None (words)."""
    if isinstance(column, np.ndarray):
        return column
    kind = getattr(column.dtype, "kind", "O")
    if kind in "iuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    values = column.astype(object)
    return values.where(column.notna(), None).to_numpy()


def is_number(name: str, column) -> bool:
    """True if a column holds numbers; dates are refused, and so are numbers mixed with a few words."""
    values = _values(column)
    if values.dtype.kind in "iuf":
        return True
    if values.dtype.kind == "b":
        return False
    if holds_dates(column):
        raise ValueError(f"Column {name!r} holds dates: turn it into days (--dates), or leave it out (--drop).")
    known = [v for v in values.tolist() if v is not None]
    numeric = sum(_as_number(v) is not None for v in known)
    if known and numeric < len(known) and 2 * numeric > len(known):
        numbers_of(name, column)  # raises, naming the row
    return bool(known) and numeric == len(known) and not any(isinstance(v, bool) for v in known)


def numbers_of(name: str, column) -> np.ndarray:
    """The values of a column as floats, NaN where missing; words and infinities are refused."""
    values = _values(column)
    if values.dtype.kind in "iuf":
        out = values.astype(np.float64)
    else:
        out = np.full(len(values), np.nan)
        for k, value in enumerate(values.tolist()):
            number = np.nan if value is None else _as_number(value)
            if number is None:
                raise ValueError(
                    f"Column {name!r} holds numbers, but row {_row(column, k)} says {value!r}: correct it, or take it "
                    f"as categories (--categorical) or leave it out (--drop)."
                )
            out[k] = number
    if np.isinf(out).any():
        raise ValueError(f"Column {name!r} is infinite in row {_row(column, int(np.flatnonzero(np.isinf(out))[0]))}.")
    return out


def finite_numbers(name: str, column) -> tuple[np.ndarray, list[UnknownValues]]:
    """The values of a column as floats, NaN where there is no finite number; and what is found there instead."""
    values = _values(column)
    kinds: dict[str, np.ndarray] = {}
    if values.dtype.kind in "iuf":
        out = values.astype(np.float64)
        words = np.zeros(len(out), dtype=bool)
    else:
        numbers = [np.nan if value is None else _as_number(value) for value in values.tolist()]
        words = np.array([number is None for number in numbers], dtype=bool)
        out = np.array([np.nan if number is None else number for number in numbers], dtype=np.float64)
    kinds["word"], kinds["gap"], kinds["infinite"] = words, np.isnan(out) & ~words, np.isinf(out)
    out[kinds["infinite"]] = np.nan
    return out, [_unknown(name, kind, column, values, mask) for kind, mask in kinds.items() if mask.any()]


def far_days(name: str, column, days: np.ndarray, first: float, last: float) -> list[UnknownValues]:
    """Days that lie ten times as far from those of training as these from each other; they become NaN."""
    width = 10 * max(last - first, 366.0)
    far = (days < first - width) | (days > last + width)
    if not far.any():
        return []
    words = [day_as_date(day) if f else "" for day, f in zip(days, far, strict=True)]
    days[far] = np.nan
    return [_unknown(name, "day", column, words, far)]


def unknown_categories(name: str, column, categories: Sequence[str]) -> list[UnknownValues]:
    """Gaps, and other categories than these, of a column."""
    known, words = set(categories), words_of(column)
    unseen = np.array([word not in known for word in words], dtype=bool)
    gaps = unseen & np.array([word == MISSING for word in words], dtype=bool)
    masks = {"category": unseen & ~gaps, "gap": gaps}
    return [_unknown(name, kind, column, words, mask) for kind, mask in masks.items() if mask.any()]


def _unknown(name: str, kind: str, column, values, mask: np.ndarray) -> UnknownValues:
    rows = np.flatnonzero(mask)
    first = int(rows[0])
    return UnknownValues(name, kind, rows, _row(column, first), None if kind == "gap" else short_name(values[first]))


def _row(column, k: int) -> int:
    """The number of a row in the user's table, counted from 1; the column may hold only some of its rows."""
    index = getattr(column, "index", None)
    return (int(index[k]) if index is not None and index.dtype.kind in "iu" else k) + 1


def _as_number(value) -> float | None:
    """The number that a cell is; a word is one if programs write numbers so, which leaves out 1_12 and 1,5."""
    if isinstance(value, str):
        word = value.strip()
        return float(word) if NUMBER.fullmatch(word) or _NOT_FINITE.fullmatch(word) else None
    try:
        return None if isinstance(value, bytes) else float(value)
    except (TypeError, ValueError):
        return None


def words_of(column) -> list[str]:
    """Values as words; whole numbers without a decimal point, so that 1 and 1.0 are one category."""
    return [_word(value) for value in _values(column).tolist()]


def _word(value) -> str:
    if value is None or value != value:
        return MISSING
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# -- dates ------------------------------------------------------------------------------------------

_TIME = r"([T ][0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
_ISO = re.compile(r"([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})" + _TIME)
_LOCAL = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})([T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2})?)?")
_COMPACT = re.compile(r"(19|20)[0-9]{6}|2100[0-9]{4}")  # 20240131
_FIRST, _LAST = 1678, 2261  # years that nanoseconds can hold
_NANOSECONDS = 86_400_000_000_000  # of a day


def looks_like_dates(values) -> bool:
    """True if nine of ten words in a sample are dates, written as 2024-01-31, 31.1.2024 or 1/31/2024."""
    known = [value for value in values if isinstance(value, str)][:500]
    hits = sum(bool(_ISO.fullmatch(v.strip()) or _LOCAL.fullmatch(v.strip())) for v in known)
    return bool(known) and hits >= 0.9 * len(known)


def holds_dates(column) -> bool:
    """True for a column whose type is a date, or whose values are dates of Python (date32 of Parquet)."""
    dtype = column.dtype
    if dtype.kind in "mM" or getattr(dtype, "tz", None) is not None:
        return True
    return dtype.kind == "O" and any(isinstance(value, date) for value in column.tolist())


def date_order(name: str, column) -> str:
    """What stands first in the column's dates with slashes: "day" or "month", "" if there are none; ``ValueError`` if
    they leave it open.
    """
    words = [value.strip() for value in column.tolist() if isinstance(value, str)]
    slashed = [p for p in map(_LOCAL.fullmatch, words) if p and p[2] != "."]
    month_first = any(int(p[3]) > 12 for p in slashed)
    day_first = any(int(p[1]) > 12 for p in slashed)
    if slashed and month_first == day_first:
        raise ValueError(
            f"Column {name!r} has dates such as {slashed[0][0]!r}, which leave open what is the month: write them as "
            "2024-01-31."
        )
    return "" if not slashed else "month" if month_first else "day"


def to_days(name: str, column, order: str = ""):
    """The column with each date as a number of days since 1970; gaps and words that are not dates stay. A number is a
    date only if written as 20240131, else it is refused. ``order``, "day" or "month", is that of dates with slashes; ""
    infers it.
    """
    from pandas import Series, to_datetime

    column = column if isinstance(column, Series) else Series(column)
    if column.dtype.kind == "M" or getattr(column.dtype, "tz", None) is not None:
        stamps = Series(to_datetime(column, utc=True))
    else:
        order = order or date_order(name, column)
        cells = [_in_iso(name, row, value, order) for row, value in zip(_rows(column), column.tolist(), strict=True)]
        stamps = Series(to_datetime(cells, errors="coerce", utc=True, format="ISO8601"), index=column.index)
    known = stamps.notna().to_numpy()
    outside = known & ~stamps.dt.year.between(_FIRST, _LAST).to_numpy()
    if outside.any():
        k = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"Column {name!r} has the date {str(column.iloc[k])!r} in row {_rows(column)[k]}; dates are read from "
            f"{_FIRST} to {_LAST}. If it stands for a missing one, say so (--missing={str(column.iloc[k])[:10]})."
        )
    whole, rest = np.divmod(stamps.astype("datetime64[ns, UTC]").astype("int64").to_numpy(), _NANOSECONDS)
    days = whole + rest / _NANOSECONDS
    if known.sum() == column.notna().sum():
        return Series(np.where(known, days, np.nan), index=column.index)
    mixed = [float(d) if k else v for d, k, v in zip(days, known, column.tolist(), strict=True)]
    return Series(mixed, index=column.index, dtype=object)


def day_as_date(day: float) -> str:
    """``2024-01-31`` for a number of days, with the time of day, to the nanosecond, if it is not whole."""
    whole = int(np.floor(day))
    date, rest = np.datetime64(whole, "D"), round((day - whole) * _NANOSECONDS)
    return str(date if rest == 0 else date.astype("datetime64[ns]") + np.timedelta64(rest, "ns"))


def _rows(column) -> list[int]:
    """Numbers of the rows in the user's table."""
    index = column.index if column.index.dtype.kind in "iu" else range(len(column))
    return [int(row) + 1 for row in index]


def _in_iso(name: str, row: int, value, order: str) -> str | None:
    """31.1.2024, 1/31/2024, 20240131 and a date of Python as 2024-01-31; None for a gap and for other words."""
    if isinstance(value, date):
        return None if value != value else value.isoformat()  # NaT is a date, too
    if isinstance(value, bool) or not isinstance(value, (str, Real, Decimal)) or value != value:
        return None
    word = value.strip() if isinstance(value, str) else f"{value:.0f}" if float(value).is_integer() else str(value)
    compact = _COMPACT.fullmatch(word)
    if compact and _is_a_day(word):
        return f"{word[:4]}-{word[4:6]}-{word[6:]}"
    if not isinstance(value, str) or NUMBER.fullmatch(word):
        raise ValueError(
            f"Column {name!r} holds dates, but row {row} says {word}: write numbers as 20240131 (year, month, day), or "
            "dates as 2024-01-31."
        )
    local, iso = _LOCAL.fullmatch(word), _ISO.fullmatch(word)
    if local is not None:
        day, month = (local[3], local[1]) if local[2] != "." and order == "month" else (local[1], local[3])
        return f"{local[4]}-{int(month):02}-{int(day):02}{local[5] or ''}"
    return f"{iso[1]}-{int(iso[2]):02}-{int(iso[3]):02}{iso[4] or ''}" if iso else None


def _is_a_day(word: str) -> bool:
    try:
        date(int(word[:4]), int(word[4:6]), int(word[6:]))
    except ValueError:
        return False
    return True


# -- how a table was read ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Days:
    """A column of dates as training had it."""

    order: str = ""  # what stands first in dates with slashes, "day" or "month"; "" if there were none
    first: float = -np.inf  # the range, in days since 1970
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
    parsed = {parse_number(word, reading.decimal) for word in words}
    numbers = {number for number in parsed if number is not None and isfinite(number)}
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
        return value.strip() in words or parse_number(value) in numbers
    if isinstance(value, date):
        return value == value and value.isoformat()[:10] in words
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) and value in numbers
