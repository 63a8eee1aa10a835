"""L1 and L∞: exact 1-NN radii, one linear program for each impostor that survives; shorter k-NN witnesses."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_matrix, eye, hstack, vstack

from holdfast.certificates.halfspace import box_distance, squared_distances
from holdfast.certificates.knn_lower import live_impostors
from holdfast.certificates.problem import NeighborProblem
from holdfast.certificates.rounding import query_rounding, safe_radius
from holdfast.threads import Workers, n_threads

_ROWS = 40  # targets in the first program; the violated ones join
_BEYOND = 1e-8  # how far beyond every boundary a witness goes, relative to its length
_PENALTY = 1e4
_AROUND = 100  # points outside the k nearest that hold a witness in place


def nearest_rows(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    inputs: np.ndarray | None,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Certified radii (m,) and the moves that reach them (m, n_free), NaN where there is none."""
    m = len(queries)
    rounding = query_rounding(problem, queries, inputs)
    down, up = problem.room(inputs, m)
    lower, moves = np.empty(m), np.empty((m, problem.free.size))

    def block(rows: slice) -> None:
        for t in range(rows.start, rows.stop):
            lower[t], moves[t] = _query(problem, queries[t], prediction[t], rounding[t], down[t], up[t])

    with Workers(min(n_threads(n_jobs), m or 1)) as workers:
        workers.map(block, [slice(t, t + 1) for t in range(m)])
    return lower, moves


def shortened(
    problem: NeighborProblem,
    queries: np.ndarray,
    inputs: np.ndarray | None,
    moves: np.ndarray,
    n_jobs: int | None,
) -> np.ndarray:
    """Shorter moves (m, n_free) to the same votes: the program of the k nearest points where each move ends.

    Only the nearest of the other points are in it, so a move has to be looked at again.
    """
    m = len(queries)
    rounding = query_rounding(problem, queries, inputs)
    down, up = problem.room(inputs, m)
    out = moves.copy()

    def block(rows: slice) -> None:
        for t in range(rows.start, rows.stop):
            if np.isfinite(moves[t]).all():
                near, far = _pairs(problem, queries[t] + problem.T[:, problem.free] @ moves[t])
                delta = _program(problem, queries[t], near, far, 0.0, np.inf, rounding[t], down[t], up[t])[2]
                out[t] = moves[t] if delta is None else delta

    with Workers(min(n_threads(n_jobs), m or 1)) as workers:
        workers.map(block, [slice(t, t + 1) for t in range(m)])
    return out


def _pairs(problem, u) -> tuple[np.ndarray, np.ndarray]:
    """What keeps the vote at u: each of the k nearest no farther than each point of another class outside."""
    k, labels = problem.n_neighbors, problem.labels
    D = np.empty(len(labels))
    squared_distances(problem.points, u, D)
    order = np.argsort(D, kind="stable")
    inside, outside = order[:k], order[k : k + _AROUND]
    near, far = np.repeat(inside, outside.size), np.tile(outside, k)
    tally = np.bincount(labels[inside], minlength=problem.n_classes)
    tied = inside[tally[labels[inside]] == tally.max()]
    if problem.ties == "nearest":  # and the nearest of the tied stays the nearest
        near, far = np.append(near, np.repeat(tied[0], tied.size - 1)), np.append(far, tied[1:])
    other = labels[near] != labels[far]
    return near[other], far[other]


def _query(problem, u, y, rounding, down, up) -> tuple[float, np.ndarray]:
    """One query: candidates l by growing E, each program until E reaches the best."""
    chart, V = problem.chart, problem.slopes
    D = np.empty(len(problem.points))
    squared_distances(problem.points, u, D)
    targets = np.flatnonzero(problem.labels == y)
    targets = targets[np.argsort(D[targets], kind="stable")]
    none = np.full(problem.free.size, np.nan)
    if targets.size == 0 or targets.size == D.size:
        return (0.0 if targets.size == 0 else np.inf), none
    empty = np.empty(0)  # E is screened without the box: smaller, so sound

    def screen(horizon):
        return live_impostors(
            V, problem.labels, 1, problem.n_classes, chart.dual, chart.stretch, y, rounding, empty, empty, 0.0, D,
            horizon,
        )  # fmt: skip

    best, move, low = np.inf, none, np.inf
    horizon = 1.25 * screen(-1.0)[0]
    solved: dict[int, float] = {}
    while True:
        _, found, E = screen(horizon)
        for i in np.argsort(E[:, 0], kind="stable"):
            if E[i, 0] >= best:
                break
            if found[i] not in solved:
                value, length, delta = _program(problem, u, found[i], targets, E[i, 0], best, rounding, down, up)
                solved[found[i]] = max(value, E[i, 0])
                if length < best:
                    best, move = length, delta
        if best <= horizon or horizon == np.inf:
            break
        horizon = best if best < np.inf else (2 * horizon if 0 < horizon < 1e6 * rounding[1] else np.inf)
    low = min([min(best, horizon), *solved.values()])
    return low, move


def _program(problem, u, near, far, E, best, rounding, down, up):
    """``min ‖δ‖ : near is no farther than far``, pair by pair: certified, the length of a move beyond it, the move."""
    V, U, chart = problem.slopes, problem.points, problem.chart
    A = V[near] - V[far]
    c = 0.5 * np.einsum("jr,jr->j", U[near] - U[far], (U[near] - u) + (U[far] - u))
    norms = np.abs(A).sum(axis=1) if chart.dual == 1 else np.abs(A).max(axis=1)
    still = norms == 0
    if still.any():  # a row that no move changes
        worst = safe_radius(c[still].max(), 0.0, rounding)
        if worst > 0:
            return worst, np.inf, None
        A, c, norms = A[~still], c[~still], norms[~still]
    if norms.size == 0:
        return 0.0, 0.0, np.zeros(A.shape[1])
    # In units of ``unit``, with rows of dual norm 1; the solver's tolerances are absolute.
    unit = E if E > 0 else max(np.abs(c / norms).min(), 1e-300)
    size = rounding[1] + rounding[2] * unit
    rows, levels = A / norms[:, None], c / norms / unit
    aim = levels + np.maximum(_BEYOND, rounding[0] * size * size / norms / unit)
    chosen = np.argsort(-levels, kind="stable")[:_ROWS]
    value = E
    for _ in range(100):
        ended = _solve(rows[chosen], aim[chosen], chart.dual, down / unit, up / unit)
        if ended is None:
            return value, np.inf, None
        lam, delta = ended
        value = max(value, _certified(lam / norms[chosen], A[chosen], c[chosen], chart.dual, rounding, down, up))
        if value >= best or delta is None:
            return value, np.inf, None
        missing = np.flatnonzero(rows @ delta < levels)
        if missing.size == 0:
            delta = delta * unit
            return value, float(problem.free_norm.lengths(delta[None])[0]), delta
        fresh = np.setdiff1d(missing, chosen)
        if fresh.size == 0:
            return value, np.inf, None
        gap = (levels - rows @ delta)[fresh]
        chosen = np.concatenate([chosen, fresh[np.argsort(-gap)][:_ROWS]])
    return value, np.inf, None


def _solve(rows, aim, dual, down, up):
    """``min ‖δ‖ : rows δ ≥ aim`` in the box, δ = p − n; multipliers and δ (None if there is no δ)."""
    d = rows.shape[1]
    box = [(0, room if np.isfinite(room) else None) for room in (up if up.size else np.full(d, np.inf))]
    box += [(0, room if np.isfinite(room) else None) for room in (down if down.size else np.full(d, np.inf))]
    A = csc_matrix(np.hstack([-rows, rows]))
    b = -aim
    if dual == 2:  # L1: Σ (p + n)
        cost = np.ones(2 * d)
    else:  # L∞: p + n ≤ R
        cost = np.concatenate([np.zeros(2 * d), [1.0]])
        box.append((0, None))
        A = vstack([
            hstack([A, csc_matrix((len(b), 1))]),
            hstack([eye(d), eye(d), csc_matrix(-np.ones((d, 1)))]),
        ]).tocsc()  # fmt: skip
        b = np.concatenate([b, np.zeros(d)])
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    result = linprog(cost, A_ub=A, b_ub=b, bounds=box, method="highs", options=options)
    if result.status == 0:
        return np.maximum(-result.ineqlin.marginals[: len(aim)], 0.0), result.x[:d] - result.x[d : 2 * d]
    if result.status not in (2, 4):
        return None
    # No such δ: with a penalty on the rows the multipliers say how surely not.
    slack = csc_matrix(np.concatenate([-np.ones(len(aim)), np.zeros(len(b) - len(aim))])[:, None])
    cost = np.concatenate([cost, [_PENALTY]])
    result = linprog(
        cost, A_ub=hstack([A, slack]).tocsc(), b_ub=b, bounds=[*box, (0, None)], method="highs", options=options
    )
    if result.status != 0:
        return None
    return np.maximum(-result.ineqlin.marginals[: len(aim)], 0.0), None


def _certified(lam, A, c, dual, rounding, down, up) -> float:
    """The distance to the halfspace ``(Σλa)·δ ≥ Σλc``, in which every solution lies; Σλ = 1."""
    total = lam.sum()
    if not total > 0:
        return 0.0
    a, level = lam @ A / total, float(lam @ c) / total
    length = np.abs(a).sum() if dual == 1 else np.abs(a).max()
    free = safe_radius(level, length, rounding)
    if not up.size:
        return free
    # As ``boxed_radius``: for moves up to ``reach``, no longer than any in the box.
    rooms = np.maximum(down, up)
    reach = rooms.max() if dual == 1 else rooms.sum()
    reach = reach if np.isfinite(reach) else 2 * free
    far = rounding[1] + rounding[2] * reach
    level -= 0.5 * rounding[0] * far**2 + (rounding[0] * rounding[1] * rounding[2] + rounding[3]) * reach
    boxed = box_distance(a, level, dual, down, up)
    inside = np.isfinite(rooms).all()
    return max(free, boxed if inside else min(boxed, reach))
