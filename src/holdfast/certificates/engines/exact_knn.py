"""The smallest move that changes a k-NN vote: branch and bound, certified bounds at any time."""

import numpy as np

from holdfast.certificates.engines.base import Engine
from holdfast.certificates.engines.lower_bound import lower_bounds
from holdfast.certificates.engines.pieces import kinds_of, within_reach
from holdfast.certificates.engines.search_space import SearchSpace
from holdfast.certificates.engines.single_rows import single_row_moves
from holdfast.certificates.kernels.active_set import empty_active_set
from holdfast.certificates.kernels.branching import CHILD, LOOK, search
from holdfast.certificates.kernels.halfspace import squared_distances
from holdfast.certificates.kernels.query import empty_scratch
from holdfast.certificates.kernels.rounding import Rounding
from holdfast.certificates.kernels.search_tree import Tree, empty_tree
from holdfast.certificates.problems import Bounds, Budget, NeighborProblem, Problem
from holdfast.certificates.rounding import query_rounding, rounding_of
from holdfast.numerics.sums import product_by_rows
from holdfast.numerics.threads import map_blocks

_ABOVE = 1.0 + 1e-9  # for a verdict at one size the horizon is a hair beyond it, where rounding cannot hide it
_CAPACITY = 20_000  # nodes that the heap can hold


def _exact_knn(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    *,
    inputs: np.ndarray | None,
    n_jobs: int | None,
    budget: Budget,
) -> Bounds:
    """``min ‖δ‖`` over the moves after which the vote is not for y: any k, any number of classes.

    The vote is lost if and only if for some q and some class c ≠ y (ties aside, see Notes)

    - *c is ahead*: S ⊂ P with ``|S| = q``, L ⊂ c with ``|L| = q+1``, O ⊂ N∖L with ``|O| = k−2q−1``, or
    - *c is level and wins the tie*: the same with ``|L| = q ≥ 1``, ``|O| = k−2q``, and for ties that go to the
      nearest some ``l₀`` in L nearer than all of P,

    such that every point of L ∪ O is no farther than every point of P∖S, and every point of L no farther
    than every point of N∖(c ∪ O). (Then at most q points of P, and all of L, are among the k nearest; Lemma T1.) Each
    such choice is a convex piece, the projection onto which is a small quadratic program. For two classes and odd
    k one kind of piece is enough: ``|L| = (k+1)/2``, ``|S| = (k−1)/2``, O empty. The search takes members by falling
    ``E_l^(q)``, excuses targets only as they are violated, and solves the node of least bound first; a node whose
    own optimum already loses the vote is a leaf.

    Exact (the bounds meet up to rounding) where the search ended; where the budget runs out, ``lower`` is the least
    bound still open (Lemma T4).

    Notes
    -----
    The pieces are closed sets: where points of two classes coincide, the vote may hold on the boundary itself and
    beyond; then the lower bound stays below the upper.
    """
    m, space = len(queries), SearchSpace.of(problem)
    if budget.at is None or problem.coordinates.lipschitz == 0.0:
        start, rounding = lower_bounds(problem, queries, prediction, inputs, n_jobs)
    else:
        start, rounding = np.zeros(m), query_rounding(problem, queries, inputs)
    down, up, least = space.limits(problem, inputs, m)
    kinds = {int(y): kinds_of(problem, int(y)) for y in np.unique(prediction)}
    lower, z = np.empty(m), np.full((m, space.to_input.shape[1]), np.nan)
    spent = np.zeros(m, np.int64)

    def row(t: int) -> None:
        row_rounding, y = rounding_of(rounding, t), int(prediction[t])
        limits = (None, None, least[t]) if down is None or up is None else (down[t], up[t], least[t])
        lower[t], spent[t] = _search(
            problem, space, queries[t], y, kinds[y], start[t], row_rounding, limits, budget, z[t]
        )

    map_blocks(row, range(m), n_jobs)
    budget.note(spent)
    bounds = problem.bounds(queries, prediction, inputs, lower, product_by_rows(z, space.to_input))
    if problem.norm.quadratic:
        return bounds
    return single_row_moves(problem, queries, prediction, inputs, bounds, budget)


def _search(problem, space: SearchSpace, u, y: int, kinds, start: float, rounding: Rounding, limits, budget, best_z):
    """Search within a horizon, and if the best witness lies beyond it, within a wider one.

    Returns the certified radius and the work, no less than the budget if that ended the search; the witness goes to
    ``best_z``. For a verdict at one size, that size is the horizon.
    """
    coordinates, labels = problem.coordinates, problem.labels
    if start == np.inf or not kinds.size or not np.any(labels != y):  # no other class
        return np.inf, 0
    if coordinates.lipschitz == 0.0:  # a zero metric: nothing moves
        return start, 0
    D = np.empty(len(labels))
    squared_distances(problem.points, u, D)
    lower, best = start, np.inf
    unit = rounding.size / max(coordinates.lipschitz, 1e-300)
    # From a bound of 0 (a tie) the first horizon is a small part of the way to the nearest other class.
    nearest_other = np.sqrt(D[labels != y].min()) / max(coordinates.lipschitz, 1e-300)
    horizon = 1.5 * start if start > 0 else max(0.1 * nearest_other, 1e-6 * unit)
    if budget.at is not None:
        horizon = max(budget.at * _ABOVE, 1e-12 * unit)
    most, active = budget.operations, empty_active_set(space.to_input.shape[1])
    while True:
        reach = within_reach(problem, space, u, y, D, horizon, rounding, limits, most - int(active.work[0]))
        lower = max(lower, reach.bound)
        active.work[0] += reach.work
        if active.work[0] >= most:
            return lower, int(active.work[0])
        capacity = min(_CAPACITY, len(kinds) + 64 + most // CHILD)
        tree = empty_tree(capacity, problem.n_neighbors, space.to_input.shape[1] + 1)
        status = tree.status[0]
        status["best"], status["horizon"] = best, horizon
        status["enough"] = -1.0 if budget.at is None else budget.at * (1.0 - 1e-12)  # however its length is summed
        scratch = empty_scratch(reach.query, LOOK)
        over = search(tree, active, reach.query, kinds, scratch, lower, most, best_z)
        best = float(status["best"])
        lower = max(lower, min(float(status["closed"]), _least_open(tree), horizon))
        if budget.at is not None or not over or status["overflow"] or best <= horizon or horizon == np.inf:
            return lower, max(int(active.work[0]), most if status["overflow"] else 0)
        horizon = min(best, 4 * horizon) if horizon < 1e6 * unit else np.inf


def _least_open(tree: Tree) -> float:
    """The least bound of a node that is still open; infinite if there is none."""
    status, bounds = tree.status[0], tree.nodes["bound"]
    first = bounds[tree.heap[0]] if status["heap_size"] > 0 else np.inf
    return float(min(first, bounds[status["next_slot"]]) if status["next_slot"] >= 0 else first)


def _handles(problem: Problem) -> bool:
    return isinstance(problem, NeighborProblem)


exact_knn = Engine("exact_knn", _exact_knn, _handles, tight=True, fast=False)
