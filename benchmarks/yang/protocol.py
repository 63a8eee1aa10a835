"""One round of a data set as a learner sees it: split, then preprocessed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from benchmarks.yang.sets import SETS, Facts, Raw, raw
from benchmarks.yang.splits import Split, split
from holdfast.base.blocks import single_threaded_blas

PREPROCESSING = ("paper", "honest")


@dataclass(frozen=True, eq=False)
class Round:
    """The parts of a split, preprocessed.

    Attributes
    ----------
    X_train, X_validation, X_test : ndarrays of shape (·, n_features)
        Rows of unit length.
    y_train, y_validation, y_test : ndarrays
    noise_train, noise_test : ndarrays of shape (·, n_inputs)
        The space noise is added in: the preprocessed rows; for high-dimensional sets the stored ones.
    after_noise : callable
        From that space to the learner's.
    """

    name: str
    number: int
    facts: Facts
    split: Split
    X_train: np.ndarray
    y_train: np.ndarray
    X_validation: np.ndarray
    y_validation: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    noise_train: np.ndarray
    noise_test: np.ndarray
    after_noise: Callable[[np.ndarray], np.ndarray]


@lru_cache(maxsize=2)  # methods follow each other on the same round
def make_round(name: str, number: int, preprocessing: str = "paper", data_dir: str | None = None) -> Round:
    """Round ``number`` of a data set.

    Parameters
    ----------
    name : str
        A key of :data:`benchmarks.yang.sets.SETS`.
    number : int
        Counted from 0.
    preprocessing : {"paper", "honest"}
        "paper" standardises the whole set before it is split, "honest" with mean and standard deviation
        (population) of the training part; then rows get unit length. High-dimensional sets are not
        standardised: a PCA to 95 % of the variance is fitted on training rows either way.
    data_dir : str or None
        Folder of the data; None is what ``HOLDFAST_DATA`` names.
    """
    if preprocessing not in PREPROCESSING:
        raise ValueError(f"preprocessing must be one of {PREPROCESSING}; got {preprocessing!r}.")
    data, facts = raw(name, data_dir), SETS[name]
    parts = split(name, data, number, data_dir)
    if facts.reduced:
        with single_threaded_blas():
            pca = PCA(0.95, svd_solver="full").fit(data.X[parts.reduction])

        def last(rows: np.ndarray) -> np.ndarray:
            with single_threaded_blas():
                return normalize(pca.transform(rows))

        rows, prepared = data.X, last(data.X)
    else:
        scale = standardiser(data.X if preprocessing == "paper" else data.X[parts.train])
        rows = prepared = normalize(scale(data.X))

        def last(rows: np.ndarray) -> np.ndarray:
            return rows

    return Round(
        name,
        number,
        facts,
        parts,
        *_part(prepared, data, parts.train),
        *_part(prepared, data, parts.validation),
        *_part(prepared, data, parts.test),
        rows[parts.train],
        rows[parts.test],
        last,
    )


def standardiser(X: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """``(x − mean) / std`` with the population standard deviation of X; a constant column becomes 0."""
    mean, constant = X.mean(axis=0), np.ptp(X, axis=0) == 0
    factor = np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, X.std(axis=0)))
    return lambda rows: (rows - mean) * factor


def _part(X: np.ndarray, data: Raw, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.ascontiguousarray(X[rows]), data.y[rows]
