"""The constraints of metric learning: who should be nearer than whom."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast.constraints.indexing import group, mark, pairs_of_anchors, ranges, unique_unordered


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct index pairs.

    Attributes
    ----------
    first, second : int32 arrays of shape (n_pairs,)
        In the order of ``first``, the point a pair stands under.
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
        """The pairs with first point i are ``indptr[i]`` to ``indptr[i + 1]``."""
        return ranges(self.first, self.n_samples)


class Triplets:
    """Triplets ``R = {(i, j, l)}``: point i should be nearer to target j than to impostor l.

    They stand in the order of their anchors i, and those of an anchor in the order in which they were given. The index
    pairs behind them are de-duplicated, and the triplets refer to them: a distance that many triplets share is
    computed once. Distances need the pairs (i, j) and (i, l), which stand under the anchor, so that all that an anchor
    needs lies together; the slope of a triplet needs the pair {j, l}, in any order, and these are found only when asked
    for.

    Parameters
    ----------
    rows : array-like of shape (n_triplets, 3)
        Indices (i, j, l) of points.
    n_samples : int
        Number of points.

    Examples
    --------
    >>> from holdfast.constraints import Triplets
    >>> triplets = Triplets([[1, 0, 2], [0, 1, 2], [0, 1, 3]], n_samples=4)
    >>> triplets.rows.tolist()
    [[0, 1, 2], [0, 1, 3], [1, 0, 2]]
    >>> len(triplets), len(triplets.pairs)      # (0,1), (0,2), (0,3), (1,0), (1,2)
    (3, 5)
    """

    def __init__(self, rows, n_samples: int):
        i, j, l = _checked(rows, n_samples).T
        self._set(i, j, l, n_samples)

    @classmethod
    def _trusted(cls, i: np.ndarray, j: np.ndarray, l: np.ndarray, n_samples: int) -> "Triplets":
        """From int32 arrays known to be good."""
        self = cls.__new__(cls)
        self._set(i, j, l, n_samples)
        return self

    def _set(self, i: np.ndarray, j: np.ndarray, l: np.ndarray, n_samples: int) -> None:
        self.n_samples = int(n_samples)
        if (i[1:] < i[:-1]).any():
            _, order = group(i, self.n_samples)
            i, j, l = i[order], j[order], l[order]
        self.i, self.j, self.l = (np.ascontiguousarray(column) for column in (i, j, l))

    def __len__(self) -> int:
        return self.i.size

    def __repr__(self) -> str:
        return f"<{len(self)} triplets over {self.n_samples} points>"

    @property
    def rows(self) -> np.ndarray:
        """The triplets as an array of shape (n_triplets, 3)."""
        return np.column_stack([self.i, self.j, self.l])

    def take(self, rows) -> "Triplets":
        """The triplets at these positions of ``rows`` (indices, slice or mask), over the same points."""
        return self._trusted(self.i[rows], self.j[rows], self.l[rows], self.n_samples)

    @cached_property
    def anchors(self) -> np.ndarray:
        """The distinct points i."""
        return np.flatnonzero(self._named(self.i))

    def of_anchors(self, anchors: np.ndarray) -> tuple[np.ndarray, "Triplets"]:
        """The triplets of some anchors, renumbered: the points they name, and the triplets over these alone.

        Examples
        --------
        >>> points, few = Triplets([[0, 1, 2], [7, 5, 2], [7, 5, 3]], n_samples=9).of_anchors([7])
        >>> points.tolist(), few.rows.tolist()
        ([2, 3, 5, 7], [[3, 2, 0], [3, 2, 1]])
        """
        wanted = np.zeros(self.n_samples, bool)
        wanted[anchors] = True
        part = self.take(np.flatnonzero(wanted[self.i]))
        named = self._named(part.i, part.j, part.l)
        place = np.cumsum(named, dtype=np.int32) - np.int32(1)
        points = np.flatnonzero(named)
        return points, self._trusted(place[part.i], place[part.j], place[part.l], points.size)

    def renumbered(self, order: np.ndarray) -> "Triplets":
        """The same triplets of points that have been put in another order: point ``order[r]`` is now r.

        Examples
        --------
        >>> Triplets([[0, 1, 2], [1, 2, 0]], n_samples=3).renumbered([2, 1, 0]).rows.tolist()
        [[1, 0, 2], [2, 1, 0]]
        """
        place = np.empty(self.n_samples, np.int32)
        place[order] = np.arange(self.n_samples, dtype=np.int32)
        return self._trusted(place[self.i], place[self.j], place[self.l], self.n_samples)

    @property
    def named(self) -> np.ndarray:
        """Of each point, whether some triplet names it."""
        return self._named(self.i, self.j, self.l)

    def _named(self, *columns: np.ndarray) -> np.ndarray:
        mask = np.zeros(self.n_samples, bool)
        for column in columns:
            mark(mask, column)
        return mask

    @cached_property
    def indptr(self) -> np.ndarray:
        """The triplets of anchor i are ``indptr[i]`` to ``indptr[i + 1]``."""
        return ranges(self.i, self.n_samples)

    @cached_property
    def _distances(self) -> tuple[Pairs, np.ndarray, np.ndarray, np.ndarray]:
        first, second, ij, il, targets = pairs_of_anchors(self.i, self.j, self.l, self.n_samples)
        return Pairs(first, second, self.n_samples), ij, il, targets

    @property
    def targets(self) -> np.ndarray:
        """``S``: the position in R of the first triplet of each distinct pair (i, j)."""
        return self._distances[3]

    @property
    def pairs(self) -> Pairs:
        """The distinct pairs among all (i, j) and (i, l)."""
        return self._distances[0]

    @property
    def ij(self) -> np.ndarray:
        """The place of (i, j) among ``pairs``, per triplet."""
        return self._distances[1]

    @property
    def il(self) -> np.ndarray:
        """The place of (i, l) among ``pairs``, per triplet."""
        return self._distances[2]

    @cached_property
    def _slopes(self) -> tuple[Pairs, np.ndarray]:
        first, second, place = unique_unordered(self.j, self.l, self.n_samples)
        return Pairs(first, second, self.n_samples), place

    @property
    def slope_pairs(self) -> Pairs:
        """The distinct pairs among all {j, l}."""
        return self._slopes[0]

    @property
    def jl(self) -> np.ndarray:
        """The place of {j, l} among ``slope_pairs``, per triplet."""
        return self._slopes[1]


def _checked(rows, n_samples: int) -> np.ndarray:
    """``rows`` as int32, or a ``ValueError`` that says what is wrong."""
    rows = np.asarray(rows)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise ValueError(f"triplets must have shape (n_triplets, 3), one row (i, j, l) each; got {rows.shape}.")
    if rows.shape[0] == 0:
        raise ValueError("There are no triplets: at least one row (i, j, l) is needed.")
    if not np.issubdtype(rows.dtype, np.integer):
        raise ValueError(f"triplets must be integer indices of points; got dtype {rows.dtype}.")
    if rows.min() < 0 or rows.max() >= n_samples:
        raise ValueError(
            f"triplets name point {int(rows.min()) if rows.min() < 0 else int(rows.max())}, "
            f"but the points are 0 to {n_samples - 1}."
        )
    i, j, l = rows.T
    bad = np.flatnonzero((i == j) | (i == l) | (j == l))
    if bad.size:
        raise ValueError(
            f"Triplet {int(bad[0])} is {tuple(rows[bad[0]].tolist())}: the three points of a triplet must differ."
        )
    return rows.astype(np.int32)
