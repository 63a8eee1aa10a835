"""Answers as a table like the one that was given."""

from collections.abc import Sequence

import numpy as np


def as_table(points: np.ndarray, X, row: np.ndarray):
    """Points as an array, or as a data frame with the columns of X and, for each point, the index of its row.

    Columns of whole numbers or of True and False stay so if every value allows it.
    """
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


def column_names(X, known: Sequence[str] | None) -> list[str]:
    """The names of the columns of X, those the model was fitted on, or ``x0, x1, …``."""
    names = getattr(X, "columns", known)
    return [f"x{i}" for i in range(np.shape(X)[1])] if names is None else [str(name) for name in names]
