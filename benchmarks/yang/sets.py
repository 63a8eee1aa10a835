"""The data sets of the paper: one line each, and how they are read."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Facts:
    """What the protocol must know of a data set.

    Attributes
    ----------
    rounds : int
        Splits in the paper.
    score : {"accuracy", "g_mean"}
    split : {"random", "thirds", "speakers", "given"}
        How rows are divided; see :mod:`benchmarks.yang.splits`.
    reduced : bool
        High-dimensional: PCA instead of standardising, noise added before it.
    n_basis : int
        Bases of SCML.
    """

    rounds: int = 20
    score: str = "accuracy"
    split: str = "random"
    reduced: bool = False
    n_basis: int = 200


SETS: dict[str, Facts] = {
    "australian": Facts(n_basis=400),
    "breast_cancer": Facts(n_basis=400),
    "ecoli": Facts(score="g_mean"),
    "fourclass": Facts(n_basis=400),
    "haberman": Facts(),
    "iris": Facts(),
    "segment": Facts(n_basis=400),
    "sonar": Facts(),
    "voting": Facts(),
    "wdbc": Facts(n_basis=400),
    "wine": Facts(),
    "yeast": Facts(score="g_mean"),
    "credit": Facts(rounds=1, split="thirds", n_basis=1000),
    "isolet": Facts(rounds=4, split="speakers", reduced=True, n_basis=1000),
    "mnist": Facts(rounds=1, split="given", reduced=True, n_basis=1000),
}
UCI = [name for name, facts in SETS.items() if not facts.reduced]
HIGH_DIMENSIONAL = [name for name, facts in SETS.items() if facts.reduced]
_STORED = {"mnist": "mnist_2k2k"}  # the paper's MNIST: the first 2,000 training and the first 2,000 test images


@dataclass(frozen=True, eq=False)
class Raw:
    """Rows as they are stored, missing values filled; and the arrays that say how to split them."""

    X: np.ndarray
    y: np.ndarray
    given: dict[str, np.ndarray]


@lru_cache(maxsize=4)
def raw(name: str, data_dir: str | None) -> Raw:
    """The rows of a data set."""
    folder = Path(data_dir or os.environ["HOLDFAST_DATA"])
    with np.load(folder / f"{_STORED.get(name, name)}.npz", allow_pickle=False) as file:
        given = {key: file[key] for key in ("train_idx", "test_idx", "speaker_group") if key in file}
        X, y = file["X"].astype(np.float64), file["y"]
    return Raw(_filled(X), y, given)


def _filled(X: np.ndarray) -> np.ndarray:
    """A missing value lies halfway between the least and the greatest of its column."""
    missing = np.isnan(X)
    if not missing.any():
        return X
    middle = (np.nanmin(X, axis=0) + np.nanmax(X, axis=0)) / 2.0
    return np.where(missing, middle, X)
