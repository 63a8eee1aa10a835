"""Sums over rows, in an order that depends on the rows alone: not on who adds them, nor on how many do."""

from collections.abc import Callable, Sequence

import numpy as np

LEAF = 1024  # rows summed in one piece


def leaves(n: int) -> list[slice]:
    """Cut ``range(n)`` every LEAF rows; what is before a cut does not depend on what comes after."""
    return [slice(start, min(start + LEAF, n)) for start in range(0, n, LEAF)]


def add(u: tuple, v: tuple) -> tuple:
    """The sum of two tuples, entry by entry; None stands for nothing."""
    return tuple(b if a is None else a if b is None else a + b for a, b in zip(u, v, strict=True))


def tree_sum(parts: Sequence, add: Callable = add):
    """Neighbours are added in pairs, the sums again in pairs, and so on; an odd one waits.

    Any 2^s neighbours, counted from the start, are summed by themselves before they meet others. So whoever
    holds just these can sum them, and the whole has the same bits as if one had summed it all.

    Examples
    --------
    >>> tree_sum(["a", "b", "c", "d", "e"], lambda u, v: f"({u}+{v})")
    '(((a+b)+(c+d))+e)'
    """
    parts = list(parts)
    while len(parts) > 1:
        pairs = [add(u, v) for u, v in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[2 * len(pairs) :]
    return parts[0]


def settled(value: float, gradient: np.ndarray) -> tuple[float, np.ndarray]:
    """Value and gradient without the digits that depend on the order of the sums behind them.

    The value keeps 30 binary digits, the gradient 24 of its largest entry. Sums of 10^7 numbers are off by no more
    than the last few of 53, so that two orders of summation hardly ever settle on different numbers.

    Examples
    --------
    >>> value, gradient = settled(1.0 + 1e-15, np.array([3.0, 1e-15]))
    >>> value, gradient.tolist()
    (1.0, [3.0, 0.0])
    """
    return float(rounded(np.asarray(value), 30)), rounded(gradient)


def rounded(x: np.ndarray, digits: int = 24) -> np.ndarray:
    """x in multiples of the last of so many binary digits of its largest entry."""
    largest = max(x.max(), -x.min())
    if not largest < 1e290:  # what is added below would overflow
        return x
    unit = np.ldexp(1.0, max(int(np.frexp(largest)[1]) - digits, -1000))
    shift = np.ldexp(1.5 * unit, 52)  # numbers of this size are multiples of the unit: adding it rounds to one
    return (x + shift) - shift
