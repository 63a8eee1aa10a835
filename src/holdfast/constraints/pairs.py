"""Distinct pairs of points, sorted by their first point."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast.constraints.indexing import ranges


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct index pairs, sorted by their first point.

    Attributes
    ----------
    first, second : int32 arrays of shape (n_pairs,)
        ``first`` never decreases.
    n_samples : int
        Number of points the indices refer to.
    """

    first: np.ndarray
    second: np.ndarray
    n_samples: int

    def __len__(self) -> int:
        return self.first.size

    @cached_property
    def indptr(self) -> np.ndarray:
        """Offsets: the pairs with first point i are ``indptr[i]`` to ``indptr[i + 1]``."""
        return ranges(self.first, self.n_samples)
