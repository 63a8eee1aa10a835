"""Dates as numbers: days since the first of January 1970."""

import re
from datetime import date
from decimal import Decimal
from numbers import Real

import numpy as np

from holdfast.datasets.formats.number_words import NUMBER

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
    """What stands first in the column's dates with slashes: "day" or "month"; "" if there are none.

    ``ValueError`` if they leave it open.
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
    """The column with each date as a number of days; gaps and words that are no dates stay as they are.

    A number is a date if it is written as 20240131; any other is refused, for it may be days, years or a serial number.

    Parameters
    ----------
    name : str
    column : pandas Series, or array
        Dates, or words.
    order : {"", "day", "month"}
        What stands first in dates with slashes; "" finds it out.

    Returns
    -------
    pandas Series
        With the index of the column.
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
    """``2024-01-31`` for a number of days, with the time of day, to the nanosecond, if it is no whole one."""
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
