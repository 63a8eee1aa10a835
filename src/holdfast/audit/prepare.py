"""From a data set to training, test and tuning rows of numbers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sklearn.model_selection import train_test_split

from holdfast.datasets.checks import Finding, Repairs, check_dataset, describe, refuse_fatal, repair
from holdfast.datasets.checks.small_classes import MIN_ROWS_PER_CLASS
from holdfast.datasets.dataset import Dataset
from holdfast.datasets.encoder import TableEncoder
from holdfast.parameters import check_number

MAX_TUNING_ROWS = 2_000
MAX_TUNING_CELLS = 60_000  # rows × features; tuning takes 300 rows even if they have more
_MIN_TUNING_ROWS = 300


def inspect(
    dataset: Dataset, categorical: Sequence[str] = (), dates: Sequence[str] = (), repairs: Repairs | None = None
) -> tuple[Dataset, list[Finding]]:
    """Repair a data set and look at it; what needs a decision is refused, all in one message.

    Returns
    -------
    dataset : Dataset
        Its notes also hold the findings.
    findings : list of Finding
        Those that are no reason to stop.
    """
    dataset = repair(dataset, Repairs() if repairs is None else repairs)
    findings = check_dataset(dataset, categorical, dates)
    refuse_fatal(findings)
    return replace(dataset, notes=[*dataset.notes, *describe(findings)]), findings


def check_classes(y: np.ndarray) -> None:
    """Refuse a single class, and one with too few rows."""
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"All rows are of the class {classes[0]!s}: at least two classes are needed.")
    if counts.min() < MIN_ROWS_PER_CLASS:
        rare, count = classes[counts.argmin()], counts.min()
        raise ValueError(
            f"The class {rare!s} has {count} row{'s' if count > 1 else ''}; every class needs at least "
            f"{MIN_ROWS_PER_CLASS}: bring more, merge it with another or leave it out."
        )


def split(y: np.ndarray, test_size: float, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of training and test rows, stratified; a class that is too small is refused by name."""
    check_number("audit", "test_size", test_size, above=0, below=1)
    check_classes(y)
    n_classes = len(np.unique(y))
    n_test = int(np.ceil(test_size * len(y)))
    if min(n_test, len(y) - n_test) < n_classes:
        raise ValueError(f"test_size={test_size:g} of {len(y)} rows leaves too few rows for {n_classes} classes.")
    train, test = train_test_split(np.arange(len(y)), test_size=test_size, random_state=random_state, stratify=y)
    return np.sort(train), np.sort(test)


def subsample(y: np.ndarray, n_rows: int, random_state: int) -> np.ndarray:
    """Indices of about ``n_rows`` rows, each class in proportion but with ``MIN_ROWS_PER_CLASS`` rows; sorted."""
    if len(y) <= n_rows:
        return np.arange(len(y))
    _, codes = np.unique(y, return_inverse=True)
    rng = np.random.RandomState(random_state)
    order = rng.permutation(len(y))
    share = n_rows / len(y)
    kept = []
    for c in range(codes.max() + 1):
        of_class = order[codes[order] == c]
        kept.append(of_class[: max(min(MIN_ROWS_PER_CLASS, len(of_class)), round(share * len(of_class)))])
    return np.sort(np.concatenate(kept))


def limit_rows(
    rows: np.ndarray, y: np.ndarray, max_rows: int, random_state: int, kind: str, notes: list[str]
) -> np.ndarray:
    """At most about ``max_rows`` of the rows, each class in proportion; if some are left out, ``notes`` says so."""
    if len(rows) <= max_rows:
        return rows
    kept = rows[subsample(y[rows], max_rows, random_state)]
    notes.append(f"{len(kept):,} of {len(rows):,} {kind} were used, drawn at random from each class.")
    return kept


def tuning_rows(y: np.ndarray, n_features: int, random_state: int, notes: list[str]) -> np.ndarray:
    """Indices of the training rows that parameters are tuned on; if they are not all, ``notes`` says so."""
    n_rows = max(_MIN_TUNING_ROWS, min(MAX_TUNING_ROWS, MAX_TUNING_CELLS // n_features))
    rows = subsample(y, n_rows, random_state)
    if len(rows) < len(y):
        notes.append(f"Parameters were tuned on {len(rows):,} of the {len(y):,} training rows.")
    return rows


def fit_encoder(
    dataset: Dataset, train: np.ndarray, categorical: Sequence[str], dates: Sequence[str], notes: list[str]
):
    """Fit an encoder to the training rows; return it and the data frame it takes. ``notes`` gets its remarks."""
    table = dataset.frame
    encoder = TableEncoder(list(categorical), list(dates), reading=dataset.reading).fit(table.iloc[train])
    if encoder.frozen_.all():
        raise ValueError(
            "Every column holds categories: there is no number that could move, so nothing to certify. Is a column "
            "of numbers read as words?"
        )
    notes += encoder.notes(table)
    return encoder, table
