"""The columns of a table as numbers or as words, and the values among them that are neither."""

import re
from collections.abc import Sequence

import numpy as np

from holdfast.datasets.dates import day_as_date, holds_dates
from holdfast.datasets.formats.number_words import NUMBER
from holdfast.datasets.unknown_values import UnknownValues
from holdfast.numerics.formatting import short_name

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
    reach = 10 * max(last - first, 366.0)
    far = (days < first - reach) | (days > last + reach)
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
