"""Arrays in this process."""

from collections.abc import Callable

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from holdfast.backends.array_rows import ArrayRows
from holdfast.backends.array_triplets import ArrayTriplets
from holdfast.backends.base import Validate
from holdfast.backends.checks import check_triplets, labels_missing
from holdfast.learn import NeighborSearch, knn_triplets
from holdfast.numerics.frames import plain_labels


class MemoryBackend:
    """Works on arrays; see :class:`~holdfast.backends.base.Backend`."""

    def count_features(self, X, validate: Validate) -> int:
        """The number of features of X, checked."""
        return validate(X, dtype=np.float64).shape[1]

    def labelled_rows(self, X, y, validate: Validate, owner: str) -> ArrayRows:
        """Rows with their classes, checked."""
        X, y = validate(X, plain_labels(y), dtype=np.float64, order="C", ensure_min_samples=2)
        check_classification_targets(y)
        return ArrayRows(X, *np.unique(y, return_inverse=True))

    def triplet_data(
        self,
        X,
        y,
        triplets,
        *,
        n_neighbors: int,
        n_impostors: int | None,
        neighbors: str | NeighborSearch,
        n_jobs: int | None,
        validate: Validate,
        owner: str,
    ) -> ArrayTriplets:
        """Rows with the triplets given, or else with those of ``knn_triplets``."""
        if triplets is not None:
            X = validate(X, dtype=np.float64, order="C", ensure_min_samples=2)
            return ArrayTriplets(X, y, check_triplets(triplets, len(X)))
        if y is None:
            validate(X, dtype=np.float64, ensure_min_samples=2)  # a fault of X is reported first
            raise ValueError(labels_missing(owner))
        X, y = validate(X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        check_classification_targets(y)
        return ArrayTriplets(X, y, knn_triplets(X, y, n_neighbors, n_impostors, n_jobs, neighbors))

    def reference(self, X, y) -> tuple:
        """X and y."""
        return X, y

    def class_means(self, X, y) -> tuple:
        """X and y."""
        return X, y

    def map_rows(self, method: Callable, model, X):
        """``method(model, X)``."""
        return method(model, X)

    def certify_blocks(self, certify: Callable, join: Callable[[list], object], model, X, y, options: dict):
        """``certify(model, X, y, **options)``: one block."""
        return certify(model, X, y, **options)
