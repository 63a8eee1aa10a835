"""Answers as a table like the one that was given."""

from collections.abc import Mapping, Sequence

import numpy as np

from holdfast.certificates.threat import Threat
from holdfast.certificates.voting import Voter
from holdfast.numerics.frames import as_pandas


def as_rows(X):
    """X as a table: one row may be a series, and a table of polars becomes one of pandas."""
    if hasattr(X, "iloc") and X.ndim == 1:
        return X.to_frame().T.infer_objects()
    return as_pandas(X)


def keep_kinds(threat: Threat, X) -> Threat:
    """The threat, with columns of whole numbers whole, and those of True and False as they are.

    Only for data frames, whose columns have a type; a threat that names its own whole numbers stays as it is.
    """
    if not hasattr(X, "dtypes") or not hasattr(X, "columns"):
        return threat
    named = {str(name) for what in (threat.free, threat.categories) for name in _flat(what)}
    kinds = {name: getattr(kind, "kind", "O") for name, kind in X.dtypes.items() if str(name) not in named}
    changed: dict = {}
    if threat.integer is None and any(kind in "iu" for kind in kinds.values()):
        changed["integer"] = [name for name, kind in kinds.items() if kind in "iu"]
    booleans = [name for name, kind in kinds.items() if kind == "b"]
    if booleans and (threat.frozen is None or np.asarray(threat.frozen).dtype != bool):
        changed["frozen"] = [*_flat(threat.frozen), *booleans]
    return Threat(**threat.get_params() | changed) if changed else threat


def _flat(named) -> list:
    """What a threat names, as a list."""
    if named is None:
        return []
    return list(named) if isinstance(named, Mapping) else np.atleast_1d(np.asarray(named, dtype=object)).tolist()


def as_table(points: np.ndarray, rows: np.ndarray, X, row: np.ndarray, voter: Voter):
    """Points as an array, or as a data frame with the columns of X and, for each point, the index of its row.

    Columns of whole numbers or of True and False stay so if every value allows it. Words are those of the row; where
    there is no point all is NaN. ``rows`` are those of X, encoded.
    """
    if not voter.encoding.keeps_rows:
        given = X.iloc[row] if hasattr(X, "iloc") else np.asarray(X, dtype=object)[row]
        return _decoded(points, rows[row], given, voter)
    if not hasattr(X, "columns"):
        return points
    from pandas import DataFrame  # installed: X is one of its frames

    return _with_kinds(DataFrame(points, columns=X.columns, index=X.index[row]), X)


def _with_kinds(frame, X):
    """A frame with whole numbers, and True and False, where X has them and every value allows it."""
    for name, kind in X.dtypes.items():
        values = frame[name].to_numpy()
        if getattr(kind, "kind", "f") in "biu" and values.dtype.kind == "f" and np.isfinite(values).all():
            cast = values.astype(kind)
            if (cast == values).all():
                frame[name] = cast
    return frame


def _decoded(points: np.ndarray, encoded: np.ndarray, rows, voter: Voter):
    """Encoded points in the form of the rows; missing ones are NaN in every column."""
    missing = ~np.isfinite(points).all(axis=1)
    given = voter.as_given(np.where(missing[:, None], encoded, points), rows)
    if missing.any():
        is_frame = hasattr(given, "iloc")
        given = given.astype(object) if is_frame else given  # an array of numbers stays one
        given[missing] = np.nan
        given = given.infer_objects() if is_frame else given
    return _with_kinds(given, rows) if hasattr(given, "iloc") and hasattr(rows, "dtypes") else given


def column_names(X, known: Sequence[str] | None) -> list[str]:
    """The names of the columns of X, those the model was fitted on, or ``x0, x1, …``."""
    names = getattr(X, "columns", known)
    return [f"x{i}" for i in range(np.shape(X)[1])] if names is None else [str(name) for name in names]
