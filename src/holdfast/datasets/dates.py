"""Dates as numbers: days since the first of January 1970."""

import re

import numpy as np

_ISO = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
_LOCAL = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})([T ]\d{1,2}:\d{2}(:\d{2})?)?")
_NANOSECONDS = 86_400_000_000_000  # of a day


def looks_like_dates(values) -> bool:
    """True if nine of ten words in a sample are dates, written as 2024-01-31, 31.1.2024 or 1/31/2024."""
    known = [value for value in values if isinstance(value, str)][:500]
    hits = sum(bool(_ISO.fullmatch(v.strip()) or _LOCAL.fullmatch(v.strip())) for v in known)
    return bool(known) and hits >= 0.9 * len(known)


def to_days(name: str, column):
    """The column with each date as a number of days; numbers, gaps and other words stay as they are.

    Parameters
    ----------
    name : str
    column : pandas Series, or array
        Dates, or words.

    Returns
    -------
    pandas Series
        With the index of the column.
    """
    from pandas import Series, to_datetime

    column = column if isinstance(column, Series) else Series(column)
    if column.dtype.kind in "iuf":
        return column
    if column.dtype.kind == "M" or getattr(column.dtype, "tz", None) is not None:
        stamps = to_datetime(column, utc=True)
    else:
        words = [value.strip() if isinstance(value, str) else value for value in column.tolist()]
        stamps = to_datetime(_in_iso(name, words), errors="coerce", utc=True, format="ISO8601")
        stamps = Series(stamps, index=column.index)
    days = stamps.astype("datetime64[ns, UTC]").astype("int64").to_numpy() / _NANOSECONDS
    known = stamps.notna().to_numpy()
    if known.sum() == column.notna().sum():
        return Series(np.where(known, days, np.nan), index=column.index)
    mixed = [float(d) if k else v for d, k, v in zip(days, known, column.tolist(), strict=True)]
    return Series(mixed, index=column.index, dtype=object)


def _in_iso(name: str, words: list) -> list:
    """31.1.2024 and 1/31/2024 as 2024-01-31; ``ValueError`` if slashes leave open which is the month."""
    parts = [_LOCAL.fullmatch(word) if isinstance(word, str) else None for word in words]
    slashed = [p for p in parts if p and p[2] != "."]
    month_first = any(int(p[3]) > 12 for p in slashed)
    day_first = any(int(p[1]) > 12 for p in slashed)
    if slashed and month_first == day_first:
        raise ValueError(
            f"Column {name!r} has dates such as {slashed[0][0]!r}, which leave open what is the month: write them as "
            "2024-01-31."
        )
    out = []
    for word, p in zip(words, parts, strict=True):
        if p is None:
            out.append(word.replace("/", "-") if isinstance(word, str) and _ISO.fullmatch(word) else word)
            continue
        day, month = (p[3], p[1]) if p[2] != "." and month_first else (p[1], p[3])
        out.append(f"{p[4]}-{int(month):02}-{int(day):02}{p[5] or ''}")
    return [word if isinstance(word, str) else None for word in out]
