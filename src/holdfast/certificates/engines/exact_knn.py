"""The smallest move that changes a k-NN vote: branch and bound, certified bounds at any time."""

import numpy as np

from holdfast.certificates.engines.base import Engine
from holdfast.certificates.engines.lower_bound import lower_bounds
from holdfast.certificates.kernels.active_set import empty_active_set
from holdfast.certificates.kernels.branching import LOOK, search
from holdfast.certificates.kernels.halfspace import squared_distances
from holdfast.certificates.kernels.order_statistics import empty_impostors, live_impostors
from holdfast.certificates.kernels.query import KIND, Query, empty_scratch
from holdfast.certificates.kernels.rounding import Rounding, slack
from holdfast.certificates.kernels.search_tree import CLOSE, Tree, empty_tree
from holdfast.certificates.problems import Bounds, Budget, NeighborProblem, Problem
from holdfast.certificates.rounding import rounding_of
from holdfast.numerics.sums import product_by_rows
from holdfast.numerics.threads import map_blocks

_CAPACITY = 20_000  # nodes that can wait; as many as the default budget of the engine solves


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
    lower, moves = search_moves(problem, queries, prediction, inputs, n_jobs, budget)
    return problem.bounds(queries, prediction, inputs, lower, moves)


def search_moves(
    problem: NeighborProblem, queries: np.ndarray, prediction: np.ndarray, inputs, n_jobs: int | None, budget: Budget
) -> tuple[np.ndarray, np.ndarray]:
    """Certified radii (m,) and moves of the free inputs (m, n_free) of the branch and bound, for a quadratic norm."""
    m, s = len(queries), problem.coordinates.G.shape[1]
    start, rounding = lower_bounds(problem, queries, prediction, inputs, n_jobs)
    box = problem.room(inputs, m) if problem.moves.confined else None
    lower, z = np.empty(m), np.full((m, s), np.nan)

    def row(t: int) -> None:
        own = rounding_of(rounding, t)
        down, up = (None, None) if box is None else (box[0][t], box[1][t])
        lower[t] = _search(problem, queries[t], int(prediction[t]), start[t], own, down, up, budget, z[t])

    map_blocks(row, range(m), n_jobs)
    return lower, product_by_rows(z, problem.coordinates.to_input)


def _search(problem, u, y: int, start: float, rounding: Rounding, down, up, budget: Budget, best_z) -> float:
    """Search within a horizon, and if the best witness lies beyond it, within a wider one.

    The certified radius; the witness goes to ``best_z``.
    """
    coordinates, labels, k = problem.coordinates, problem.labels, problem.n_neighbors
    if start == np.inf or coordinates.lipschitz == 0.0:  # nothing to find: no other class, or a zero metric
        return start
    D = np.empty(len(labels))
    squared_distances(problem.points, u, D)
    kth = np.sqrt(np.partition(D, k - 1)[k - 1])
    lower, best, nodes = start, np.inf, 0
    unit = rounding.size / max(coordinates.lipschitz, 1e-300)
    # From a bound of 0 (a tie) the first horizon is a small part of the way to the nearest other class.
    nearest_other = np.sqrt(D[labels != y].min()) / max(coordinates.lipschitz, 1e-300)
    horizon = 1.5 * start if start > 0 else max(0.1 * nearest_other, 1e-6 * unit)
    active = empty_active_set(coordinates.G.shape[1])
    while True:
        query, kinds, roots = _within(problem, u, y, D, kth, horizon, rounding, down, up)
        tree = empty_tree(min(_CAPACITY, 64 + 64 * budget.nodes), k)
        status = tree.status[0]
        status["best"], status["horizon"] = best, horizon
        for kind, bound in enumerate(roots):
            _add_root(tree, kind, max(bound, start))
        over = search(tree, active, query, kinds, empty_scratch(query, LOOK), budget.nodes - nodes, best_z)
        nodes += int(status["n_solved"])
        best = float(status["best"])
        lower = max(lower, min(float(status["closed"]), _least_open(tree), horizon))
        if not over or status["overflow"] or best <= horizon or horizon == np.inf:
            return lower
        horizon = min(best, 4 * horizon) if horizon < 1e6 * unit else np.inf


def _add_root(tree: Tree, kind: int, bound: float) -> None:
    """Put a node of a kind with nothing chosen yet into the heap, unless its bound closes it."""
    status, nodes, heap = tree.status[0], tree.nodes, tree.heap
    closed = bound >= min(status["best"] * CLOSE, status["horizon"])
    if closed or status["n_free"] == 0:
        status["closed"] = min(status["closed"], bound)
        status["overflow"] |= not closed
        return
    status["n_free"] -= 1
    slot = tree.free[status["n_free"]]
    nodes[slot] = (bound, kind, 0, 0, 0, 0, 0)
    i = int(status["heap_size"])
    status["heap_size"] += 1
    while i > 0 and nodes["bound"][heap[(i - 1) // 2]] > bound:
        heap[i] = heap[(i - 1) // 2]
        i = (i - 1) // 2
    heap[i] = slot


def _least_open(tree: Tree) -> float:
    """The least bound of a node that is still open; infinite if there is none."""
    status, bounds = tree.status[0], tree.nodes["bound"]
    first = bounds[tree.heap[0]] if status["heap_size"] > 0 else np.inf
    following = bounds[status["next_slot"]] if status["next_slot"] >= 0 else np.inf
    return float(min(first, following))


def _within(problem, u, y: int, D, kth: float, horizon: float, rounding: Rounding, down, up):
    """The points in reach of the horizon, the kinds of pieces, and a bound for each kind.

    A point farther than ``tH + √((d_(k) + tH)² + κ(S + gH)²)`` is not among the k nearest after any move of length H,
    however rounded, so its rows are not needed inside the horizon (Lemma T5).
    """
    coordinates, k, lipschitz = problem.coordinates, problem.n_neighbors, problem.coordinates.lipschitz
    work = empty_impostors(D.size, coordinates.G.shape[1], problem.rule)
    _, count = live_impostors(
        problem.slopes, problem.labels, problem.rule, y, rounding, None, None, 0.0, D, horizon, work
    )
    # 1e-9 is far more than the rounding of these few operations.
    step = lipschitz * horizon
    far = (step + np.sqrt((kth + step) ** 2 + 2.0 * slack(rounding, horizon))) * (1 + 1e-9) + 1e-9 * rounding.size
    reach = np.flatnonzero(np.sqrt(D) <= far) if np.isfinite(far) else np.arange(D.size)
    place = np.full(D.size, -1)
    place[reach] = np.arange(reach.size)
    kept = place[work.indices[:count]] >= 0
    live, E = work.indices[:count][kept], np.ascontiguousarray(work.E[:count][kept])
    labels = problem.labels[reach]
    query = Query(
        points=problem.points[reach], slopes=problem.slopes[reach], squared=D[reach], labels=labels,
        targets=np.flatnonzero(labels == y), live=place[live], E=E,
        order=np.ascontiguousarray(np.argsort(E, axis=0, kind="stable").T),
        u=u, to_input=coordinates.to_input, down=down, up=up,
        y=y, k=k, n_classes=problem.n_classes, lowest_wins=problem.lowest_wins, rounding=rounding,
    )  # fmt: skip
    kinds = _kinds(problem, y)
    return query, kinds, [_root_bound(kind, problem.labels[live], E, horizon) for kind in kinds]


def _kinds(problem: NeighborProblem, y: int) -> np.ndarray:
    """The kinds of pieces in which the vote is lost (Lemma T1)."""
    k, lowest_wins = problem.n_neighbors, problem.lowest_wins
    others = [c for c in range(problem.n_classes) if c != y and np.any(problem.labels == c)]
    kinds = []
    for q in range(k // 2 + 1):
        if len(others) == 1 and q < (k - 1) // 2:
            continue  # with one other class it is ahead only with a majority
        if q == 0:
            kinds.append((-1, 0, 0, k, 0))  # no vote for y: any k others
            continue
        for c in others:
            if k - 2 * q - 1 >= 0:
                kinds.append((c, q, q + 1, k - 2 * q - 1, 0))
            if (not lowest_wins or c < y) and not (len(others) == 1 and k % 2):
                kinds.append((c, q, q, k - 2 * q, 0 if lowest_wins else 1))
    return np.array(kinds, KIND)


def _root_bound(kind, live_labels: np.ndarray, E: np.ndarray, horizon: float) -> float:
    """A bound on all pieces of a kind, from the order statistics of E; at most the horizon."""
    q, size = kind["n_excused"], kind["n_own"] + kind["n_other"]

    def smallest(values: np.ndarray, rank: int) -> float:
        return np.sort(values)[rank - 1] if values.size >= rank else horizon

    own = live_labels == kind["winner"]
    bound = smallest(E[:, q], size)
    if kind["n_own"]:
        bound = max(bound, smallest(E[own, q], kind["n_own"]))
    if kind["leads"]:
        bound = max(bound, smallest(E[own, 0], 1))
    return min(bound, horizon)


def _handles(problem: Problem) -> bool:
    return isinstance(problem, NeighborProblem) and problem.norm.quadratic


exact_knn = Engine("exact_knn", _exact_knn, _handles, tight=True, fast=False)
