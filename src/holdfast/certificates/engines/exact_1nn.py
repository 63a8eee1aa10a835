"""The smallest move that changes a 1-NN prediction, exactly."""

import numpy as np

from holdfast.certificates.engines.base import Engine
from holdfast.certificates.kernels.active_set import empty_active_set
from holdfast.certificates.kernels.nearest import Voters, empty_workspace, nearest_changes
from holdfast.certificates.problems import Bounds, Budget, NeighborProblem, Problem
from holdfast.certificates.rounding import query_rounding
from holdfast.numerics.sums import product_by_rows
from holdfast.numerics.threads import map_blocks

_QUERIES = 32  # queries in one block of work


def _exact_1nn(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    *,
    inputs: np.ndarray | None,
    n_jobs: int | None,
    budget: Budget,
) -> Bounds:
    """``r* = min_l ρ_l``, ``ρ_l = min{‖δ‖ : a_lj · δ ≥ f_lj / 2 for every j of class y}``, l of the other classes.

    One small quadratic program per l that survives the screening, solved by a dual active set in rank(T)
    coordinates; L1, L∞ and relations are left to the branch and bound. The lower bound is the dual value
    ``cᵀλ / ‖Aᵀλ‖*`` of the multipliers found, shrunk by rounding: sound even where a solver stopped early (Lemma E2).

    The two bounds meet up to rounding, but where co-located points of two classes, a solver's failure or the end of the
    budget leave a gap.

    References
    ----------
    Wang, Liu, Yi, Zhou and Hsieh, "Evaluating the robustness of nearest neighbor classifiers: a primal-dual
    perspective", 2019, for the screening by duality; the metric, the norms and the box are ours.
    """
    m = len(queries)
    coordinates = problem.coordinates
    voters = Voters(
        problem.points, problem.slopes, problem.labels, coordinates.to_input, coordinates.lipschitz
    )  # fmt: skip
    rounding = query_rounding(problem, queries, inputs)
    down, up = problem.room(inputs, m) if problem.moves.confined else (None, None)
    n, s = problem.slopes.shape
    lower, z, elected, spent = np.empty(m), np.empty((m, s)), np.empty(m, np.int64), np.zeros(m, np.int64)

    def block(rows: slice) -> None:
        active, work = empty_active_set(s), empty_workspace(n, s)
        nearest_changes(
            voters, queries, prediction, rounding, down, up, active, work, budget.operations, lower, z,
            elected, spent, rows.start, rows.stop,
        )  # fmt: skip

    map_blocks(block, [slice(start, min(start + _QUERIES, m)) for start in range(0, m, _QUERIES)], n_jobs)
    budget.note(spent)
    return problem.bounds(queries, prediction, inputs, lower, product_by_rows(z, coordinates.to_input), elected)


def _handles(problem: Problem) -> bool:
    one = isinstance(problem, NeighborProblem) and problem.n_neighbors == 1 and problem.goal is None
    return one and problem.norm.quadratic and problem.moves.relations is None


exact_1nn = Engine("exact_1nn", _exact_1nn, _handles, tight=True, fast=False)
