"""The signature of every engine, and the properties it declares."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from holdfast.certificates.questions import Bounds, Budget, Problem


class BoundFunction(Protocol):
    """``(problem, queries, prediction, *, inputs, n_jobs, budget) -> Bounds``."""

    def __call__(
        self,
        problem: Any,
        queries: np.ndarray,
        prediction: np.ndarray,
        *,
        inputs: np.ndarray | None,
        n_jobs: int | None,
        budget: Budget,
    ) -> Bounds:
        """Bounds of every query."""


@dataclass(frozen=True)
class Engine:
    """An algorithm that bounds the smallest move that changes a vote.

    Attributes
    ----------
    name : str
    bound : BoundFunction
    handles : callable
        Whether it takes a problem: its kind, norm and number of neighbours.
    tight : bool
        Whether its two bounds meet, up to rounding, where its search ends.
    fast : bool
        Whether it needs no search, so that ``certify(method="lower")`` may use it.
    """

    name: str
    bound: BoundFunction
    handles: Callable[[Problem], bool]
    tight: bool
    fast: bool

    def __call__(
        self,
        problem: Problem,
        queries: np.ndarray,
        prediction: np.ndarray,
        *,
        inputs: np.ndarray | None = None,
        n_jobs: int | None = None,
        budget: Budget | None = None,
    ) -> Bounds:
        """Bounds of every query.

        Parameters
        ----------
        problem : Problem
        queries : ndarray of shape (m, r)
        prediction : int ndarray of shape (m,)
            The class y that is certified; where the vote is for another, all bounds are 0.
        inputs : ndarray of shape (m, d) or None
            The inputs behind the queries: needed for a box, and used in the rounding bound.
        n_jobs : int or None
            Threads, over queries.
        budget : Budget or None
            Limits of the search, for each query; None is ``Budget()``.

        Returns
        -------
        Bounds
        """
        if not self.handles(problem):
            raise ValueError(f"{self.name} does not take this problem; holdfast.certificates.engines.choose finds one.")
        queries = np.ascontiguousarray(queries, dtype=np.float64)
        prediction = np.ascontiguousarray(prediction, dtype=np.int64)
        return self.bound(problem, queries, prediction, inputs=inputs, n_jobs=n_jobs, budget=budget or Budget())
