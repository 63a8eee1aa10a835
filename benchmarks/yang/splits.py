"""Training, validation and test rows of every round."""

from dataclasses import dataclass

import numpy as np

from benchmarks.yang.seeds import generator
from benchmarks.yang.sets import SETS, Raw, local

_AUTHORS = "australian_authors_splits.npz"


@dataclass(frozen=True, eq=False)
class Split:
    """Indices of rows; ``validation`` is empty where the paper cross-validates on the training part.

    ``reduction`` are the rows a PCA is fitted on.
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    reduction: np.ndarray
    source: str


def split(name: str, data: Raw, number: int, data_dir: str | None) -> Split:
    """Split ``number`` of a data set, counted from 0.

    - random: 70 % train, 30 % test, not stratified (as the authors' own splits are not). For australian their
      20 splits are taken if the file ``australian_authors_splits.npz`` lies beside the data.
    - thirds: a third each to train, to validate and to test.
    - speakers: train on speaker group ``number + 1``, test on group 5; PCA on groups 1 to 4 together.
    - given: the stored training and test rows.
    """
    facts, n = SETS[name], len(data.y)
    if not 0 <= number < facts.rounds:
        raise ValueError(f"{name} has rounds 0 to {facts.rounds - 1}; got {number}.")
    none = np.empty(0, dtype=np.int64)
    if facts.split == "given":
        train, test = data.given["train_idx"], data.given["test_idx"]
        return Split(train, none, test, train, "given")
    if facts.split == "speakers":
        group = data.given["speaker_group"]
        train, test = np.flatnonzero(group == number + 1), np.flatnonzero(group == 5)
        return Split(train, none, test, np.flatnonzero(group < 5), "speaker groups")
    order = generator("split", name, number).permutation(n)
    if facts.split == "thirds":
        train, validation, test = (np.sort(part) for part in np.array_split(order, 3))
        return Split(train, validation, test, train, "random")
    theirs = _authors(name, number, data_dir)
    if theirs is not None:
        return Split(theirs[0], none, theirs[1], theirs[0], "authors")
    n_train = int(0.7 * n)
    train, test = np.sort(order[:n_train]), np.sort(order[n_train:])
    return Split(train, none, test, train, "random")


def _authors(name: str, number: int, data_dir: str | None) -> tuple[np.ndarray, np.ndarray] | None:
    """The authors' training and test rows, if they are known."""
    path = local(_AUTHORS, data_dir) if name == "australian" else None
    if path is None:
        return None
    with np.load(path, allow_pickle=False) as file:
        return file["train_idx"][number], file["test_idx"][number]
