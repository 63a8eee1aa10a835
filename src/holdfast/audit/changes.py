"""The move to an adversarial example, in words."""

import math

import numpy as np

from holdfast.numerics.formatting import short_name


def largest_changes(row: np.ndarray, witness: np.ndarray, names: list[str], scale: np.ndarray, at_most: int = 3):
    """The largest components of a move, in standard deviations.

    Parameters
    ----------
    row, witness, scale : ndarrays of shape (n_features,)
    names : list of str
    at_most : int
        How many to list; components below 5 % of the largest are never listed.

    Returns
    -------
    listed : list of dict
        ``feature, from, to, sd`` (the component in standard deviations).
    others : int
        How many further features move at all.
    """
    if not np.isfinite(witness).all():
        return [], 0
    sd = (witness - row) / scale
    size = np.abs(sd)
    order = np.argsort(-size, kind="stable")
    moved = int(np.count_nonzero(size > 1e-9 * size.max(initial=0.0)))
    big = [int(f) for f in order[:at_most] if size[f] > 0 and size[f] >= 0.05 * size[order[0]]]
    listed = [
        {"feature": short_name(names[f]), "from": float(row[f]), "to": float(witness[f]), "sd": float(sd[f])}
        for f in big
    ]
    return listed, moved - len(listed)


def sentence(listed: list[dict]) -> str:
    """The move as an instruction: "change alcohol from 13.2 to 12.9"."""
    if not listed:
        return "no change of the answer was found"
    parts = [f"{each['feature']} {from_to(each['from'], each['to'])}" for each in listed]
    return "change " + (parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1])


def from_to(before: float, after: float) -> str:
    """``from 13.2 to 12.9``, with as many decimals as the difference needs.

    Examples
    --------
    >>> from_to(13.2, 12.91), from_to(1050, 985), from_to(13.24, 13.383), from_to(0.0031, 0.0034)
    ('from 13.2 to 12.9', 'from 1050 to 985', 'from 13.24 to 13.38', 'from 0.0031 to 0.0034')
    >>> from_to(1.95, 5.2), from_to(3, 8), from_to(12.5, 12.5 + 1e-10)
    ('from 1.9 to 5.2', 'from 3 to 8', 'from 12.5 by 1e-10')
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
    if decimals and all(text.endswith("." + "0" * decimals) for text in texts):
        texts = [text.partition(".")[0] for text in texts]
    return f"from {texts[0]} to {texts[1]}"
