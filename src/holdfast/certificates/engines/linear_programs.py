"""Linear programs for L1 and L∞: exact 1-NN radii, one program for each impostor that matters; shorter witnesses."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_matrix, eye, hstack, vstack

from holdfast.certificates.kernels.halfspace import MAX, squared_distances
from holdfast.certificates.kernels.order_statistics import empty_impostors, live_impostors
from holdfast.certificates.kernels.rounding import Rounding, safe_radius, slack, slope_error
from holdfast.certificates.problems import NeighborProblem
from holdfast.certificates.rounding import query_rounding, rounding_of
from holdfast.numerics.threads import map_blocks

_ROWS = 40  # targets in the first program; the violated ones join
_BEYOND = 1e-8  # how far beyond every boundary a witness goes, relative to its length
_FAR = 1e3  # times the data: moves beyond are not looked at
_PENALTY = 1e4  # price of violating a row in an infeasible program, in units where the rows have dual norm 1
_AROUND = 100  # points outside the k nearest that hold a witness in place


def exact_1nn_lp(
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

    def row(t: int) -> None:
        own = rounding_of(rounding, t)
        lower[t], moves[t] = _radius(problem, queries[t], int(prediction[t]), own, down[t], up[t])

    map_blocks(row, range(m), n_jobs)
    return lower, moves


def shortened(
    problem: NeighborProblem,
    queries: np.ndarray,
    inputs: np.ndarray | None,
    moves: np.ndarray,
    n_jobs: int | None,
) -> np.ndarray:
    """Shorter moves (m, n_free) to the same votes: the program of the k nearest points where each move ends.

    Only the nearest of the other points are in it, so the vote after a move has to be counted again.
    """
    m = len(queries)
    rounding = query_rounding(problem, queries, inputs)
    down, up = problem.room(inputs, m)
    columns = problem.moves.in_units(problem.T)
    out = moves.copy()

    def row(t: int) -> None:
        if np.isfinite(moves[t]).all():
            near, far = _pairs(problem, queries[t] + columns @ moves[t])
            own = rounding_of(rounding, t)
            delta = _program(problem, queries[t], near, far, 0.0, np.inf, own, down[t], up[t])[2]
            out[t] = moves[t] if delta is None else delta

    map_blocks(row, range(m), n_jobs)
    return out


def _pairs(problem, u) -> tuple[np.ndarray, np.ndarray]:
    """The rows that keep the vote at u: each of the k nearest no farther than each point of another class outside."""
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


def _radius(problem: NeighborProblem, u, y: int, rounding: Rounding, down, up) -> tuple[float, np.ndarray]:
    """One query: candidates l by growing E, each program until E reaches the best."""
    D = np.empty(len(problem.points))
    squared_distances(problem.points, u, D)
    targets = np.flatnonzero(problem.labels == y)
    targets = targets[np.argsort(D[targets], kind="stable")]
    none = np.full(problem.free.size, np.nan)
    if targets.size == 0 or targets.size == D.size:
        return (0.0 if targets.size == 0 else np.inf), none
    # E is screened without the box: smaller, so sound.

    def screen(horizon: float):
        work = empty_impostors(D.size, problem.slopes.shape[1], problem.rule)
        bound, count = live_impostors(
            problem.slopes, problem.labels, problem.rule, y, rounding, None, None, 0.0, D, horizon, work
        )
        return bound, work.indices[:count], work.E[:count]

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
        horizon = best if best < np.inf else (2 * horizon if 0 < horizon < 1e6 * rounding.size else np.inf)
    low = min([min(best, horizon), *solved.values()])
    return low, move


def _program(problem, u, near, far, E, best, rounding, down, up):
    """``min ‖δ‖ : near is no farther than far``, pair by pair: certified, the length of a move beyond it, the move."""
    V, U, norm = problem.slopes, problem.points, problem.moves.free_norm
    A = V[near] - V[far]
    c = 0.5 * np.einsum("jr,jr->j", U[near] - U[far], (U[near] - u) + (U[far] - u))
    norms = norm.dual_lengths(A)
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
    rows, levels = A / norms[:, None], c / norms / unit
    aim = levels + np.maximum(_BEYOND, 2.0 * slack(rounding, unit) / norms / unit)
    chosen = np.argsort(-levels, kind="stable")[:_ROWS]
    value = E
    for _ in range(100):
        ended = _solve(rows[chosen], aim[chosen], norm, down / unit, up / unit)
        if ended is None:
            return value, np.inf, None
        lam, delta = ended
        # Where no move meets the rows: as far as is of use, a thousand times the data at most.
        reach = min(best, _FAR * rounding.size / max(rounding.growth, 1e-300))
        reach = reach if delta is None else 1.001 * unit * float(norm.lengths(delta[None])[0])
        value = max(value, _certified(lam / norms[chosen], A[chosen], c[chosen], norm, rounding, down, up, reach))
        if value >= best or delta is None:
            return value, np.inf, None
        missing = np.flatnonzero(rows @ delta < levels)
        if missing.size == 0:
            delta = delta * unit
            return value, float(norm.lengths(delta[None])[0]), delta
        fresh = np.setdiff1d(missing, chosen)
        if fresh.size == 0:
            return value, np.inf, None
        gap = (levels - rows @ delta)[fresh]
        chosen = np.concatenate([chosen, fresh[np.argsort(-gap)][:_ROWS]])
    return value, np.inf, None


def _solve(rows, aim, norm, down, up):
    """``min ‖δ‖ : rows δ ≥ aim`` in the box, δ = p − n; multipliers and δ (None if there is no δ)."""
    d = rows.shape[1]
    box = [(0, room if np.isfinite(room) else None) for room in (up if up.size else np.full(d, np.inf))]
    box += [(0, room if np.isfinite(room) else None) for room in (down if down.size else np.full(d, np.inf))]
    A = csc_matrix(np.hstack([-rows, rows]))
    b = -aim
    if norm.code == MAX:  # L1: Σ (p + n)
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
    # No such δ: with a penalty on the rows the multipliers prove by how much.
    slack = csc_matrix(np.concatenate([-np.ones(len(aim)), np.zeros(len(b) - len(aim))])[:, None])
    cost = np.concatenate([cost, [_PENALTY]])
    result = linprog(
        cost, A_ub=hstack([A, slack]).tocsc(), b_ub=b, bounds=[*box, (0, None)], method="highs", options=options
    )
    if result.status != 0:
        return None
    return np.maximum(-result.ineqlin.marginals[: len(aim)], 0.0), None


def _certified(lam, A, c, norm, rounding: Rounding, down, up, reach: float) -> float:
    """The distance to the halfspace ``(Σλa)·δ ≥ Σλc``, in which every solution lies; Σλ = 1 (Lemma E2).

    In a box without end it counts for moves up to ``reach``.
    """
    total = lam.sum()
    if not total > 0:
        return 0.0
    a, level = lam @ A / total, float(lam @ c) / total
    free = safe_radius(level, float(norm.dual_lengths(a[None])[0]), rounding)
    if not up.size:
        return free
    # As ``boxed_radius``: for moves up to ``reach``, no longer than any in the box (Lemma F4).
    rooms = np.maximum(down, up)
    diameter = float(norm.lengths(rooms[None])[0])
    reach = diameter if np.isfinite(diameter) else max(2 * free, reach)
    boxed = norm.box_distance(a, level - slack(rounding, reach) - slope_error(rounding) * reach, down, up)
    return max(free, boxed if np.isfinite(diameter) else min(boxed, reach))
