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
    return Raw(found.X, found.y, {key: array for key, array in given.items() if array is not None})


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
