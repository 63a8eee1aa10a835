"""The smallest move that changes a k-NN vote: branch and bound, a certified sandwich at any time."""

import time

import numpy as np

from holdfast.certificates import linear
from holdfast.certificates.active_set import empty_state
from holdfast.certificates.branch import empty_tree, new_child, push, search
from holdfast.certificates.exact_1nn import exact_1nn
from holdfast.certificates.halfspace import squared_distances
from holdfast.certificates.knn_lower import live_impostors, lower_bounds
from holdfast.certificates.norms import L2
from holdfast.certificates.problem import Bounds, Budget, NeighborProblem
from holdfast.certificates.witness import verified
from holdfast.threads import Workers, n_threads

_STEPS = 32  # nodes between two looks at the clock
_CAPACITY = 20_000  # nodes that can wait


def exact_knn(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    *,
    inputs: np.ndarray | None = None,
    n_jobs: int | None = None,
    budget: Budget | None = None,
) -> Bounds:
    """``min ‖δ‖`` over the moves after which the vote is not for y: any k, any number of classes.

    The vote is lost if and only if for some q and some class c ≠ y (ties aside, see Notes)

    - *c is ahead*: S ⊂ P with ``|S| = q``, L ⊂ c with ``|L| = q+1``, O ⊂ N∖L with ``|O| = k−2q−1``, or
    - *c is level and wins the tie*: the same with ``|L| = q ≥ 1``, ``|O| = k−2q``, and for ties that go to the
      nearest some ``l₀`` in L nearer than all of P,

    such that every point of L ∪ O is no farther than every point of P∖S, and every point of L no farther
    than every point of N∖(c ∪ O). (Then at most q points of P, and all of L, are among the k nearest.) Each
    such choice is a convex piece, the projection onto which is a small quadratic program. For two classes and odd
    k one kind of piece is enough: ``|L| = (k+1)/2``, ``|S| = (k−1)/2``, O empty. The search takes members by falling
    ``E_l^(q)``, excuses targets only as they are violated, and solves the node of least bound first; a node whose
    own optimum already loses the vote is a leaf.

    Parameters
    ----------
    problem : NeighborProblem
    queries, prediction, inputs, n_jobs
        As for :func:`~holdfast.certificates.knn_lower.knn_lower`.
    budget : Budget or None
        For each query; None is ``Budget()``. Where it runs out, ``lower`` is the least bound still open.

    Returns
    -------
    Bounds
        Exact (they meet up to rounding) where the search ended. For L1 and L∞ with k > 1, the sandwich of
        ``knn_lower`` and the shortest move into the vote of the L2 witness; with k = 1, ``exact_1nn``.

    Notes
    -----
    The pieces are closed sets: where points of two classes coincide, the vote may hold on the boundary itself and
    beyond; then the lower bound stays below the upper.
    """
    queries = np.ascontiguousarray(queries, dtype=np.float64)
    prediction = np.ascontiguousarray(prediction, dtype=np.int64)
    budget = budget or Budget()
    if not problem.norm.quadratic:
        if problem.n_neighbors == 1:
            return exact_1nn(problem, queries, prediction, inputs=inputs, n_jobs=n_jobs)
        lower, _ = lower_bounds(problem, queries, prediction, inputs, n_jobs)
        moves = _moves(_with_l2(problem), queries, prediction, inputs, n_jobs, budget)[1]
        found = verified(problem, queries, prediction, inputs, lower, moves)
        moves = linear.shortened(problem, queries, inputs, moves, n_jobs)
        shorter = verified(problem, queries, prediction, inputs, lower, moves)
        better = shorter.upper < found.upper
        return Bounds(
            np.where(better, shorter.lower, found.lower),
            np.where(better, shorter.upper, found.upper),
            np.where(better[:, None], shorter.delta, found.delta),
        )
    lower, moves = _moves(problem, queries, prediction, inputs, n_jobs, budget)
    return verified(problem, queries, prediction, inputs, lower, moves)


def _with_l2(problem: NeighborProblem) -> NeighborProblem:
    return NeighborProblem(
        problem.points, problem.labels, problem.T, problem.n_neighbors, L2(), problem.n_classes, problem.lower,
        problem.upper, problem.frozen, problem.ties, problem.scale,
    )  # fmt: skip


def _moves(problem, queries, prediction, inputs, n_jobs, budget) -> tuple[np.ndarray, np.ndarray]:
    """Certified radii (m,) and moves of the free inputs (m, n_free)."""
    m = len(queries)
    start, rounding = lower_bounds(problem, queries, prediction, inputs, n_jobs)
    down, up = problem.room(inputs, m)
    lower, z = np.empty(m), np.empty((m, problem.chart.G.shape[1]))
    problem.slopes  # noqa: B018 - made once, before the threads

    def block(rows: slice) -> None:
        for t in range(rows.start, rows.stop):
            lower[t], z[t] = _query(problem, queries[t], prediction[t], start[t], rounding[t], down[t], up[t], budget)

    with Workers(min(n_threads(n_jobs), m or 1)) as workers:
        workers.map(block, [slice(t, t + 1) for t in range(m)])
    return lower, z @ problem.chart.back.T


def _query(problem, u, y, start, rounding, down, up, budget) -> tuple[float, np.ndarray]:
    """Search within a horizon, and if the best witness lies beyond it, within a wider one."""
    chart, labels, k = problem.chart, problem.labels, problem.n_neighbors
    best_z = np.full(chart.G.shape[1], np.nan)
    if start == np.inf or chart.stretch == 0.0:  # nothing to find: no other class, or a metric that sees no move
        return start, best_z
    D = np.empty(len(labels))
    squared_distances(problem.points, u, D)
    kth = np.sqrt(np.partition(D, k - 1)[k - 1])
    clock = time.perf_counter()
    lower, best, nodes = start, np.inf, 0
    # From a bound of 0 (a tie) the first horizon is a small part of the way to the nearest other class.
    others = D[labels != y]
    unit = rounding[1] / max(chart.stretch, 1e-300)
    horizon = 1.5 * start if start > 0 else max(0.1 * np.sqrt(others.min()) / max(chart.stretch, 1e-300), 1e-6 * unit)
    while True:
        data, modes, roots = _within(problem, u, y, D, kth, horizon, rounding, down, up)
        tree = empty_tree(_CAPACITY, k, k // 2 + 1)
        facts, counts = tree[9], tree[10]
        facts[0], facts[2] = best, horizon
        for mode, bound in enumerate(roots):
            slot = new_child(tree, -1, max(bound, start))
            if slot >= 0:
                tree[1][slot, 0] = mode
                push(tree, slot)
        state = empty_state(chart.G.shape[1])
        over = False
        while not over:
            allowed = min(_STEPS, budget.nodes - nodes)
            if allowed <= 0 or (budget.seconds is not None and time.perf_counter() - clock > budget.seconds):
                break
            before = counts[2]
            over = search(tree, state, data, modes, allowed, best_z)
            nodes += int(counts[2] - before)
        best = facts[0]
        waiting = tree[0][tree[7][0]] if counts[0] > 0 else np.inf
        if counts[3] >= 0:
            waiting = min(waiting, tree[0][counts[3]])
        lower = max(lower, min(facts[1], waiting, horizon))
        if not over or counts[4] or best <= horizon or horizon == np.inf:
            return lower, best_z
        horizon = min(best, 4 * horizon) if horizon < 1e6 * unit else np.inf


def _within(problem, u, y, D, kth, horizon, rounding, down, up):
    """The points in reach of the horizon, the kinds of pieces, and a bound for each kind.

    A point farther than ``d_(k) + 2tH`` is not among the k nearest after any move of length H, so what it asks of a
    piece is not needed inside the horizon.
    """
    chart, k, C = problem.chart, problem.n_neighbors, problem.n_classes
    Q = k // 2 + 1
    empty = np.empty(0)
    _, found, E = live_impostors(
        problem.slopes, problem.labels, k, C, chart.dual, chart.stretch, y, rounding, empty, empty, 0.0, D, horizon
    )
    far = (kth + 2 * chart.stretch * horizon) * (1 + 1e-9) + 1e-9 * rounding[1]
    reach = np.flatnonzero(np.sqrt(D) <= far) if np.isfinite(far) else np.arange(D.size)
    place = np.full(D.size, -1)
    place[reach] = np.arange(reach.size)
    kept = place[found] >= 0
    found, E = found[kept], np.ascontiguousarray(E[kept])
    order = np.ascontiguousarray(np.argsort(E, axis=0, kind="stable").T)
    labels = problem.labels[reach]
    present = [c for c in range(C) if c != y and np.any(problem.labels == c)]
    lowest = problem.ties == "lowest"
    modes = []
    for q in range(Q):
        if len(present) == 1 and q < (k - 1) // 2:
            continue  # with one other class it is ahead only with a majority
        if q == 0:
            modes.append((-1, 0, 0, k, 0))  # no vote for y: any k others
            continue
        for c in present:
            if k - 2 * q - 1 >= 0:
                modes.append((c, q, q + 1, k - 2 * q - 1, 0))
            if (not lowest or c < y) and not (len(present) == 1 and k % 2):
                modes.append((c, q, q, k - 2 * q, 0 if lowest else 1))
    roots = []
    for c, q, own, other, leads in modes:
        values = np.sort(E[:, q])
        bound = values[own + other - 1] if values.size >= own + other else horizon
        if own:
            values = np.sort(E[problem.labels[found] == c, q])
            bound = max(bound, values[own - 1] if values.size >= own else horizon)
        if leads:
            values = E[problem.labels[found] == c, 0]
            bound = max(bound, values.min() if values.size else horizon)
        roots.append(min(bound, horizon))
    data = (
        problem.points[reach], problem.slopes[reach], D[reach], labels, u, int(y), k, C, lowest, place[found], E, order,
        chart.back, rounding, down, up, np.flatnonzero(labels == y),
    )  # fmt: skip
    return data, np.array(modes, np.int64).reshape(-1, 5), roots
