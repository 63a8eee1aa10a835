"""The sets of the published tables: their rows, categories and sizes of moves; prepared as published.

Categories are one-hot (one column for two values), over training and test part together; numbers are scaled to [0, 1]
by the training part. A move changes every number by at most ε and no category; for fairness the sensitive category
takes any value besides.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

SMALL = (0.001, 0.002, 0.005, 0.01)
ALL = (*SMALL, 0.02, 0.03, 0.04, 0.05)


@dataclass(frozen=True)
class Entry:
    """A set: file, published name, sizes of moves, categories, and the sensitive one if it is about fairness."""

    file: str
    name: str
    epsilons: tuple[float, ...]
    categories: tuple[int, ...] = ()
    sensitive: int | None = None


SETS = {
    entry.file: entry
    for entry in (
        Entry("australian", "Australian", ALL, (0, 3, 4, 5, 7, 8, 10, 11)),
        Entry("breast_cancer", "BreastCancer", ALL),
        Entry("diabetes", "Diabetes", ALL[:-1]),
        Entry("fourclass", "Fourclass", ALL),
        Entry("letter", "Letter", SMALL),
        Entry("pendigits", "Pendigits", ALL[:-1]),
        Entry("satimage", "SatImage", SMALL),
        Entry("german", "German", (0.0, *ALL), (0, 2, 3, 5, 6, 8, 10, 12, 13, 15, 17, 18, 19), 19),
        Entry("compas", "Compas", (0.0, *SMALL, 0.02), (1, 2, 7, 8), 2),
        Entry("crime", "Crime", (0.0, *SMALL), (0,), 0),
        Entry("adult_half", "Adult", (0.0, *SMALL), (1, 3, 5, 6, 7, 8, 9, 13), 9),
    )
}


@dataclass(frozen=True)
class Prepared:
    """Rows as the vote sees them.

    Attributes
    ----------
    X_train, y_train, X_test, y_test : ndarrays
        Labels are codes 0, 1, …
    frozen : bool ndarray
        The columns of categories.
    values : list of ndarrays
        What the columns ``sensitive`` may hold.
    sensitive : int ndarray
    """

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    frozen: np.ndarray
    values: list[np.ndarray]
    sensitive: np.ndarray


def prepare(entry: Entry, folder: Path) -> Prepared:
    """Read a set and prepare it."""
    X_train, y_train, X_test, y_test = _read(entry.file, folder)
    blocks, frozen, values, sensitive, at = [], [], [], np.empty(0, np.int64), 0
    both = np.vstack([X_train, X_test])
    for column in range(both.shape[1]):
        cells = both[:, column]
        if column in entry.categories:
            known, codes = np.unique(cells.astype(str), return_inverse=True)
            hot = np.eye(len(known))
            hot = hot[:, 1:] if len(known) == 2 else hot
            blocks.append(hot[codes])
            if column == entry.sensitive:
                values, sensitive = list(hot), np.arange(at, at + hot.shape[1])
        else:
            numbers = cells.astype(float)
            low, high = numbers[: len(X_train)].min(), numbers[: len(X_train)].max()
            blocks.append(((numbers - low) / (high - low if high > low else 1.0))[:, None])
        frozen += [column in entry.categories] * blocks[-1].shape[1]
        at += blocks[-1].shape[1]
    rows = np.hstack(blocks)
    classes, codes = np.unique(np.concatenate([y_train, y_test]), return_inverse=True)
    n = len(X_train)
    return Prepared(rows[:n], codes[:n], rows[n:], codes[n:], np.array(frozen), values, sensitive)


def _read(name: str, folder: Path):
    if (path := folder / f"{name}.npz").exists():
        with np.load(path, allow_pickle=False) as file:
            return file["X_train"], file["y_train"], file["X_test"], file["y_test"]
    if (path := folder / f"{name}.csv.gz").exists():  # one part only: the first two thirds train
        table = np.loadtxt(path, delimiter=",", dtype=str)
        n = 2 * len(table) // 3
        train, test = table[:n], table[n:]
    else:
        train, test = (
            np.loadtxt(folder / f"{name}_{part}.csv.gz", delimiter=",", dtype=str) for part in ("train", "test")
        )
    return train[:, 1:], train[:, 0], test[:, 1:], test[:, 0]
