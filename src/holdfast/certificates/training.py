"""What is known of the rows of training: units, values of categories, and the range beyond which a row is far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from holdfast.certificates.columns import Encoding, numeric
from holdfast.certificates.pipelines import column_numbers, does_nothing
from holdfast.certificates.vote import Voter

_MOST = 1_000  # most values of a category; a column with more is taken for numbers
UNIT_WORDS = "std", "range"


@dataclass(frozen=True, eq=False)
class Training:
    """What a model, and who asks, know of the rows of training.

    Attributes
    ----------
    rows : frame or array or None
        The rows: those given as ``reference``, or those that a classifier without steps before it stores.
    std : ndarray of shape (n_columns,) or None
        The standard deviations by which the model divides.
    low, high : ndarrays of shape (n_columns,) or None
        The least and the largest value of each column of numbers, as the rows or the model's scalers know them; NaN
        where they are not known.
    names : sequence of str or None
        Of the columns, for rows that are an array.
    """

    rows: Any = None
    std: np.ndarray | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    names: Sequence[str] | None = None

    @classmethod
    def of(cls, voter: Voter, reference=None) -> "Training":
        """What a model, and its rows of training if they are given, say."""
        rows = stored_rows(voter.model) if reference is None else reference[0]
        return cls(rows, deviations(voter.model), *_ends(voter, reference), voter.feature_names)

    def unit(self, given):
        """``unit`` with numbers in place of "std" and "range"; None if that takes rows that are not known."""
        if self.rows is not None:
            return _widths(self._table(), given)
        return self.std if isinstance(given, str) and given == "std" else None

    def values(self, what: str, columns) -> dict:
        """``{column: its values in the rows}`` of a list of columns."""
        X, out = self._table(), {}
        for column in np.atleast_1d(np.asarray(columns, dtype=object)).tolist():
            if hasattr(X, "columns"):
                place = _place(X, column)
                if place is None:
                    raise ValueError(f"{what} names {column!r}, but the rows of training have no such column.")
                values = X.iloc[:, place].dropna().unique().tolist()
            else:
                table = np.asarray(X)
                if isinstance(column, str) or not 0 <= int(column) < table.shape[1]:
                    raise ValueError(
                        f"{what} names {column!r}, but the rows of training have {table.shape[1]} columns."
                    )
                values = np.unique(table[:, int(column)]).tolist()
            if len(values) > _MOST:
                raise ValueError(
                    f"{what} names {column!r}, which has {len(values):,} values in the rows of training: it is not a "
                    "category."
                )
            out[column] = sorted(values)
        return out

    def _table(self):
        """The rows, with the names of the columns where they have some."""
        if self.names is None or hasattr(self.rows, "columns"):
            return self.rows
        from pandas import DataFrame  # installed: the names came from a data frame

        return DataFrame(self.rows, columns=[str(name) for name in self.names])

    def far(self, rows: np.ndarray, columns: Encoding) -> np.ndarray | None:
        """Mask of the encoded rows with a number farther outside of the range of training than that range is wide.

        None where no range is known.
        """
        if self.low is None or self.high is None:
            return None
        low, high = self.low, self.high
        known = np.isfinite(low) & np.isfinite(high)
        if not known.any():
            return None
        width = (high - low)[known]
        x = rows[:, np.flatnonzero(known)]
        outside = np.maximum(low[known] - x, x - high[known])
        gaps = np.zeros((len(rows), columns.n_columns), bool)
        for j in columns.gaps:
            gaps[:, j] = rows[:, columns.gap(j)] > 0
        return ((outside > width) & (width > 0) & ~gaps[:, known]).any(axis=1)


def has_words(unit) -> bool:
    """True if a unit, or some of its values, are words: "std" or "range"."""
    return any(isinstance(each, str) for each in (unit.values() if isinstance(unit, Mapping) else [unit]))


def stored_rows(model) -> np.ndarray | None:
    """The rows of training that a classifier without steps before it stores: neighbours, but no prototypes."""
    return getattr(model, "reference_", None) if hasattr(model, "n_neighbors") else None


def _ends(voter: Voter, reference) -> tuple[np.ndarray, np.ndarray]:
    """The range of each column of numbers in the reference, in the rows that a classifier stores, or by the scalers.

    A ``StandardScaler`` knows the mean and ``√(n − 1)`` standard deviations, beyond which no row of training can be.
    """
    columns = voter.encoding
    low, high = np.full((2, columns.n_columns), np.nan)
    steps = [] if voter.front is None else [step for step in voter.front.steps if not does_nothing(step)]
    stored = None
    if not steps:
        last = voter.model[-1] if hasattr(voter.model, "steps") else voter.model
        if hasattr(last, "n_neighbors"):  # prototypes are no rows of training
            stored = getattr(last, "reference_", getattr(last, "_fit_X", None))
    table = stored if reference is None else reference[0]
    table = np.asarray(table) if isinstance(table, list | tuple) else table
    read = [j for j in range(columns.n_columns) if j not in columns.categories]
    read = read if columns.read is None else [j for j in read if j in columns.read]
    if table is not None and np.ndim(table) == 2:
        for j in read:
            column = table.iloc[:, j].to_numpy(float, na_value=np.nan) if hasattr(table, "iloc") else table[:, j]
            column = np.asarray(column, dtype=np.float64)
            there = column[np.isfinite(column)]
            if there.size:
                low[j], high[j] = there.min(), there.max()
    elif steps:
        known = _of_scalers(steps, list(range(columns.n_columns)))
        for j in set(read) & set(known):
            low[j], high[j] = known[j]
    return low, high


def _of_scalers(steps, columns: list[int]) -> dict[int, tuple[float, float]]:
    """The range of each column that a scaler knows, if it comes first on it, but for an imputer."""
    step = _first_at_work(steps)
    if isinstance(step, Pipeline):
        return _of_scalers(step, columns)
    if isinstance(step, ColumnTransformer):
        out: dict[int, tuple[float, float]] = {}
        for _, inner, chosen in step.transformers_:
            at = column_numbers(chosen, getattr(step, "feature_names_in_", None), step.n_features_in_)
            if not isinstance(inner, str):
                out |= _of_scalers(inner, [columns[i] for i in at])
        return out
    if isinstance(step, MinMaxScaler):
        low, high = step.data_min_, step.data_max_
    elif isinstance(step, MaxAbsScaler):
        low, high = -step.max_abs_, step.max_abs_
    elif isinstance(step, StandardScaler) and step.with_mean and step.with_std:
        reach = np.sqrt(np.maximum(np.asarray(step.n_samples_seen_) - 1.0, 0.0) * step.var_)
        low, high = step.mean_ - reach, step.mean_ + reach
    else:
        return {}
    # Indicators of gaps come after the columns.
    return {j: (float(a), float(b)) for j, a, b in zip(columns, low, high, strict=False)}


def deviations(model) -> np.ndarray | None:
    """The standard deviation of each column, if a pipeline divides by it before anything else; None if it does not.

    That is a ``StandardScaler`` that stands first, or first (but for a ``SimpleImputer``) in each part of a
    ``ColumnTransformer`` that takes numbers. Columns that are encoded or left out have 1.
    """
    first = model[0] if isinstance(model, Pipeline) else None
    if isinstance(first, StandardScaler):
        return first.scale_
    if not isinstance(first, ColumnTransformer):
        return None
    n, scales = first.n_features_in_, np.ones(first.n_features_in_)
    scaled = False
    for _, part, columns in first.transformers_:
        at = column_numbers(columns, getattr(first, "feature_names_in_", None), n)
        if not at or (isinstance(part, str) and part == "drop"):
            continue
        scaler = _first_at_work(part)
        if isinstance(scaler, OneHotEncoder | OrdinalEncoder):
            continue
        # After an imputer, the indicators of gaps come after the columns.
        if not isinstance(scaler, StandardScaler) or scaler.scale_ is None or len(scaler.scale_) < len(at):
            return None
        scales[at], scaled = scaler.scale_[: len(at)], True
    return scales if scaled else None


def _first_at_work(step):
    """The first step of a pipeline, or of a list, that does more than fill gaps; None if an imputer drops columns."""
    steps = (
        [each for _, each in step.steps] if isinstance(step, Pipeline) else step if isinstance(step, list) else [step]
    )
    for each in steps:
        if isinstance(each, SimpleImputer):
            filled = np.asarray(each.statistics_)
            if filled.dtype.kind == "f" and np.isnan(filled).any():
                return None
        elif not does_nothing(each):
            return each
    return None


def _widths(X, unit):
    """``unit`` with numbers in place of ``"std"`` and ``"range"``: a mapping by name, or an array."""
    at, table = _numbers(X)
    if isinstance(unit, Mapping):
        out = {}
        for column, word in unit.items():
            out[column] = word
            if isinstance(word, str):
                place = _place(X, column)
                if place not in at:
                    raise ValueError(f"unit names {column!r}, but the rows of training have no such column of numbers.")
                out[column] = _width(table[:, at.index(place)], word)[()]
        return out
    width = _width(table, unit)
    return {str(X.columns[k]): w for k, w in zip(at, width.tolist(), strict=True)} if hasattr(X, "columns") else width


def _width(values: np.ndarray, word: str) -> np.ndarray:
    """The standard deviation or the range of each column; 1 where it is 0."""
    if word not in UNIT_WORDS:
        raise ValueError(f'unit must be numbers, "std" or "range"; got {word!r}.')
    width = np.nanstd(values, axis=0) if word == "std" else np.nanmax(values, axis=0) - np.nanmin(values, axis=0)
    return np.where(width > 0, width, 1.0)


def _place(X, column) -> int | None:
    return place_of(column, {str(name): i for i, name in enumerate(getattr(X, "columns", ()))}, np.shape(X)[1])


def place_of(column, index: Mapping[str, int], n: int) -> int | None:
    """The number of a column, or None; files have string keys: "3" is the fourth column if none is called "3".

    A number is always a position: 3 is the fourth column, whatever the columns are called.
    """
    if isinstance(column, str):
        if column in index:
            return index[column]
        if not column.isdecimal():
            return None
    if isinstance(column, bool) or not isinstance(column, int | float | str | np.integer | np.floating):
        return None
    number = float(column)
    return int(number) if number.is_integer() and 0 <= number < n else None


def _numbers(X) -> tuple[list[int], np.ndarray]:
    """The positions of the columns of numbers, also of those whose dtype is object, and their values."""
    if hasattr(X, "columns"):
        columns = [X.iloc[:, k] for k in range(X.shape[1])]
        at = [k for k, column in enumerate(columns) if _holds_numbers(column)]
        values = [columns[k].astype(object).where(columns[k].notna(), np.nan).astype(np.float64) for k in at]
        return at, np.column_stack([*values, np.empty((len(X), 0))])
    table = np.asarray(X, dtype=np.float64)
    return list(range(table.shape[1])), table


def _holds_numbers(column) -> bool:
    if column.dtype.kind != "O":
        return column.dtype.kind in "iuf"
    values = column.tolist()
    return numeric(values) and not any(isinstance(value, bool) for value in values)
