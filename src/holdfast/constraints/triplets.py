"""The constraints of metric learning: triplets (point, target, impostor)."""

from functools import cached_property

import numpy as np

from holdfast.constraints.indexing import group, mark, pairs_of_anchors, ranges, unique_unordered
from holdfast.constraints.pairs import Pairs


class Triplets:
    """Triplets ``R = {(i, j, l)}``: point i should be nearer to target j than to impostor l.

    Triplets are sorted by their anchor i; those of one anchor keep the order in which they were given. Their index
    pairs are de-duplicated, and each triplet refers to its pairs by place, so that a distance which many triplets share
    is computed once. Distances need the pairs (i, j) and (i, l), which are sorted by anchor too, so that the data of
    one anchor are contiguous. The slope h needs the unordered pair {j, l}; these pairs are made only on first use.

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
        i, j, l = _check_rows(rows, n_samples).T
        self._set(i, j, l, n_samples)

    @classmethod
    def from_columns(cls, i: np.ndarray, j: np.ndarray, l: np.ndarray, n_samples: int) -> "Triplets":
        """Triplets from three int32 arrays, without the checks of the constructor."""
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
        """The triplets at some positions of ``rows`` (indices, slice or mask), over the same points."""
        return self.from_columns(self.i[rows], self.j[rows], self.l[rows], self.n_samples)

    @cached_property
    def anchors(self) -> np.ndarray:
        """The distinct points i, by growing index."""
        return np.flatnonzero(self._mask_of(self.i))

    def of_anchors(self, anchors: np.ndarray) -> tuple[np.ndarray, "Triplets"]:
        """The points that the triplets of some anchors refer to, and these triplets renumbered over them.

        Examples
        --------
        >>> points, few = Triplets([[0, 1, 2], [7, 5, 2], [7, 5, 3]], n_samples=9).of_anchors([7])
        >>> points.tolist(), few.rows.tolist()
        ([2, 3, 5, 7], [[3, 2, 0], [3, 2, 1]])
        """
        wanted = np.zeros(self.n_samples, bool)
        wanted[anchors] = True
        part = self.take(np.flatnonzero(wanted[self.i]))
        place = np.cumsum(part.named, dtype=np.int32) - np.int32(1)
        points = np.flatnonzero(part.named)
        return points, self.from_columns(place[part.i], place[part.j], place[part.l], points.size)

    def renumbered(self, order: np.ndarray) -> "Triplets":
        """The same triplets after the points have been reordered: point ``order[r]`` becomes r.

        Examples
        --------
        >>> Triplets([[0, 1, 2], [1, 2, 0]], n_samples=3).renumbered([2, 1, 0]).rows.tolist()
        [[1, 0, 2], [2, 1, 0]]
        """
        place = np.empty(self.n_samples, np.int32)
        place[order] = np.arange(self.n_samples, dtype=np.int32)
        return self.from_columns(place[self.i], place[self.j], place[self.l], self.n_samples)

    @property
    def named(self) -> np.ndarray:
        """Mask of the points that occur in some triplet."""
        return self._mask_of(self.i, self.j, self.l)

    def _mask_of(self, *columns: np.ndarray) -> np.ndarray:
        mask = np.zeros(self.n_samples, bool)
        for column in columns:
            mark(mask, column)
        return mask

    @cached_property
    def indptr(self) -> np.ndarray:
        """Offsets: the triplets of anchor i are ``indptr[i]`` to ``indptr[i + 1]``."""
        return ranges(self.i, self.n_samples)

    @cached_property
    def _distances(self) -> tuple[Pairs, np.ndarray, np.ndarray, np.ndarray]:
        first, second, ij, il, targets = pairs_of_anchors(self.i, self.j, self.l, self.n_samples)
        return Pairs(first, second, self.n_samples), ij, il, targets

    @property
    def targets(self) -> np.ndarray:
        """``S``, the distinct pairs (i, j): for each, the position of its first triplet."""
        return self._distances[3]

    @property
    def pairs(self) -> Pairs:
        """The distinct pairs among all (i, j) and (i, l)."""
        return self._distances[0]

    @property
    def ij(self) -> np.ndarray:
        """Place of (i, j) among ``pairs``, per triplet."""
        return self._distances[1]

    @property
    def il(self) -> np.ndarray:
        """Place of (i, l) among ``pairs``, per triplet."""
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
        """Place of {j, l} among ``slope_pairs``, per triplet."""
        return self._slopes[1]


def _check_rows(rows, n_samples: int) -> np.ndarray:
    """``rows`` as int32; ``ValueError`` if they are not triplets of distinct points below ``n_samples``."""
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
