"""A lower bound on the smallest move that changes a k-NN vote: every k, class count and tie rule."""

import numpy as np

from holdfast.certificates.engines.base import Engine
from holdfast.certificates.kernels.order_statistics import empty_impostors, order_bounds
from holdfast.certificates.kernels.rounding import Rounding
from holdfast.certificates.problems import Bounds, Budget, NeighborProblem, Problem
from holdfast.certificates.rounding import query_rounding
from holdfast.numerics.threads import map_blocks

_QUERIES = 16  # queries in one block of work
_MOST = 5_000_000  # of work on a query, besides passes over the points: a millisecond, whatever the budget


def _knn_lower(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    *,
    inputs: np.ndarray | None,
    n_jobs: int | None,
    budget: Budget,
) -> Bounds:
    """``LB = min_q max{(k−q)-th smallest_l E_l^(q), min_c b_q-th smallest_{l in c} E_l^(q)}``, q = 0 … ⌊k/2⌋.

    ``E_l^(q)`` is the (q+1)-th largest ``ε_lj`` over the points j of the predicted class (0 if there are no
    more than q), l runs over the others, ``b_q = max(q, ⌈(k−q)/C1⌉, 1)`` with ``C1`` other classes; missing
    order statistics are infinite. If the vote is not surely for y, some k nearest points hold q of class y,
    and another class with as many or more; each of the k−q others is no farther than all but q of class y
    (Lemma B1). With a box, ``ε_lj`` respects it (L2, L∞, L1); for the ellipsoid the box is ignored, which is sound.

    ``upper`` is infinite and ``delta`` NaN, except where the vote is not for y.
    """
    lower, _ = lower_bounds(problem, queries, prediction, inputs, n_jobs)
    no_moves = np.full((len(queries), problem.free.size), np.nan)
    return problem.bounds(queries, prediction, inputs, lower, no_moves)


def lower_bounds(
    problem: NeighborProblem, queries: np.ndarray, prediction: np.ndarray, inputs, n_jobs: int | None
) -> tuple[np.ndarray, Rounding]:
    """The bound of each query, and its rounding; a box is handled in two passes (Lemma F4).

    The first pass takes the rounding of moves of length 0 and finds how far the second has to reach; no
    move inside the box is longer than ``diameter``, so a bound beyond it is infinite.
    """
    m = len(queries)
    rounding = query_rounding(problem, queries, inputs)
    rule, (n, s) = problem.rule, problem.slopes.shape
    boxed = problem.moves.boxed
    down, up = problem.room(inputs, m) if boxed else (None, None)
    no_horizon, live = np.full(m, -1.0), np.empty(m, np.int64)

    def run(reach: np.ndarray) -> np.ndarray:
        lower = np.empty(m)

        def block(rows: slice) -> None:
            order_bounds(
                problem.points, problem.slopes, problem.labels, rule, queries, prediction, rounding, down, up, reach,
                np.empty(n), empty_impostors(n, s, rule), no_horizon, _MOST, lower, live, rows.start, rows.stop,
            )  # fmt: skip

        map_blocks(block, [slice(start, min(start + _QUERIES, m)) for start in range(0, m, _QUERIES)], n_jobs)
        return lower

    lower = run(np.zeros(m))
    if down is None or up is None:
        return lower, rounding
    diameter = problem.moves.free_norm.lengths(np.maximum(down, up))
    growth = problem.coordinates.growth
    # Moves a thousand times the data are farther than any bound of use, and keep the rounding finite.
    cap = 1e3 * rounding.size / growth if growth > 0 else np.full(m, np.inf)
    reach = np.minimum(lower, diameter)
    reach = np.where(np.isfinite(reach), reach, cap)
    reach = np.where(np.isfinite(reach), reach, 0.0)  # only if nothing moves: growth 0
    lower = run(reach)
    beyond = np.where((reach >= diameter) | (growth == 0), np.inf, reach)
    return np.where(lower > reach, beyond, lower), rounding


def _handles(problem: Problem) -> bool:
    return isinstance(problem, NeighborProblem)


knn_lower = Engine("knn_lower", _knn_lower, _handles, tight=False, fast=True)
