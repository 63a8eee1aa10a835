"""Checked rows with their classes, or with their triplets: here of arrays, in :mod:`holdfast.learn.dask` of blocks.

A learner gets them from :func:`labelled_rows` or :func:`triplet_rows`, and then calls their methods, wherever they are.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from holdfast.base.blocks import leaves, tree_sum
from holdfast.base.collections import is_dask
from holdfast.base.inputs import plain_labels
from holdfast.learn.objective import SampledObjective, Terms, scatters_of
from holdfast.learn.supervision import Triplets, knn_triplets

_MOSTLY_USED = 0.8  # share of points in triplets from which on copying the others away saves little


class LabelledRows:
    """Rows of an array, with their classes."""

    in_memory = True

    def __init__(self, X: np.ndarray, classes: np.ndarray, codes: np.ndarray):
        self._X, self.classes, self._codes = X, classes, codes
        self.shape = X.shape

    def variances(self) -> np.ndarray:
        """The variance of every feature."""
        return self._X.var(axis=0)

    def sum(self, function: Callable[[np.ndarray], tuple]) -> tuple:
        """``Σ function(rows)``, leaf by leaf; see :mod:`holdfast.base.blocks`."""
        return tree_sum([function(self._X[leaf]) for leaf in leaves(self.shape[0])])

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> "LabelledRows":
        """The same labels with ``function(rows)`` for rows."""
        return LabelledRows(function(self._X), self.classes, self._codes)

    def sample(self, size: int, random_state) -> tuple[np.ndarray, np.ndarray]:
        """Rows and class codes as arrays: all that are in memory, about ``size`` of those on workers."""
        return self._X, self._codes

    def keep(self, make: Callable, *arguments, n_jobs: int | None) -> "Kept":
        """``make(rows, codes, *arguments, n_jobs)``: of all rows, or of each block on its worker."""
        return Kept(make(self._X, self._codes, *arguments, n_jobs))


class Kept:
    """An object made of rows; functions of it are summed over the blocks of rows, of which there is one here."""

    def __init__(self, made):
        self._made = made

    def total(self, function: Callable[..., tuple], *arguments) -> tuple:
        """``Σ function(object, *arguments)`` over the objects of all blocks."""
        return function(self._made, *arguments)

    def __enter__(self) -> "Kept":
        return self

    def __exit__(self, *exc) -> None:
        self._made.close()


class TripletRows:
    """Rows of an array, with their triplets, and with labels if triplets were made from them."""

    in_memory = True

    def __init__(self, X: np.ndarray, y, triplets: Triplets):
        self._X, self._y, self._triplets = X, y, triplets
        self.shape, self.labelled = X.shape, y is not None
        self._scatters: tuple[np.ndarray, np.ndarray] | None = None

    def variances(self) -> np.ndarray:
        """The variance of every feature."""
        return self._X.var(axis=0)

    def sample(self, size: int, random_state) -> tuple[np.ndarray, np.ndarray]:
        """Rows and labels as arrays: all that are in memory, about ``size`` of those on workers."""
        y = column_or_1d(self._y)
        check_consistent_length(self._X, y)
        return self._X, y

    def points_and_triplets(self) -> tuple[np.ndarray, Triplets]:
        """All rows and triplets; ``ValueError`` if they are on workers."""
        return self._X, self._triplets

    def scatters(self, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
        """The means over R of ``X_ij`` and of ``X_il``."""
        self._scatters = scatters_of(*self._used(), n_jobs)
        return self._scatters

    def objective(self, terms: Terms, B: np.ndarray | None, n_jobs: int | None) -> SampledObjective:
        """The weighted terms, summed over the triplets."""
        objective = SampledObjective(*self._used(), terms, B, n_jobs)
        if self._scatters is not None:  # known from the default loss: they are not summed again
            objective.scatters = self._scatters
        return objective

    def _used(self) -> tuple[np.ndarray, Triplets]:
        """Rows and triplets, without the rows that no triplet names if these are many."""
        if self._triplets.named.mean() >= _MOSTLY_USED:
            return self._X, self._triplets
        points, triplets = self._triplets.of_anchors(self._triplets.anchors)
        return self._X[points], triplets


def labelled_rows(X, y, validate: Callable[..., Any], owner: str) -> LabelledRows:
    """Rows with their classes, checked by ``validate`` as scikit-learn's ``validate_data`` does for one estimator."""
    if is_dask(X):
        from holdfast.learn.dask import BlockedRows

        if y is None:
            raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
        return BlockedRows(X, y, validate, owner)
    X, y = validate(X, plain_labels(y), dtype=np.float64, order="C", ensure_min_samples=2)
    check_classification_targets(y)
    return LabelledRows(X, *np.unique(y, return_inverse=True))


def triplet_rows(learner, X, y=None, triplets=None) -> TripletRows:
    """Check rows and find their triplets by the learner's ``n_neighbors``, ``n_impostors`` and ``neighbors``, or take
    those given. Sets ``n_features_in_`` and ``feature_names_in_``.
    """
    validate, owner = partial(validate_data, learner), type(learner).__name__
    if y is None and triplets is None:
        if not is_dask(X):
            validate(X, dtype=np.float64, ensure_min_samples=2)  # a fault of X is reported first
        raise ValueError(
            f"{owner} requires y to be passed, but the target y is None; pass class labels, or triplets=... instead."
        )
    if is_dask(X):
        from holdfast.learn.dask import BlockedRows, BlockedTriplets

        rows = BlockedRows(X, y, validate, owner)
        if triplets is None:
            return BlockedTriplets(rows, rows.triplets(learner.n_neighbors, learner.n_impostors, learner.neighbors))
        return BlockedTriplets(rows, rows.split(_checked(triplets, rows.shape[0])))
    if triplets is not None:
        X = validate(X, dtype=np.float64, order="C", ensure_min_samples=2)
        return TripletRows(X, y, _checked(triplets, len(X)))
    X, y = validate(X, y, dtype=np.float64, order="C", ensure_min_samples=2)
    check_classification_targets(y)
    return TripletRows(
        X, y, knn_triplets(X, y, learner.n_neighbors, learner.n_impostors, learner.n_jobs, learner.neighbors)
    )


def _checked(triplets, n_samples: int) -> Triplets:
    """The triplets over ``n_samples`` points, or a ``ValueError`` that says what is wrong with them."""
    if not isinstance(triplets, Triplets):
        triplets = Triplets(triplets, n_samples)
    if triplets.n_samples != n_samples:
        raise ValueError(f"The triplets refer to {triplets.n_samples} points, but X has {n_samples} rows.")
    return triplets
