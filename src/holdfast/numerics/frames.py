"""Tables as users have them: column names, and the precision of numbers."""

import numpy as np


def with_names(rows, estimator):
    """The rows as a data frame with the estimator's ``feature_names_in_``; unchanged if it has none.

    scikit-learn warns when a model that was fitted on named columns is given a bare array.

    Parameters
    ----------
    rows : ndarray or data frame of shape (n_rows, n_features)
        A data frame stays as it is.
    estimator : fitted estimator

    Returns
    -------
    ndarray or pandas data frame
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or hasattr(rows, "columns"):
        return rows
    from pandas import DataFrame  # installed: the names came from a data frame

    return DataFrame(rows, columns=names)


def as_pandas(X):
    """A table, or a column, of another library (polars) as one of pandas; anything else as it is."""
    return X.to_pandas() if hasattr(X, "to_pandas") and not hasattr(X, "iloc") else X


def plain_labels(y):
    """Labels of pandas' nullable types as numpy has them: whole numbers stay whole, and True and False stay so.

    scikit-learn makes floats of them. Anything else, and labels with gaps, is returned as it is.
    """
    kind = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if kind is None or kind.kind not in "biu" or y.isna().any():
        return y
    return y.to_numpy(dtype=kind)


def precisions(rows) -> list[str]:
    """Names of the kinds of floating-point numbers in a table, such as ``float32``: of every column of a frame.

    Lists are looked at as numpy reads them: a list of rows in single precision is in single precision.
    """
    if hasattr(rows, "dtypes"):
        kinds = list(rows.dtypes)
    else:
        kinds = [rows.dtype if isinstance(rows, np.ndarray) else np.asarray(rows).dtype]
    names = (_ARROW.get(str(kind), str(kind)).lower() for kind in kinds)
    return [name for name in names if name.startswith("float") or name == "longdouble"]


_ARROW = {"halffloat[pyarrow]": "float16", "float[pyarrow]": "float32", "double[pyarrow]": "float64"}
