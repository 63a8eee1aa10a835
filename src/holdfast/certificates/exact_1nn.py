"""The smallest move that changes a 1-NN prediction, exactly."""

import numpy as np
from numba import njit

from holdfast.certificates import linear
from holdfast.certificates.active_set import certified, clear, dot, empty_state, enter, inward
from holdfast.certificates.halfspace import dual_length, level, squared_distances
from holdfast.certificates.problem import Bounds, Budget, NeighborProblem
from holdfast.certificates.rounding import query_rounding, safe_radius
from holdfast.certificates.votes import insert
from holdfast.certificates.witness import verified
from holdfast.threads import Workers, n_threads

_NEAREST = 40  # targets j that screen an l
_FIRST = 16  # impostors l that are looked at first
_QUERIES = 8  # queries in one block of work


def exact_1nn(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    *,
    inputs: np.ndarray | None = None,
    n_jobs: int | None = None,
    budget: Budget | None = None,
) -> Bounds:
    """``r* = min_l ρ_l``, ``ρ_l = min{‖δ‖ : a_lj · δ ≥ f_lj / 2 for every j of class y}``, l of the other classes.

    For the quadratic norms one small quadratic program per l that survives the screening, solved by a dual
    active set in rank(T) coordinates; for L1 and L∞ a linear program. The lower bound is the dual value
    ``cᵀλ / ‖Aᵀλ‖*`` of the multipliers found, shrunk by rounding: sound even where a solver stopped early.

    Parameters
    ----------
    problem : NeighborProblem
        With ``n_neighbors = 1``.
    queries, prediction, inputs, n_jobs
        As for :func:`~holdfast.certificates.knn_lower.knn_lower`.
    budget
        Not used.

    Returns
    -------
    Bounds
        The two bounds meet up to rounding, but where co-located points of two classes or a solver's
        failure leave a gap.

    References
    ----------
    Wang, Liu, Yi, Zhou and Hsieh, "Evaluating the robustness of nearest neighbor classifiers: a primal-dual
    perspective", 2019, for the screening by duality; the metric, the norms and the box are ours.
    """
    if problem.n_neighbors != 1:
        raise ValueError(f"exact_1nn is for n_neighbors=1; got {problem.n_neighbors}.")
    queries = np.ascontiguousarray(queries, dtype=np.float64)
    prediction = np.ascontiguousarray(prediction, dtype=np.int64)
    m = len(queries)
    if not problem.norm.quadratic:
        lower, moves = linear.nearest_rows(problem, queries, prediction, inputs, n_jobs)
        return verified(problem, queries, prediction, inputs, lower, moves)
    chart, slopes = problem.chart, problem.slopes
    rounding = query_rounding(problem, queries, inputs)
    down, up = problem.room(inputs, m)
    lower, z = np.empty(m), np.empty((m, chart.G.shape[1]))

    def block(rows: slice) -> None:
        _block(
            problem.points, slopes, problem.labels, chart.back, chart.stretch, queries, prediction, rounding,
            down, up, lower, z, rows.start, rows.stop,
        )  # fmt: skip

    parts = [slice(start, min(start + _QUERIES, m)) for start in range(0, m, _QUERIES)]
    with Workers(min(n_threads(n_jobs), len(parts))) as workers:
        workers.map(block, parts)
    return verified(problem, queries, prediction, inputs, lower, z @ chart.back.T)


@njit(nogil=True, cache=True)
def _block(U, V, labels, back, stretch, queries, prediction, rounding, down, up, lower, z, start, stop):
    state = empty_state(V.shape[1])
    D = np.empty(U.shape[0])
    for t in range(start, stop):
        squared_distances(U, queries[t], D)
        lower[t] = _nearest(
            U, V, labels, back, stretch, queries[t], prediction[t], rounding[t], down[t], up[t], D, state, z[t]
        )


@njit(nogil=True, cache=True)
def _nearest(U, V, labels, back, stretch, u, y, rounding, down, up, D, state, best_z):
    """The certified radius of one query; the move that reaches it goes to ``best_z`` (NaN if none)."""
    best_z[:] = np.nan
    targets = np.flatnonzero(labels == y)
    if targets.size == 0:
        return 0.0
    gaps, near = np.empty(_NEAREST), np.empty(_NEAREST, np.int64)
    n_near = 0
    for j in targets:
        n_near = insert(D[j], j, gaps, near, n_near, _NEAREST)
    nearest = D[near[0]]
    keys, first = np.empty(_FIRST), np.empty(_FIRST, np.int64)
    n_first = 0
    for l in range(D.size):
        if labels[l] != y:
            n_first = insert(D[l], l, keys, first, n_first, _FIRST)
    best, low = np.inf, np.inf  # length of the best witness, certified so far
    done = np.zeros(D.size, np.bool_)
    # Round 0: the nearest l, to have a witness; round 1: all that it does not settle.
    for turn in range(2):
        candidates = first[:n_first] if turn == 0 else np.flatnonzero(labels != y)
        bounds, kept = np.empty(candidates.size), np.empty(candidates.size, np.int64)
        count = 0
        for l in candidates:
            if done[l]:
                continue
            if turn == 0:
                done[l] = True
            # ‖a_lj‖* ≤ t (d_l + d_j): a far l is settled by its distance
            bound = 0.0
            if D[l] > nearest:
                slope = stretch * (np.sqrt(D[l]) + np.sqrt(nearest))
                bound = safe_radius(0.5 * (D[l] - nearest), slope, rounding)
            for i in range(n_near):
                j = near[i]
                if bound >= best or D[j] >= D[l]:
                    break
                bound = max(bound, safe_radius(0.5 * (D[l] - D[j]), dual_length(V, l, j, 0), rounding))
            if bound >= best:
                low = min(low, bound)
                continue
            bounds[count], kept[count] = bound, l
            count += 1
        for _ in range(count):  # by growing bound, until it reaches the best
            at = int(np.argmin(bounds[:count]))
            bound = bounds[at]
            if bound >= best:
                low = min(low, bound)
                break
            bounds[at] = np.inf
            value, length = _solve(U, V, back, u, kept[at], targets, rounding, down, up, best, bound, state, best_z)
            low = min(low, max(value, bound))
            best = min(best, length)
    return low


@njit(nogil=True, cache=True)
def _solve(U, V, back, u, l, targets, rounding, down, up, best, bound, state, best_z):
    """``ρ_l``, certified, and the length of a move beyond it (infinite if it is not below ``best``)."""
    s = V.shape[1]
    rows = np.empty(targets.size, np.int64)
    c = np.empty(targets.size)
    count = 0
    for j in targets:
        value = level(U, u, l, j)
        # Inside the best radius a row with c ≤ −best ‖a‖ always holds, as does one of two equal points.
        if value > 0.0 or best == np.inf or value > -best * dual_length(V, l, j, 0) * (1.0 + 1e-9):
            rows[count], c[count] = j, value
            count += 1
    clear(state)
    z = state[6]
    a = np.empty(s)
    certificate = bound
    for _ in range(50 * s + 50):
        far = rounding[1] + rounding[2] * np.sqrt(dot(z, z))
        worst, row = 0.02 * rounding[0] * far * far, -1
        here = dot(V[l], z)
        for i in range(count):
            gap = c[i] - here + dot(V[rows[i]], z)
            if gap > worst:
                worst, row = gap, i
        side, edge = violated_side(back, z, down, up)
        if row >= 0:
            a[:] = V[l] - V[rows[row]]
            ended = enter(a, c[row], l, rows[row], state, rounding)
        elif edge >= 0:
            a[:] = -side * back[edge]
            ended = enter(a, -(up[edge] if side > 0 else down[edge]), -1, edge, state, rounding)
        else:
            break
        certificate = max(certificate, ended, certified(state, rounding))
        if ended != 0.0 or certificate >= best:
            return certificate, np.inf
    far = rounding[1] + rounding[2] * np.sqrt(dot(z, z))
    push = rounding[0] * far * far
    inward(state, a)
    for _ in range(8):  # a little more each time, until l is nearer than all targets, however rounded
        moved = z + push * a
        here = dot(V[l], moved)
        clear_of_all = True
        for i in range(count):
            if here - dot(V[rows[i]], moved) < c[i] + 0.5 * rounding[0] * far * far:
                clear_of_all = False
                break
        if clear_of_all and violated_side(back, moved, down, up)[1] < 0:
            length = np.sqrt(dot(moved, moved))
            if length < best:
                best_z[:] = moved
                return certificate, length
            return certificate, np.inf
        push *= 10.0
    return certificate, np.inf


@njit(nogil=True, cache=True)
def violated_side(back, z, down, up):
    """The coordinate of ``δ = back · z`` farthest outside the box, as (side, index); index -1 if none is."""
    side, edge, worst = 0.0, -1, 0.0
    for i in range(up.size):
        move = dot(back[i], z)
        over = max(move - up[i], -move - down[i])
        if over > worst + 1e-13 * (abs(move) + 1e-300):
            worst, edge = over, i
            side = 1.0 if move > up[i] else -1.0
    return side, edge
