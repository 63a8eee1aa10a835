"""Rows of the frontier's data sets, split and preprocessed as in the paper.

The rounds of the table are those of :mod:`benchmarks.yang`; larger sets have one fixed split. Development rounds, on
which defaults and ranges were chosen, are other random splits of the same rows, drawn from other seeds.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from benchmarks.yang.protocol import make_round, standardiser
from benchmarks.yang.seeds import generator
from benchmarks.yang.sets import UCI, local
from holdfast.datasets import load_dataset

LARGER = ("credit", "digits", "letter", "pendigits", "satimage", "splice", "usps", "mnist", "fashion_mnist")
_IMAGES = ("usps", "mnist", "fashion_mnist")  # not standardised; PCA to 95 % of the variance, then unit rows
_STORED = {"mnist": "mnist_2k2k"}
_MOST = 4000  # rows of a larger set that a round takes, half of them for training
_MOST_TESTED = 1000  # of these, in the table: each is certified at three sizes


class Part(NamedTuple):
    """Training and test rows of one round."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def table_round(name: str, number: int, data_dir: str | None = None) -> Part:
    """Round ``number`` of the table: the split of :mod:`benchmarks.yang`, preprocessed as in the paper.

    Of a larger set 2,000 rows for training and 1,000 for the test (digits: half of its rows for training).
    """
    if name in LARGER:
        return _halves(name, generator("frontier, table", name, number), data_dir, _MOST_TESTED)
    found = make_round(name, number, "paper", data_dir)
    return Part(found.X_train, found.y_train, found.X_test, found.y_test)


@lru_cache(maxsize=2)
def development_round(name: str, number: int, data_dir: str | None = None) -> Part:
    """A random split that no table uses: 70 % of a small set, 2,000 rows of a larger one, for training."""
    rng = generator("frontier, development", name, number)
    if name in LARGER:
        return _halves(name, rng, data_dir)
    X, y = _rows(name, data_dir)
    order = rng.permutation(len(y))
    return _part(X, y, order, int(0.7 * len(order)))


def _halves(name: str, rng: np.random.Generator, data_dir: str | None, n_test: int = _MOST // 2) -> Part:
    """At most 4,000 random rows, half of them for training; images behind a PCA of the training rows."""
    X, y = _rows(name, data_dir)
    order = rng.permutation(len(y))[:_MOST]
    n_train = min(len(order) // 2, _MOST // 2)
    if name in _IMAGES:
        X = normalize(PCA(0.95, svd_solver="full").fit(X[np.sort(order[:n_train])]).transform(X))
    return _part(X, y, order[: n_train + n_test], n_train)


def _part(X: np.ndarray, y: np.ndarray, order: np.ndarray, n_train: int) -> Part:
    """The first rows of an order for training, the others for the test; both in the order of the table."""
    train, test = np.sort(order[:n_train]), np.sort(order[n_train:])
    return Part(np.ascontiguousarray(X[train]), y[train], np.ascontiguousarray(X[test]), y[test])


def _rows(name: str, data_dir: str | None) -> tuple[np.ndarray, np.ndarray]:
    """All rows, standardised and at unit length; images as they are stored."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    elif name == "splice":  # codes of nucleotides, taken as numbers
        path = local("splice.npz", data_dir)
        if path is None:
            raise FileNotFoundError("splice.npz is not in the catalogue: name its folder by HOLDFAST_DATA.")
        with np.load(path, allow_pickle=False) as stored:
            X, y = stored["X"].astype(np.float64), stored["y"]
    else:
        found = load_dataset(_STORED.get(name, name), data_dir)
        X, y = found.X.astype(np.float64), found.y
    if name in _IMAGES:
        keep = generator("frontier, images", name).permutation(len(y))[:12_000]  # a PCA of 70,000 rows takes long
        return X[np.sort(keep)], y[np.sort(keep)]
    return normalize(standardiser(X)(X)), y


__all__ = ["LARGER", "UCI", "Part", "development_round", "table_round"]
