"""Categories in rows of numbers: which changed, and words as codes and back."""

from collections.abc import Mapping

import numpy as np

from holdfast.numerics.formatting import short_name

NONE_OF_THEM = "none of the known"


def coded(column, known: list) -> np.ndarray:
    """The codes of the values of a column: places in ``known``, to which new values are added."""
    places = {str(value): place for place, value in enumerate(known)}
    codes = np.empty(len(column))
    for k, value in enumerate(column):
        if str(value) not in places:
            places[str(value)] = len(known)
            known.append(value)
        codes[k] = places[str(value)]
    return codes


def cells_as_numbers(cells: np.ndarray, rows: np.ndarray, frozen: np.ndarray, words: Mapping[int, list]) -> np.ndarray:
    """Moved rows as numbers: words by their codes, frozen columns as in the rows; NaN where there is no moved row.

    A gap of a row is a gap of the moved row.
    """
    cells = np.asarray(cells)
    if cells.dtype.kind == "f" and not frozen.any():
        return cells
    moved = np.full(rows.shape, np.nan)
    movable = np.flatnonzero(~frozen)
    moved[:, movable] = cells[:, movable].astype(np.float64)
    known = (np.isfinite(moved) | np.isnan(rows))[:, movable].all(axis=1)
    known &= ~np.array([all(value is None or value != value for value in row) for row in cells.tolist()], dtype=bool)
    for k in np.flatnonzero(frozen).tolist():
        moved[known, k] = coded(cells[known, k], words[k]) if k in words else rows[known, k]
    moved[~known] = np.nan
    return moved


def one_hot_changes(before: np.ndarray, after: np.ndarray, groups: Mapping[str, list[int]], categories: Mapping):
    """The categories that differ between two encoded rows, and the second row with those of the first."""
    changed, rest = [], after.copy()
    for name, members in groups.items():
        if name not in categories or np.array_equal(before[members], after[members]):
            continue
        old, new = (category_of(row[members], categories[name]) for row in (before, after))
        changed.append({"feature": short_name(name), "from": old, "to": new, "category": True})
        rest[members] = before[members]
    return changed, rest


def word_changes(before: np.ndarray, after: np.ndarray, names: list[str], words: Mapping[int, list]):
    """The same of rows in which words are codes."""
    changed, rest = [], after.copy()
    for k, known in words.items():
        if before[k] != after[k] and np.isfinite(after[k]):
            old, new = (short_name(str(known[int(row[k])])) for row in (before, after))
            changed.append({"feature": short_name(names[k]), "from": old, "to": new, "category": True})
            rest[k] = before[k]
    return changed, rest


def category_of(indicators: np.ndarray, known: list) -> str:
    """The category that indicators stand for."""
    return short_name(str(known[int(indicators.argmax())])) if indicators.any() else NONE_OF_THEM
