"""Single values and columns of a table: words, numbers and gaps as users have them."""

from numbers import Number
from typing import Any

import numpy as np


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
