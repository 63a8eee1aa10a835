"""Votes that depend on distances themselves: weighted by them, in any Minkowski metric, or of all points in reach."""

from dataclasses import dataclass, field, replace

import numpy as np

from holdfast.certificates.moves import Moves
from holdfast.certificates.problems.base import Problem

_SURE = 1e-9  # fraction of a sum of weights: far more than its rounding


@dataclass(frozen=True, eq=False)
class DistanceProblem(Problem):
    """``argmax_c Σ w(‖u − u_i‖_p)`` over the voters i of class c; an input move δ takes u to ``u + Tδ``.

    Voters are the ``n_neighbors`` nearest points, or all within the distance ``within``; ``w`` is 1, or one over the
    distance. Equal sums go to the lowest code.

    Parameters
    ----------
    points : ndarray of shape (n, r)
    labels : int ndarray of shape (n,)
    T : ndarray of shape (r, d)
    n_classes : int
    n_neighbors : int
        0: all points within ``within`` vote.
    within : float
    p : float
        At least 1; infinite: the largest difference.
    weighted : bool
        Whether a vote counts one over its distance. A voter at distance 0 outvotes all others.
    outlier : int
        The answer where no point is within reach.
    moves, scale, absolute, n_steps, n_terms
        As for :class:`~holdfast.certificates.problems.NeighborProblem`.
    """

    points: np.ndarray
    labels: np.ndarray
    T: np.ndarray
    n_classes: int
    n_neighbors: int
    within: float = 0.0
    p: float = 2.0
    weighted: bool = False
    outlier: int = -1
    moves: Moves = field(default_factory=Moves)
    scale: float = 0.0
    absolute: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_steps: int = 1
    n_terms: int = 0

    def __post_init__(self):
        if not self.absolute.size:
            object.__setattr__(self, "absolute", np.abs(self.T))

    def magnitude(self) -> float:
        """``max ‖u_j‖``."""
        return float(np.linalg.norm(self.points, axis=1).max())

    def scaled(self, alpha: float, beta: float) -> "DistanceProblem":
        """The problem with queries ``alpha u`` and moves measured in units of ``beta``."""
        return replace(
            self, points=alpha * self.points, T=alpha * self.T, absolute=alpha * self.absolute,
            scale=alpha * self.scale, within=alpha * self.within,
            moves=self.moves.in_units_of(beta, self.T.shape[1]),
        )  # fmt: skip

    def distances(self, query: np.ndarray) -> np.ndarray:
        """``‖u − u_i‖_p`` to every point."""
        return lengths(self.points - query, self.p)

    def vote(self, queries: np.ndarray) -> np.ndarray:
        """The class that wins at each query."""
        return np.array([self._winner(self.distances(query)) for query in queries], dtype=np.int64)

    def _winner(self, distance: np.ndarray) -> int:
        if self.n_neighbors:
            voters = np.argsort(distance, kind="stable")[: self.n_neighbors]
        else:
            voters = np.flatnonzero(distance <= self.within)
            if not voters.size:
                return self.outlier
        weight = np.ones(voters.size)
        if self.weighted:
            d = distance[voters]
            weight = (d == 0).astype(float) if (d == 0).any() else 1.0 / d
        return int(np.argmax(np.bincount(self.labels[voters], weight, minlength=self.n_classes)))

    def holds(self, least: np.ndarray, most: np.ndarray, y: int) -> bool:
        """True if y surely wins when the distance of point i lies between ``least[i]`` and ``most[i]`` (Lemma D1).

        The sum of y is smallest with its own points as far and all others as near as possible; the sum of c is largest
        with its own points as near and all others as far as possible. With two classes these are the same case, and
        the answer is exact for independent distances.
        """
        if self.n_neighbors:
            reach = np.partition(most, self.n_neighbors - 1)[self.n_neighbors - 1]
            near = np.flatnonzero(least <= reach)
            least, most, labels = least[near], most[near], self.labels[near]
        else:
            labels = self.labels
        of_y = labels == y
        smallest = self._sum(np.where(of_y, most, least), of_y)
        others = [self._sum(np.where(labels == c, least, most), labels == c, last=False)
                  for c in np.unique(labels[~of_y])]  # fmt: skip
        strongest = max(others, default=0.0)
        if strongest == 0.0 and (y == self.outlier or self.n_neighbors):
            return True
        return smallest * (1.0 - _SURE) > strongest * (1.0 + _SURE)

    def _sum(self, distance: np.ndarray, mask: np.ndarray, last: bool = True) -> float:
        """The sum of weights of the points of a mask; among equally far points they come last, or first."""
        if self.n_neighbors:
            order = np.lexsort([mask if last else ~mask, distance])[: self.n_neighbors]
            voters = order[mask[order]]
        else:
            limit = self.within * (1.0 - 1e-12 if last else 1.0 + 1e-12)
            voters = np.flatnonzero(mask & (distance <= limit))
        if not self.weighted:
            return float(voters.size)
        with np.errstate(divide="ignore"):
            return float(np.sum(1.0 / distance[voters]))


def lengths(rows: np.ndarray, p: float) -> np.ndarray:
    """``‖row‖_p`` along the last axis."""
    rows = np.abs(rows)
    if p == 1:
        return rows.sum(axis=-1)
    if np.isinf(p):
        return rows.max(axis=-1, initial=0.0)
    if p == 2:
        return np.sqrt(np.sum(rows * rows, axis=-1))
    return np.sum(rows**p, axis=-1) ** (1.0 / p)
