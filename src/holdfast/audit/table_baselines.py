"""Baselines beside a model that takes words and gaps by itself: they take the same table."""

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from holdfast.models import CertifiedKNeighborsClassifier

_MAX_ITER = 1_000  # of the logistic regression


def table_baselines(table, y: np.ndarray, words: set[int], n_neighbors: int, n_jobs: int | None) -> dict[str, Pipeline]:
    """Logistic regression and plain k-NN: gaps filled with medians, numbers standardised, words one-hot.

    Parameters
    ----------
    table : data frame
        The rows of training.
    y : ndarray of shape (n_rows,)
    words : set of int
        Which columns hold words.
    n_neighbors, n_jobs
        As for :class:`holdfast.CertifiedKNeighborsClassifier`.

    Returns
    -------
    dict
        Fitted pipelines by the key of the candidate.
    """
    last = {
        "logistic": LogisticRegression(max_iter=_MAX_ITER),
        "knn": CertifiedKNeighborsClassifier(None, n_neighbors, n_jobs),
    }
    return {key: Pipeline([("table", _front(table, words)), (key, each)]).fit(table, y) for key, each in last.items()}


def _front(table, words: set[int]) -> ColumnTransformer:
    """From the table to numbers."""
    names = list(table.columns)
    fill = Pipeline([("fill", SimpleImputer(strategy="median")), ("scale", StandardScaler())])
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = [
        ("numbers", fill, [name for k, name in enumerate(names) if k not in words]),
        ("words", encode, [name for k, name in enumerate(names) if k in words]),
    ]
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0)
