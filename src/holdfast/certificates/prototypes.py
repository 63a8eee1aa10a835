"""The smallest move that changes a nearest-prototype prediction: 1-NN with the prototypes as the points."""

from dataclasses import replace

import numpy as np

from holdfast.certificates.exact_1nn import exact_1nn
from holdfast.certificates.problem import Bounds, Budget, NeighborProblem


def nearest_prototype(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    *,
    inputs: np.ndarray | None = None,
    n_jobs: int | None = None,
    budget: Budget | None = None,
) -> Bounds:
    """``exact_1nn`` of the prototypes ``problem.points``, whatever ``n_neighbors`` says.

    Parameters
    ----------
    problem, queries, prediction, inputs, n_jobs, budget
        As for :func:`~holdfast.certificates.exact_1nn`.

    Returns
    -------
    Bounds
    """
    problem = replace(problem, n_neighbors=1)
    return exact_1nn(problem, queries, prediction, inputs=inputs, n_jobs=n_jobs)
