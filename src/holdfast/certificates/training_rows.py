"""Widths of features and values of categories that a threat takes from training rows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from holdfast.certificates.columns import Columns
from holdfast.certificates.folding.steps import column_numbers, does_nothing
from holdfast.certificates.folding.values import numeric

if TYPE_CHECKING:
    from holdfast.certificates.threat import Threat

_MOST = 1_000  # most values of a category; a column with more is taken for numbers


def fitted_threat(threat: "Threat", model, reference, names) -> "Threat":
    """The threat with numbers in place of words, from the rows of training if they are known.

    They come from the rows given as ``reference``, from the rows that a classifier without steps before it stores, or
    are the standard deviations by which the model itself divides (:func:`deviations`). Otherwise the threat is returned
    as it is, and reading it raises an error that says what is missing.
    """
    if not threat.needs_rows:
        return threat
    rows = stored_rows(model) if reference is None else reference[0]
    if rows is not None:
        if names is not None and not hasattr(rows, "columns"):
            from pandas import DataFrame  # installed: the names came from a data frame

            rows = DataFrame(rows, columns=[str(name) for name in names])
        return threat.fitted_to(rows)
    unit = deviations(model) if isinstance(threat.unit, str) and threat.unit == "std" else None
    return threat if unit is None else type(threat)(**threat.get_params() | {"unit": unit})


def stored_rows(model) -> np.ndarray | None:
    """The rows of training that a classifier without steps before it stores: neighbours, but no prototypes."""
    return getattr(model, "reference_", None) if hasattr(model, "n_neighbors") else None


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
        scaler = first_at_work(part)
        if isinstance(scaler, OneHotEncoder | OrdinalEncoder):
            continue
        # After an imputer, the indicators of gaps come after the columns.
        if not isinstance(scaler, StandardScaler) or scaler.scale_ is None or len(scaler.scale_) < len(at):
            return None
        scales[at], scaled = scaler.scale_[: len(at)], True
    return scales if scaled else None


def first_at_work(step):
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


def widths(X, unit):
    """``unit`` with numbers in place of ``"std"`` and ``"range"``: a mapping by name, or an array."""
    at, table = _numbers(X)
    if isinstance(unit, Mapping):
        columns = _columns(X)
        out = {}
        for column, word in unit.items():
            out[column] = word
            if isinstance(word, str):
                place = columns.number(column)
                if place not in at:
                    raise ValueError(f"unit names {column!r}, but the rows of training have no such column of numbers.")
                out[column] = _width(table[:, at.index(place)], word)[()]
        return out
    width = _width(table, unit)
    return {str(X.columns[k]): w for k, w in zip(at, width.tolist(), strict=True)} if hasattr(X, "columns") else width


def values_of(X, what: str, columns) -> dict:
    """``{column: its values}`` of a list of columns."""
    out = {}
    for column in np.atleast_1d(np.asarray(columns, dtype=object)).tolist():
        if hasattr(X, "columns"):
            place = _columns(X).number(column)
            if place is None:
                raise ValueError(f"{what} names {column!r}, but the rows of training have no such column.")
            values = X.iloc[:, place].dropna().unique().tolist()
        else:
            table = np.asarray(X)
            if isinstance(column, str) or not 0 <= int(column) < table.shape[1]:
                raise ValueError(f"{what} names {column!r}, but the rows of training have {table.shape[1]} columns.")
            values = np.unique(table[:, int(column)]).tolist()
        if len(values) > _MOST:
            raise ValueError(
                f"{what} names {column!r}, which has {len(values):,} values in the rows of training: it is no category."
            )
        out[column] = sorted(values)
    return out


def _width(values: np.ndarray, word: str) -> np.ndarray:
    """The standard deviation or the range of each column; 1 where it is 0."""
    if word not in ("std", "range"):
        raise ValueError(f'unit must be numbers, "std" or "range"; got {word!r}.')
    width = np.nanstd(values, axis=0) if word == "std" else np.nanmax(values, axis=0) - np.nanmin(values, axis=0)
    return np.where(width > 0, width, 1.0)


def _columns(X) -> Columns:
    return Columns(np.shape(X)[1], X.columns if hasattr(X, "columns") else None)


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
