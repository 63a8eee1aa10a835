"""A column that passes a monotone step."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Warp:
    """A coordinate ``t = g(weight · x + offset)`` of one column x.

    Attributes
    ----------
    source : int
        The column.
    weight, offset : float
        The affine steps before g.
    filled : float or None
        The input of g where x has a gap; None if nothing was filled in.
    map : Monotone
        g.
    """

    source: int
    weight: float
    offset: float
    filled: float | None
    map: Any

    def same_as(self, other: "Warp") -> bool:
        """True for the same column of the same step."""
        mine, theirs = self.map, other.map
        same = (self.source, self.weight, self.offset) == (other.source, other.weight, other.offset)
        return same and mine.step == theirs.step and mine.column == theirs.column

    def inner(self, x):
        """The input of g."""
        return self.weight * x + self.offset
