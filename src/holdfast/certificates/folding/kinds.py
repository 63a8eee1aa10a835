"""The kinds of the user's columns."""

from dataclasses import dataclass, field

import numpy as np

from holdfast.certificates.folding.values import key
from holdfast.certificates.folding.warp import Warp


@dataclass
class Kinds:
    """The kind of each of the user's columns (numbers, categories), found while the steps are read.

    Attributes
    ----------
    categories : dict of int to list
        Column → the values that its encoders and imputers name, NaN and None.
    gaps : set of int
        Columns of numbers that an imputer looks for gaps in.
    warps : list of Warp
        Columns that a monotone step bends.
    selected : bool
        Whether some step takes columns of its choice, so that others may be of any kind.
    unseen, filled, refused : dict of int to set of int
        Column → codes of the values that an encoder was not fitted on, that an imputer replaces before one, and that
        one does not take; they hold for the last reading of the steps.
    """

    categories: dict[int, list] = field(default_factory=dict)
    gaps: set[int] = field(default_factory=set)
    warps: list[Warp] = field(default_factory=list)
    selected: bool = False
    unseen: dict[int, set[int]] = field(default_factory=dict)
    filled: dict[int, set[int]] = field(default_factory=dict)
    refused: dict[int, set[int]] = field(default_factory=dict)

    def add_values(self, column: int, values) -> bool:
        """Record that a column holds categories, these values among them; False if nothing is new."""
        fresh = column not in self.categories
        known = self.categories.setdefault(column, [])
        keys = {key(value) for value in known}
        for value in [*values, *([np.nan, None] if fresh else [])]:
            if key(value) not in keys:
                known.append(value)
                keys.add(key(value))
                fresh = True
        return fresh
