"""Widths of features and values of categories that a threat takes from training rows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from holdfast.certificates.folding.steps import column_numbers, does_nothing

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
    # Prototypes are no rows of training; neighbours are.
    stored = getattr(model, "reference_", None) if hasattr(model, "n_neighbors") else None
    rows = stored if reference is None else reference[0]
    if rows is not None:
        if names is not None and not hasattr(rows, "columns"):
            from pandas import DataFrame  # installed: the names came from a data frame

            rows = DataFrame(rows, columns=[str(name) for name in names])
        return threat.fitted_to(rows)
    unit = deviations(model) if isinstance(threat.unit, str) and threat.unit == "std" else None
    return threat if unit is None else type(threat)(**threat.get_params() | {"unit": unit})


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
    names, table = _numbers(X)
    if isinstance(unit, Mapping):
        at = {str(name): i for i, name in enumerate(names)}
        return {
            column: _width(table[:, at[str(column)]], word)[()] if isinstance(word, str) else word
            for column, word in unit.items()
            if not isinstance(word, str) or str(column) in at
        }
    width = _width(table, unit)
    return dict(zip(names, width.tolist(), strict=True)) if hasattr(X, "columns") else width


def values_of(X, what: str, columns) -> dict:
    """``{column: its values}`` of a list of columns."""
    out = {}
    for column in np.atleast_1d(np.asarray(columns, dtype=object)).tolist():
        if hasattr(X, "columns"):
            names = {str(name): name for name in X.columns}
            if str(column) not in names:
                raise ValueError(f"{what} names {column!r}, but the rows of training have no such column.")
            values = X[names[str(column)]].dropna().unique().tolist()
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


def _numbers(X) -> tuple[list, np.ndarray]:
    """The columns of numbers, and their values."""
    if hasattr(X, "columns"):
        X = X.select_dtypes("number")
        return [str(name) for name in X.columns], X.to_numpy(dtype=np.float64)
    table = np.asarray(X, dtype=np.float64)
    return list(range(table.shape[1])), table
