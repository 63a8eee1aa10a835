"""The data sets of the paper: one line each, and how they are read."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from holdfast.datasets import load_dataset


@dataclass(frozen=True)
class Facts:
    """Facts about a data set that the protocol needs.

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
    consistent : bool
        Rows whose features occur with two labels are left out. The paper does not say so, but its numbers on
        haberman are multiples of 1/(20 · 89): 89 test rows, as of 294, and 12 of the 306 rows contradict another.
    """

    rounds: int = 20
    score: str = "accuracy"
    split: str = "random"
    reduced: bool = False
    n_basis: int = 200
    consistent: bool = False


SETS: dict[str, Facts] = {
    "australian": Facts(n_basis=400),
    "breast_cancer": Facts(n_basis=400),
    "ecoli": Facts(score="g_mean"),
    "fourclass": Facts(n_basis=400),
    "haberman": Facts(consistent=True),
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
    """Rows as they are stored, and the arrays that say how to split them, where there are any."""

    X: np.ndarray
    y: np.ndarray
    given: dict[str, np.ndarray]


@lru_cache(maxsize=4)
def raw(name: str, data_dir: str | None) -> Raw:
    """The rows of a data set."""
    found = load_dataset(_STORED.get(name, name), data_dir)
    given = {"train_idx": found.train_idx, "test_idx": found.test_idx}
    if SETS[name].split == "speakers":
        given["speaker_group"] = _beside(f"{name}.npz", "speaker_group", data_dir)
    X, y = without_contradictions(found.X, found.y) if SETS[name].consistent else (found.X, found.y)
    return Raw(X, y, {key: array for key, array in given.items() if array is not None})


def without_contradictions(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows whose features occur with one label only.

    Examples
    --------
    >>> X, y = without_contradictions(np.array([[1.0], [2.0], [1.0], [2.0]]), np.array([0, 1, 0, 0]))
    >>> X.ravel().tolist(), y.tolist()
    ([1.0, 1.0], [0, 0])
    """
    _, group = np.unique(X, axis=0, return_inverse=True)
    codes = np.unique(y, return_inverse=True)[1]
    seen = np.zeros((group.max() + 1, codes.max() + 1), dtype=bool)
    seen[group.ravel(), codes] = True
    keep = seen.sum(axis=1)[group.ravel()] == 1
    return X[keep], y[keep]


def local(file: str, data_dir: str | None) -> Path | None:
    """A file of the folder of data, if both are there."""
    folder = data_dir or os.environ.get("HOLDFAST_DATA")
    path = Path(folder or "", file)
    return path if folder and path.is_file() else None


def _beside(file: str, key: str, data_dir: str | None) -> np.ndarray:
    """An array that only the local file has."""
    path = local(file, data_dir)
    if path is None:
        raise FileNotFoundError(
            f"The split needs the array {key!r} of {file}: name the folder that has it by --data-dir or HOLDFAST_DATA."
        )
    with np.load(path, allow_pickle=False) as stored:
        return stored[key]
