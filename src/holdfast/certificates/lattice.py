"""The whole numbers near a row."""

from itertools import product

import numpy as np

from holdfast.certificates.moves import Moves

FEW_PLACES = 8  # the same, where every one of them is dear
PLACES = 256  # choices of whole numbers of one row; with more the relaxed bound stands
_DOUBLINGS = 40  # of a size, while few whole numbers are within it


def coarse_columns(moves: Moves, x: np.ndarray, size: float, most_places: int = PLACES) -> np.ndarray:
    """The whole numbers whose choices within a size are few: those with the largest steps, as many as fit.

    The others count as any number, which is sound, and costs little where a step is small. All of them if even those
    with the largest steps have too many.

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
    """Rows with other whole numbers, of a price up to ``reach``, and that size; only the whole numbers differ.

    Parameters
    ----------
    moves : Moves
    x : ndarray of shape (d,)
    radius, upper : float
        Bounds that are known: sizes of no interest below and above.
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
    found = values(size)
    if found is None:
        size = 2.0 * max(radius, 1e-300)
        found, before = values(size), None
        for _ in range(_DOUBLINGS):
            if found is None:
                break
            before, size = found, 2.0 * size
            found = values(size)
        size, found = size / 2.0, before
    if found is None:
        return x[None], radius
    places = np.tile(x, (int(np.prod([len(each) for each in found])), 1))
    places[:, columns] = list(product(*found))
    price = moves.lengths(places - x)
    order = np.argsort(price, kind="stable")
    return places[order[price[order] <= size * (1 + 1e-9)]], size
