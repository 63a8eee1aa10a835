"""Classes with too few rows to be split and tuned on."""

from collections.abc import Iterator

import numpy as np

from holdfast.datasets.checks.finding import Finding
from holdfast.datasets.checks.table_view import TableView

MIN_ROWS_PER_CLASS = 6  # a test part of 30 % leaves four for training: enough for folds that all hold the class
OTHER = "(other)"  # what small classes are merged into


def small_classes(y: np.ndarray) -> tuple[list, list[int]]:
    """The classes with too few rows, and their counts."""
    classes, counts = np.unique(y, return_counts=True)
    small = counts < MIN_ROWS_PER_CLASS
    return classes[small].tolist(), counts[small].tolist()


def check_small_classes(table: TableView) -> Iterator[Finding]:
    """Every class needs a few rows in training, in tuning and in the test."""
    names, counts = small_classes(table.y)
    if names:
        count, *_ = counts
        listed = f"The class {names[0]!s} has {count} row{'s' if count > 1 else ''}"
        if len(names) > 1:
            listed = f"{len(names)} classes have too few rows, such as {names[0]!s} with {count}"
        yield Finding(
            None, "small class", f"{listed}; every class needs at least {MIN_ROWS_PER_CLASS}: leave such rows out "
            "(--drop-small), or merge the classes (--merge-small)", fatal=True,
        )  # fmt: skip
