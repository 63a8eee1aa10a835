"""A warning if neighbours vote clearly worse under the learned metric than under the Euclidean distance."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

# At most 300 queries, classified by at most 2000 rows: a few percent of the time of a fit.
_MAX_QUERIES, _MAX_ROWS = 300, 2000
_FIRST_QUERIES = 75  # tried first: if the learned metric loses at most one of them, the others are not tried
_N_NEIGHBORS = 3
_STANDARD_ERRORS = 3.0  # of a paired difference: chance alone exceeds them once in 700 fits
_MIN_LOSS = 0.02  # share of the queries that must be lost besides, for a difference that matters


class PoorMetricWarning(ConvergenceWarning):
    """The learned metric serves a vote of neighbours worse than the Euclidean distance, on its own training rows.

    Parameters
    ----------
    message : str
    """

    def __init__(self, message: str = ""):
        super().__init__(message)


@dataclass(frozen=True, eq=False)
class VoteCheck:
    """Compares leave-one-out 3-NN under a learned metric with the Euclidean distance, on a sample of training rows."""

    X: np.ndarray
    y: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray) -> "VoteCheck":
        """A check on at most 2000 evenly spaced rows."""
        sampled = _evenly_spaced(len(X), _MAX_ROWS)
        if len(sampled) < len(X):
            X, y = X[sampled], y[sampled]
        return cls(X, np.unique(y, return_inverse=True)[1])

    def warn(self, owner: str, L: np.ndarray, advice: str) -> None:
        """Warn if k-NN under the metric ``LᵀL`` is clearly less accurate, with both accuracies in the message."""
        if len(self.X) <= 2 * _N_NEIGHBORS:
            return
        queries = _evenly_spaced(len(self.X), _MAX_QUERIES)
        mapped, first = self.X @ L.T, queries[:: max(1, len(queries) // _FIRST_QUERIES)]
        wrong = first[~self._right(mapped, first)]
        if wrong.size <= 1 or self._right(self.X, wrong).sum() <= 1:  # most metrics return here
            return
        learned, euclidean = self._right(mapped, queries), self._right(self.X, queries)
        lost, won = int((euclidean & ~learned).sum()), int((learned & ~euclidean).sum())
        if lost - won <= max(_STANDARD_ERRORS * np.sqrt(lost + won), _MIN_LOSS * len(queries)):
            return
        rank, full_rank = np.linalg.matrix_rank(L), min(self.X.shape)
        low_rank = f" The metric has rank {rank} of {full_rank}." if rank < full_rank / 2 else ""
        warnings.warn(
            f"{owner}: {_N_NEIGHBORS} neighbours are right on {learned.mean():.0%} of {len(queries)} training rows "
            f"under the learned metric, on {euclidean.mean():.0%} under the Euclidean distance.{low_rank} {advice}.",
            PoorMetricWarning,
            stacklevel=4,
        )

    def _right(self, Z: np.ndarray, queries: np.ndarray) -> np.ndarray:
        """For each query, an index into the mapped rows Z: do most of its nearest other rows have its class?"""
        D = (-2.0 * Z[queries]) @ Z.T
        D += np.einsum("np,np->n", Z, Z)  # d² less ‖z‖² of the query: the same order
        every = np.arange(len(queries))
        D[every, queries] = np.inf
        votes = np.zeros(len(queries), dtype=np.int64)
        for _ in range(_N_NEIGHBORS):  # passes over D take less time than a partition of its rows
            nearest = D.argmin(axis=1)
            votes += self.y[nearest] == self.y[queries]
            D[every, nearest] = np.inf
        return votes > _N_NEIGHBORS / 2


def _evenly_spaced(n: int, most: int) -> np.ndarray:
    """At most so many of the indices 0 to n − 1, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
