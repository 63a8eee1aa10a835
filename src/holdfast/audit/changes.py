"""The move to an adversarial example, in words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.numerics.formatting import number, short_name


@dataclass(frozen=True)
class ColumnRange:
    """The values that a column takes in the data.

    Attributes
    ----------
    low, high : float
    whole : bool
        True if all are whole numbers.
    """

    low: float
    high: float
    whole: bool

    @classmethod
    def of(cls, values: np.ndarray) -> "ColumnRange":
        """The range of some values, gaps left out."""
        values = values[np.isfinite(values)] if np.isfinite(values).any() else np.zeros(1)
        return cls(float(values.min()), float(values.max()), bool((values == np.round(values)).all()))


def largest_changes(
    row: np.ndarray,
    witness: np.ndarray,
    names: list[str],
    scale: np.ndarray,
    at_most: int = 3,
    ranges: Sequence[ColumnRange] | None = None,
):
    """The largest components of a move, in standard deviations.

    Parameters
    ----------
    row, witness, scale : ndarrays of shape (n_features,)
        What is missing in the row is missing in the witness, and does not move.
    names : list of str
    at_most : int
        How many to list; components below 5 % of the largest are never listed.
    ranges : sequence of ColumnRange, optional
        What the columns hold, so that values that no row has are said to be so.

    Returns
    -------
    listed : list of dict
        ``feature, from, to, sd`` (the component in standard deviations), and with ranges ``whole`` and ``outside``, the
        range of the data if the move leaves it, else None.
    others : int
        How many further features move at all.
    """
    gaps = np.isnan(row)
    if not np.isfinite(witness[~gaps]).all():
        return [], 0
    sd = np.where(gaps, 0.0, witness - row) / scale
    size = np.abs(sd)
    order = np.argsort(-size, kind="stable")
    moved = int(np.count_nonzero(size > 1e-9 * size.max(initial=0.0)))
    big = [int(f) for f in order[:at_most] if size[f] > 0 and size[f] >= 0.05 * size[order[0]]]
    listed = []
    for f in big:
        change = {"feature": short_name(names[f]), "from": float(row[f]), "to": float(witness[f]), "sd": float(sd[f])}
        if ranges is not None:
            column_range = ranges[f]
            inside = column_range.low <= witness[f] <= column_range.high
            outside = None if inside else [column_range.low, column_range.high]
            change |= {"whole": column_range.whole, "outside": outside}
        listed.append(change)
    return listed, moved - len(listed)


def cell_changes(before, after, names: list[str], scale: np.ndarray) -> list[dict]:
    """The changes between two rows as the user has them: words first, then the largest of the numbers; gaps stay.

    Examples
    --------
    >>> listed = cell_changes([20.0, "red", None], [21.5, "blue", None], ["age", "colour", "job"], np.ones(3))
    >>> sentence(listed)
    'change colour from red to blue and age from 20.0 to 21.5'
    """
    words, numbers = [], np.zeros((2, len(names)))
    for k, pair in enumerate(zip(before, after, strict=True)):
        if all(isinstance(value, int | float | np.number | np.bool_) for value in pair):
            numbers[:, k] = pair
        elif pair[0] is not None and str(pair[0]) != str(pair[1]):
            old, new = (short_name(str(value)) for value in pair)
            words.append({"feature": short_name(names[k]), "from": old, "to": new, "category": True})
    return words + largest_changes(numbers[0], numbers[1], names, scale)[0]


def sentence(listed: list[dict]) -> str:
    """The move as an instruction: "change alcohol from 13.2 to 12.9"."""
    if not listed:
        return "no change of the answer was found"
    parts = [f"{each['feature']} {_one_change(each)}" for each in listed]
    return "change " + (parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1])


def _one_change(change: dict) -> str:
    """``from 13.2 to 12.9``; of whole numbers ``from 2 towards 1 (by 0.06)``; what leaves the data is said to.

    Examples
    --------
    >>> _one_change({"from": 2.0, "to": 1.94, "whole": True, "outside": None})
    'from 2 towards 1 (by 0.06)'
    >>> _one_change({"from": 0.0, "to": 39.2, "whole": True, "outside": [0.0, 1.0]})
    'from 0 to about 39 (beyond the data: 0 to 1)'
    """
    before, after = change["from"], change["to"]
    if change.get("category"):
        return f"from {before} to {after}"
    step = after - before
    if change.get("whole") and before == round(before) and step:
        if abs(step) < 1:
            text = f"from {before:.0f} towards {before + math.copysign(1, step):.0f} (by {abs(step):.2g})"
        else:
            text = f"from {before:.6g} to about {after:.0f}" if abs(after) < 1e9 else f"from {before:.6g} by {step:.2g}"
    else:
        text = from_to(before, after)
    if change.get("outside"):
        low, high = change["outside"]
        text += f" (beyond the data: {number(low, 4)} to {number(high, 4)})"
    return text


def from_to(before: float, after: float) -> str:
    """``from 13.2 to 12.9``, with as many decimals as the difference needs.

    Examples
    --------
    >>> from_to(13.2, 12.91), from_to(1050, 985), from_to(13.24, 13.383), from_to(0.0031, 0.0034)
    ('from 13.2 to 12.9', 'from 1050 to 985', 'from 13.24 to 13.38', 'from 0.0031 to 0.0034')
    >>> from_to(1.95, 5.2), from_to(3, 8), from_to(12.5, 12.5 + 1e-10)
    ('from 1.9 to 5.2', 'from 3 to 8', 'from 12.5 by 1e-10')
    >>> from_to(-0.01, 4.5)
    'from 0.0 to 4.5'
    """
    step = after - before
    if step == 0:
        return f"from {before:.6g} to {after:.6g}"
    power = math.floor(math.log10(abs(step)))
    decimals = -power + int(abs(step) < 2 * 10.0**power)  # 0.14 needs one digit more than 0.4
    if decimals > 8 or max(abs(before), abs(after)) >= 1e9:
        return f"from {before:.6g} by {step:.2g}"
    decimals = max(decimals, int(abs(step) < 20))
    texts = [f"{value:.{decimals}f}" for value in (before, after)]
    texts = [text if float(text) else text.removeprefix("-") for text in texts]
    if decimals and all(text.endswith("." + "0" * decimals) for text in texts):
        texts = [text.partition(".")[0] for text in texts]
    return f"from {texts[0]} to {texts[1]}"
