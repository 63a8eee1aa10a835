"""Checks that all back ends share."""

import warnings

import numpy as np
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from holdfast.learn import Triplets


def check_triplets(triplets, n_samples: int) -> Triplets:
    """The triplets over ``n_samples`` points, or a ``ValueError`` that says what is wrong with them."""
    if not isinstance(triplets, Triplets):
        triplets = Triplets(triplets, n_samples)
    if triplets.n_samples != n_samples:
        raise ValueError(f"The triplets refer to {triplets.n_samples} points, but X has {n_samples} rows.")
    return triplets


def labels_missing(owner: str) -> str:
    """The message for a learner of triplets that was given neither labels nor triplets."""
    return f"{owner} requires y to be passed, but the target y is None; pass class labels, or triplets=... instead."


def check_rows(block, owner: str) -> np.ndarray:
    """The rows of a block as float64, or the ``ValueError`` that arrays would get."""
    return check_array(block, dtype=np.float64, order="C", ensure_min_samples=0, estimator=owner, input_name="X")


def check_labels(block) -> np.ndarray:
    """The labels of a block, or the ``ValueError`` that arrays would get."""
    y = column_or_1d(np.asarray(block))
    assert_all_finite(y, input_name="y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # many classes in a small block do not mean regression
        if y.size:
            check_classification_targets(y)
    return y
