"""A warning if neighbours vote clearly worse under the learned metric than under the Euclidean distance."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

_MAX_ASKED, _MAX_VOTING = 300, 2000  # rows that are asked, among so many: a few percent of the time of a fit
_FIRST = 75  # of them are asked first: where the learned metric loses no more than one, that is all
_VOTERS = 3
_CLEARLY = 3.0  # standard errors of a paired difference: chance alone gives it once in 700 fits


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
    """Some training rows, evenly spread, with their labels; those that are asked are left out one by one."""

    X: np.ndarray
    y: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray) -> "VoteCheck":
        """A sample of the rows."""
        some = np.unique(np.linspace(0, len(X) - 1, min(len(X), _MAX_VOTING)).astype(np.int64))
        if len(some) < len(X):
            X, y = X[some], y[some]
        return cls(X, np.unique(y, return_inverse=True)[1])

    def warn(self, owner: str, L: np.ndarray, advice: str) -> None:
        """Warn if the votes under L are clearly worse, and say by how much."""
        if len(self.X) <= 2 * _VOTERS:
            return
        asked = np.unique(np.linspace(0, len(self.X) - 1, min(len(self.X), _MAX_ASKED)).astype(np.int64))
        mapped, first = self.X @ L.T, asked[:: max(1, len(asked) // _FIRST)]
        wrong = first[~self._right(mapped, first)]
        if wrong.size <= 1 or self._right(self.X, wrong).sum() <= 1:  # as for most metrics
            return
        ours, plain = self._right(mapped, asked), self._right(self.X, asked)
        lost, won = int((plain & ~ours).sum()), int((ours & ~plain).sum())
        if lost - won <= max(_CLEARLY * np.sqrt(lost + won), 0.02 * len(asked)):
            return
        rank, most = np.linalg.matrix_rank(L), min(self.X.shape)
        few = f" The metric has rank {rank} of {most}." if rank < most / 2 else ""
        warnings.warn(
            f"{owner}: {_VOTERS} neighbours are right on {ours.mean():.0%} of {len(asked)} training rows under the "
            f"learned metric, on {plain.mean():.0%} under the Euclidean distance.{few} {advice}.",
            PoorMetricWarning,
            stacklevel=4,
        )

    def _right(self, Z: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """True where most of the nearest other rows are of the row's own class."""
        D = np.einsum("np,np->n", Z, Z) - 2.0 * (Z[asked] @ Z.T)  # d² less a constant of each row that is asked
        D[np.arange(len(asked)), asked] = np.inf
        near = np.argpartition(D, _VOTERS - 1, axis=1)[:, :_VOTERS]
        return (self.y[near] == self.y[asked][:, None]).sum(axis=1) > _VOTERS / 2
