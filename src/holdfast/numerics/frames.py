"""Rows with the column names a model was fitted on."""


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
