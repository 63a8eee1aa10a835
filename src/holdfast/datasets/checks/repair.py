"""Changes to a table that need no decision, or that the user asked for."""

from dataclasses import dataclass, replace

import numpy as np

from holdfast.datasets.checks.duplicates import repeats
from holdfast.datasets.checks.small_classes import OTHER, small_classes
from holdfast.datasets.dataset import Dataset


@dataclass(frozen=True)
class Repairs:
    """The changes to a table that the user allows.

    Attributes
    ----------
    drop_small, merge_small : bool
        Leave out the rows of classes that are too small, or make them one class.
    drop_duplicates : bool
        Leave out rows that repeat an earlier one.
    """

    drop_small: bool = False
    merge_small: bool = False
    drop_duplicates: bool = False

    def __post_init__(self):
        if self.drop_small and self.merge_small:
            raise ValueError("Small classes are either left out (drop_small) or merged (merge_small), not both.")


def repair(dataset: Dataset, repairs: Repairs) -> Dataset:
    """The data set without empty and constant columns, with the repairs asked for; its notes say what was done."""
    dataset = _without_idle_columns(dataset)
    if repairs.drop_duplicates:
        repeated = repeats(dataset.frame, dataset.y)
        if repeated.any():
            dataset = dataset.select(~repeated, f"{int(repeated.sum())} rows that repeat an earlier one were left out.")
    names, counts = small_classes(dataset.labels)
    if names and repairs.drop_small:
        listed = ", ".join(f"{name} ({count})" for name, count in list(zip(names, counts, strict=True))[:10])
        dataset = _labelled(dataset).select(
            ~np.isin(dataset.labels, names), f"Rows of classes that are too small were left out: {listed}."
        )
    elif names and repairs.merge_small:
        y = np.where(np.isin(dataset.labels, names), OTHER, dataset.labels.astype(str))
        note = f"{len(names)} small classes were merged into {OTHER}: {', '.join(map(str, names[:10]))}."
        dataset = replace(dataset, y=y, target_names=[str(c) for c in np.unique(y)], notes=[*dataset.notes, note])
    return dataset


def _labelled(dataset: Dataset) -> Dataset:
    """With the names of the classes as labels: after some are left out, names no longer match by position."""
    return replace(dataset, y=dataset.labels, target_names=[])


def _without_idle_columns(dataset: Dataset) -> Dataset:
    """Columns with one value, or none, are left out and named."""
    frame = dataset.frame
    empty = [str(name) for name in frame.columns if frame[name].isna().all()]
    constant = [str(name) for name in frame.columns if str(name) not in empty and _is_constant(frame[name])]
    idle = {*empty, *constant}
    if not idle or len(idle) == frame.shape[1]:
        return dataset
    notes = list(dataset.notes)
    if empty:
        notes.append(f"Empty, and left out: {', '.join(empty[:10])}{_more(empty)}.")
    if constant:
        listed = ", ".join(constant[:10]) + _more(constant)
        notes.append(f"Left out because they are the same in every row, so without influence: {listed}.")
    kept = [k for k, name in enumerate(frame.columns) if str(name) not in idle]
    names = [dataset.feature_names[k] for k in kept]
    X = dataset.X[:, kept] if isinstance(dataset.X, np.ndarray) else frame.iloc[:, kept]
    return replace(dataset, X=X, feature_names=names, notes=notes)


def _is_constant(column) -> bool:
    """One value in every row; gaps are a second one."""
    return column.nunique(dropna=False) <= 1


def _more(names: list[str]) -> str:
    return f" and {len(names) - 10} more" if len(names) > 10 else ""
