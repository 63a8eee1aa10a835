"""Widths of features and values of categories that a threat takes from training rows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

if TYPE_CHECKING:
    from holdfast.certificates.threat import Threat

_MOST = 1_000  # different values of a category; a column with more is a number


def fitted_threat(threat: "Threat", model, reference, names) -> "Threat":
    """The threat with numbers in place of words, from the rows of training if they are known.

    Known are rows given as ``reference``, the rows that a classifier without steps before it stores, and the standard
    deviations of a ``StandardScaler`` that stands first. Otherwise the threat stays as it is, and reading it says what
    is missing.
    """
    if not threat.needs_rows:
        return threat
    # Prototypes are no rows of training; neighbours are.
    stored = getattr(model, "reference_", None) if hasattr(model, "n_neighbors") else None
    rows = stored if reference is None else reference[0]
    if rows is not None:
        if names is not None and not hasattr(rows, "columns"):
            from pandas import DataFrame  # installed: the names came from a data frame

            rows = DataFrame(rows, columns=[str(name) for name in names])
        return threat.fitted_to(rows)
    first = model[0] if isinstance(model, Pipeline) else None
    if threat.unit == "std" and isinstance(first, StandardScaler) and first.scale_ is not None:
        return type(threat)(**threat.get_params() | {"unit": first.scale_})
    return threat


def widths(X, unit):
    """``unit`` with numbers in place of ``"std"`` and ``"range"``: a mapping by name, or an array."""
    names, table = _numbers(X)
    if isinstance(unit, Mapping):
        at = {str(name): i for i, name in enumerate(names)}
        return {
            column: _width(table[:, at[str(column)]], word)[()] if isinstance(word, str) else word
            for column, word in unit.items()
            if not isinstance(word, str) or str(column) in at
        }
    found = _width(table, unit)
    return dict(zip(names, found.tolist(), strict=True)) if hasattr(X, "columns") else found


def values_of(X, what: str, columns) -> dict:
    """``{column: its values}`` of a list of columns."""
    found = {}
    for column in np.atleast_1d(np.asarray(columns, dtype=object)).tolist():
        if hasattr(X, "columns"):
            there = {str(name): name for name in X.columns}
            if str(column) not in there:
                raise ValueError(f"{what} names {column!r}, but the rows of training have no such column.")
            values = X[there[str(column)]].dropna().unique().tolist()
        else:
            table = np.asarray(X)
            if isinstance(column, str) or not 0 <= int(column) < table.shape[1]:
                raise ValueError(f"{what} names {column!r}, but the rows of training have {table.shape[1]} columns.")
            values = np.unique(table[:, int(column)]).tolist()
        if len(values) > _MOST:
            raise ValueError(
                f"{what} names {column!r}, which has {len(values):,} values in the rows of training: it is no category."
            )
        found[column] = sorted(values)
    return found


def _width(values: np.ndarray, word: str) -> np.ndarray:
    """The standard deviation or the range of each column; 1 where it is 0."""
    if word not in ("std", "range"):
        raise ValueError(f'unit must be numbers, "std" or "range"; got {word!r}.')
    width = np.nanstd(values, axis=0) if word == "std" else np.nanmax(values, axis=0) - np.nanmin(values, axis=0)
    return np.where(width > 0, width, 1.0)


def _numbers(X) -> tuple[list, np.ndarray]:
    """The columns of numbers, and their values."""
    if hasattr(X, "columns"):
        X = X.select_dtypes("number")
        return [str(name) for name in X.columns], X.to_numpy(dtype=np.float64)
    table = np.asarray(X, dtype=np.float64)
    return list(range(table.shape[1])), table
