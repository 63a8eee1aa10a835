"""The whole numbers near a row: which of them to enumerate, and the rows that have them."""

from itertools import product

import numpy as np

from holdfast.certificates.moves import Moves

PLACES = 256  # most choices of whole numbers of one row; with more, the relaxed bound is kept
FEW_PLACES = 8  # the same, where the bound of each choice is slow
_DOUBLINGS = 40  # of a size, while few enough whole numbers are within it


def coarse_columns(moves: Moves, x: np.ndarray, size: float, most_places: int = PLACES) -> np.ndarray:
    """A mask of the whole-number features to enumerate within a size: those with the largest steps, as many as fit.

    The others may take any value, which is sound, and costs little where a step is small. If even the feature with the
    largest step has too many values, the mask has all of them.

    Returns
    -------
    bool ndarray of shape (d,)
    """
    integer = np.asarray(moves.integer)
    columns = np.flatnonzero(integer)
    unit = np.ones(len(x)) if moves.unit is None else moves.unit
    low, high = (side[0, columns] for side in moves.limits(x[None]))
    with np.errstate(invalid="ignore", over="ignore"):
        room = np.minimum(high, x[columns] + size * unit[columns]) - np.maximum(low, x[columns] - size * unit[columns])
        counts = np.floor(room) + 2.0
        order = np.argsort(unit[columns], kind="stable")
        few = np.cumprod(counts[order]) <= most_places
    if not few.any():
        return integer
    out = np.zeros(len(x), bool)
    out[columns[order[few]]] = True
    return out


def offsets(
    moves: Moves, x: np.ndarray, radius: float, upper: float, at: float | None, most_places: int = PLACES
) -> tuple[np.ndarray, float]:
    """All rows with other whole numbers, no farther than ``reach``, and that size; only the whole numbers differ.

    Parameters
    ----------
    moves : Moves
    x : ndarray of shape (d,)
    radius, upper : float
        Known bounds: sizes below and above them are of no interest.
    at : float or None
        The only size of interest, if there is one.
    most_places : int

    Returns
    -------
    places : ndarray of shape (n_places, d)
        The row itself is the first.
    reach : float
        ``radius`` if there are too many places beyond.
    """
    columns = np.flatnonzero(np.asarray(moves.integer))
    low, high = (side[0, columns] for side in moves.limits(x[None]))
    unit = np.ones(len(columns)) if moves.unit is None else moves.unit[columns]

    def values(size: float) -> list[np.ndarray] | None:
        """The whole numbers within a size of each value, and the value; None if there are too many."""
        least = np.ceil(np.maximum(low, x[columns] - size * unit * (1 + 1e-9)))
        most = np.floor(np.minimum(high, x[columns] + size * unit * (1 + 1e-9)))
        counts = np.maximum(most - least + 1, 0) + (x[columns] != np.rint(x[columns]))
        if not np.isfinite(counts).all() or np.prod(np.maximum(counts, 1)) > most_places:
            return None
        return [
            np.unique(np.append(np.arange(a, b + 1), v)) for a, b, v in zip(least, most, x[columns], strict=True)
        ]  # fmt: skip

    size = upper if at is None else min(upper, at)
    choices = values(size)
    if choices is None:  # double a smaller size as long as there are few enough
        size = 2.0 * max(radius, 1e-300)
        choices, before = values(size), None
        for _ in range(_DOUBLINGS):
            if choices is None:
                break
            before, size = choices, 2.0 * size
            choices = values(size)
        size, choices = size / 2.0, before
    if choices is None:
        return x[None], radius
    places = np.tile(x, (int(np.prod([len(each) for each in choices])), 1))
    places[:, columns] = list(product(*choices))
    price = moves.lengths(places - x)
    order = np.argsort(price, kind="stable")
    return places[order[price[order] <= size * (1 + 1e-9)]], size
