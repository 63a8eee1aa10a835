"""The data sets of the speed benchmark.

Every problem is standardised with the statistics of its training rows (columns that are constant
there become zero) and then each row is scaled to unit L2 norm.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import train_test_split

DATA_VARIABLE = "HOLDFAST_DATA"


@dataclass(frozen=True)
class Problem:
    """A named classification problem, already split into training and test rows."""

    name: str
    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def save(self, path: Path) -> Path:
        """Write the four arrays to `path`, in the form `worker.py` reads."""
        np.savez(
            path,
            X_train=self.X_train,
            y_train=self.y_train,
            X_test=self.X_test,
            y_test=self.y_test,
        )
        return path


def digits() -> Problem:
    """scikit-learn's digits: 1,257 training and 540 test rows, 64 features, 10 classes."""
    X, y = load_digits(return_X_y=True)
    return _prepared("digits", X, y)


def rows7000() -> Problem:
    """7,000 training and 3,000 test rows of 23 features and two classes.

    These are the first 10,000 rows of the credit-default data if the folder named by the
    environment variable HOLDFAST_DATA holds `credit.npz` (arrays X and y), and a synthetic
    stand-in of the same size and class balance otherwise. The name says which.
    """
    folder = os.environ.get(DATA_VARIABLE)
    if folder and (Path(folder) / "credit.npz").is_file():
        with np.load(Path(folder) / "credit.npz") as stored:
            X, y = stored["X"][:10_000], stored["y"][:10_000]
        return _prepared("credit-7000x23", X, y)
    X, y = make_classification(
        n_samples=10_000,
        n_features=23,
        n_informative=12,
        n_redundant=4,
        weights=[0.77, 0.23],
        random_state=0,
    )
    return _prepared("synthetic-7000x23", X, y)


def synthetic(n: int, p: int, classes: int) -> Problem:
    """A generated problem of `n` training rows, `p` features and `classes` classes, for scaling.

    There are 3 test rows for every 7 training rows, at least one per class.
    """
    n_test = max(classes, round(n * 3 / 7))
    # make_classification puts one cluster per class on the corners of a hypercube, and so needs
    # log2(classes) informative features at the least.
    informative = min(p, max(p // 2, int(np.ceil(np.log2(classes))), 2))
    X, y = make_classification(
        n_samples=n + n_test,
        n_features=p,
        n_informative=informative,
        n_redundant=(p - informative) // 2,
        n_classes=classes,
        n_clusters_per_class=1,
        random_state=0,
    )
    return _prepared(f"synthetic-{n}x{p}-{classes}classes", X, y, n_test)


def _prepared(name: str, X: np.ndarray, y: np.ndarray, test_size: float | int = 0.3) -> Problem:
    """Split (stratified, random_state 0), standardise, and scale rows to unit norm."""
    X_train, X_test, y_train, y_test = train_test_split(
        np.asarray(X, dtype=np.float64), y, test_size=test_size, stratify=y, random_state=0
    )
    mean = X_train.mean(axis=0)
    # The range, unlike the standard deviation, is exactly zero for a constant column.
    varies = np.ptp(X_train, axis=0) > 0
    scale = np.where(varies, X_train.std(axis=0), 1.0)

    def scaled(rows: np.ndarray) -> np.ndarray:
        rows = np.where(varies, (rows - mean) / scale, 0.0)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.ascontiguousarray(rows / np.where(norms > 0, norms, 1.0))

    return Problem(name, scaled(X_train), y_train, scaled(X_test), y_test)
