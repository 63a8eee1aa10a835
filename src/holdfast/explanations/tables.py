"""Answers as a table like the one that was given."""

from collections.abc import Sequence

import numpy as np

from holdfast.certificates.voting import Voter


def as_table(points: np.ndarray, X, row: np.ndarray, voter: Voter):
    """Points as an array, or as a data frame with the columns of X and, for each point, the index of its row.

    Columns of whole numbers or of True and False stay so if every value allows it. Words are those of the row; where
    there is no point all is NaN.
    """
    if not voter.encoding.plain:
        return _decoded(points, X.iloc[row] if hasattr(X, "iloc") else np.asarray(X, dtype=object)[row], voter)
    if not hasattr(X, "columns"):
        return points
    from pandas import DataFrame  # installed: X is one of its frames

    frame = DataFrame(points, columns=X.columns, index=X.index[row])
    for name, kind in X.dtypes.items():
        values = frame[name].to_numpy()
        if getattr(kind, "kind", "f") in "biu" and np.isfinite(values).all():
            cast = values.astype(kind)
            if (cast == values).all():
                frame[name] = cast
    return frame


def _decoded(points: np.ndarray, rows, voter: Voter):
    """Encoded points in the form of the rows; missing ones are NaN in every column."""
    missing = ~np.isfinite(points).all(axis=1)
    given = voter.as_given(np.where(missing[:, None], voter.check_rows(rows), points), rows)
    if missing.any():
        given = given.astype(object)
        given[missing] = np.nan
        given = given.infer_objects() if hasattr(given, "iloc") else given
    return given


def column_names(X, known: Sequence[str] | None) -> list[str]:
    """The names of the columns of X, those the model was fitted on, or ``x0, x1, …``."""
    names = getattr(X, "columns", known)
    return [f"x{i}" for i in range(np.shape(X)[1])] if names is None else [str(name) for name in names]
