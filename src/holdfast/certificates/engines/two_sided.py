"""L1 and L∞ with several neighbours: a lower bound below, a shortened L2 witness above."""

from dataclasses import replace

import numpy as np

from holdfast.certificates.engines.base import Engine
from holdfast.certificates.engines.exact_knn import search_moves
from holdfast.certificates.engines.linear_programs import shortened
from holdfast.certificates.engines.lower_bound import lower_bounds
from holdfast.certificates.norms import L2
from holdfast.certificates.problems import Bounds, Budget, NeighborProblem, Problem


def _two_sided_knn(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    *,
    inputs: np.ndarray | None,
    n_jobs: int | None,
    budget: Budget,
) -> Bounds:
    """The order-statistic bound below; above, the shortest move into the vote that the L2 witness reaches.

    The witness of the L2 search is one move that changes the vote; a linear program then finds the shortest move, in
    the problem's norm, to the same k nearest points. The two bounds need not meet.
    """
    lower, _ = lower_bounds(problem, queries, prediction, inputs, n_jobs)
    euclidean = replace(problem, moves=replace(problem.moves, norm=L2()))
    moves = search_moves(euclidean, queries, prediction, inputs, n_jobs, budget)[1]
    found = problem.bounds(queries, prediction, inputs, lower, moves)
    moves = shortened(problem, queries, inputs, moves, n_jobs)
    shorter = problem.bounds(queries, prediction, inputs, lower, moves)
    better = shorter.upper < found.upper
    return Bounds(
        np.where(better, shorter.lower, found.lower),
        np.where(better, shorter.upper, found.upper),
        np.where(better[:, None], shorter.delta, found.delta),
    )


def _handles(problem: Problem) -> bool:
    return isinstance(problem, NeighborProblem) and not problem.norm.quadratic


two_sided_knn = Engine("two_sided_knn", _two_sided_knn, _handles, tight=False, fast=False)
