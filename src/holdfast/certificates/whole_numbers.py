"""Columns that an encoder reads, and that may change: words, and whole numbers, which have a price."""

from dataclasses import dataclass

import numpy as np

from holdfast.certificates.categories import Category


@dataclass(frozen=True, eq=False)
class EncodedCategory(Category):
    """A column that an encoder reads: its numeric coordinate, and the indicators of its values.

    Attributes
    ----------
    values : tuple
        What it may become.
    """

    values: tuple = ()

    @property
    def one_hot(self) -> bool:
        """False: the indicators are made by the encoding, so they need no check."""
        return False


@dataclass(frozen=True, eq=False)
class WholeNumbers(EncodedCategory):
    """Numbers that an encoder reads, and that stay whole: a change costs its size (Lemma C3).

    Attributes
    ----------
    known : frozenset of float
        All whole numbers that the encoder tells apart. Others have one image, so the nearest stands for them: it is the
        last pattern, with NaN for the number, where the encoder takes such numbers.
    low, high : float
        Limits of the number.
    up, down : bool
        Whether it may grow, and shrink.
    gaps : tuple of int
        The coordinates that are 1 where there is no number, which none replaces.
    """

    known: frozenset = frozenset()
    low: float = -np.inf
    high: float = np.inf
    up: bool = True
    down: bool = True
    gaps: tuple[int, ...] = ()

    @property
    def whole(self) -> bool:
        """True."""
        return True

    def becomes(self, rows: np.ndarray, choice: np.ndarray) -> np.ndarray:
        """The values of the choices; NaN for a gap, and where no other whole number is within the limits."""
        out = self.patterns[choice]
        for i in np.flatnonzero(np.isnan(out[:, 0])):
            out[i, 0] = self._nearest_other(rows[i, self.columns[0]])
        out[rows[:, list(self.gaps)].any(axis=1), 0] = np.nan
        return out

    def _nearest_other(self, x: float) -> float:
        """The whole number within the limits that is nearest to x, and that the encoder does not tell from others."""
        found = []
        for start, step, allowed in ((np.ceil(x), 1.0, self.up), (np.floor(x), -1.0, self.down)):
            value, step = start, step * max(1.0, np.spacing(abs(start)))
            while value in self.known or value == x:
                value += step
            if allowed and min(self.low, x) <= value <= max(self.high, x):
                found.append(value)
        return min(found, key=lambda value: abs(value - x), default=np.nan)
