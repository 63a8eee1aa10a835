"""The shortest move into a polyhedron: ``min ‖e‖ : A e ≥ b, −down ≤ e ≤ up``, by one program."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from holdfast.certificates.norms import L1, Norm
from holdfast.numerics.least_squares import non_negative_least_squares

_FEASIBLE = 1e-7  # violation of a row that a solution may have, relative to its size; predict checks the rest
_ROUNDING = 2.0**-52  # a term of a sum, with its product


class Shortest(NamedTuple):
    """The solution of a program.

    Attributes
    ----------
    move : ndarray of shape (n,) or None
        None: there is none, or the solver gave up.
    multipliers, sides : ndarrays of shapes (n_rows,) and (n,)
        Weights of the rows, at least 0, and of the sides of the box: positive for the upper one, negative for the
        lower one. Any weights bound the size of a move from below (Lemma E2).
    """

    move: np.ndarray | None
    multipliers: np.ndarray
    sides: np.ndarray


def shortest(norm: Norm, A: np.ndarray, b: np.ndarray, down: np.ndarray, up: np.ndarray) -> Shortest:
    """The shortest move with ``A e ≥ b`` in a box.

    Parameters
    ----------
    norm : Norm
    A, b : ndarrays of shapes (n_rows, n) and (n_rows,)
    down, up : ndarrays of shape (n,)
        The room of each coordinate; infinite where it has no limit.
    """
    if not A.shape[1]:  # nothing moves, of which a program has nothing to say
        return Shortest(None, np.zeros(len(b)), np.zeros(0))
    # Rows of length 1: the tolerances of the solvers are absolute.
    scale = np.linalg.norm(A, axis=1)
    scale = np.where(scale > 0, scale, 1.0)
    A, b = A / scale[:, None], b / scale
    solve = _quadratic if norm.quadratic else _linear
    solution = solve(norm, A, b, down, up)
    move = solution.move
    if move is not None:
        move = np.clip(move, -down, up)
        size = np.abs(A) @ np.abs(move) + np.abs(b)
        if (A @ move < b - _FEASIBLE * size).any():
            move = None
    return Shortest(move, np.maximum(solution.multipliers, 0.0) / scale, solution.sides)


def _quadratic(norm: Norm, A, b, down, up) -> Shortest:
    """A least-distance problem (Lawson and Hanson, 1974, chapter 23): ``min ‖[Gᵀ; hᵀ] w − (0, 1)‖, w ≥ 0``."""
    n = A.shape[1]
    to_input = norm.coordinates(np.eye(n), np.eye(n), reduce=False).to_input  # e = to_input z, ‖e‖ = ‖z‖₂
    above, below = np.flatnonzero(np.isfinite(up)), np.flatnonzero(np.isfinite(down))
    G = np.vstack([A @ to_input, -to_input[above], to_input[below]])
    h = np.concatenate([b, -up[above], -down[below]])
    # Both parts of the residual should be of one size, so lengths are measured in units of the farthest row.
    unit = max(float(np.max(b, initial=0.0)), 1e-300)
    weights, sides = np.zeros(len(b)), np.zeros(n)
    w = non_negative_least_squares(np.vstack([G.T, h / unit]), np.append(np.zeros(n), 1.0))
    if w is None:
        return Shortest(None, weights, sides)
    residual = np.append(G.T @ w, (h / unit) @ w - 1.0)
    weights = w[: len(b)]
    sides[above] += w[len(b) : len(b) + above.size]
    sides[below] -= w[len(b) + above.size :]
    if -residual[-1] <= 1e-14:
        return Shortest(None, weights, sides)
    return Shortest(to_input @ (residual[:n] / -residual[-1]) * unit, weights, sides)


def _linear(norm: Norm, A, b, down, up) -> Shortest:
    """L1: ``min Σ (p + q)``, ``e = p − q``; L∞: ``min t``, ``−t ≤ e ≤ t``."""
    rows, n = A.shape
    bounds: list[tuple[float | None, float | None]]
    if isinstance(norm, L1):
        cost, matrix, level = np.ones(2 * n), np.hstack([-A, A]), -b
        bounds = [*((0.0, _limit(u)) for u in up), *((0.0, _limit(d)) for d in down)]
    else:
        cost = np.append(np.zeros(n), 1.0)
        eye, one = np.eye(n), np.ones((n, 1))
        matrix = np.vstack([np.hstack([-A, np.zeros((rows, 1))]), np.hstack([eye, -one]), np.hstack([-eye, -one])])
        level = np.append(-b, np.zeros(2 * n))
        bounds = [*zip(map(_limit, -down), map(_limit, up), strict=True), (0.0, None)]
    solution = linprog(cost, A_ub=matrix, b_ub=level, bounds=bounds, method="highs")
    feasible = solution.status == 0
    if not feasible:  # the weights of the least violation, s with A e + s ≥ b, prove that there is no move
        violation = np.zeros((len(level), 1))
        violation[:rows] = -1.0
        cost, bounds = np.append(np.zeros(len(cost)), 1.0), [*bounds, (0.0, None)]
        solution = linprog(cost, A_ub=np.hstack([matrix, violation]), b_ub=level, bounds=bounds, method="highs")
        if solution.status != 0:
            return Shortest(None, np.zeros(rows), np.zeros(n))
    x = solution.x[: 2 * n] if isinstance(norm, L1) else solution.x[:n]
    move = x[:n] - x[n:] if isinstance(norm, L1) else x
    upper, lower = -solution.upper.marginals, solution.lower.marginals
    if isinstance(norm, L1):
        sides = np.maximum(upper[:n], 0.0) - np.maximum(upper[n : 2 * n], 0.0)
    else:
        sides = np.maximum(upper[:n], 0.0) - np.where(np.isfinite(down), np.maximum(lower[:n], 0.0), 0.0)
    return Shortest(move if feasible else None, -solution.ineqlin.marginals[:rows], sides)


def _limit(room: float) -> float | None:
    return float(room) if np.isfinite(room) else None


def size_at_least(
    norm: Norm,
    A: np.ndarray,
    needed: np.ndarray,
    growth: np.ndarray,
    solution: Shortest,
    down: np.ndarray,
    up: np.ndarray,
) -> float:
    """A bound on every move e of the box with ``a_i · e ≥ needed_i − growth_i ‖e‖``, from any weights (Lemma E2).

    Weighted by λ and by the weights of the sides, the rows add up to
    ``(Σλa − sides) · e + Σλ growth ‖e‖ ≥ Σλ needed − Σ |side_i| room_i``. Without the sides, a sum that the whole box
    does not reach shows that there is no such move: infinite.
    """
    weights, sides = solution.multipliers, solution.sides
    if not weights.any():
        return 0.0
    total = weights.sum()
    weights, sides = weights / total, sides / total
    room = np.where(sides > 0, up, down)
    taken = np.where(sides != 0, np.abs(sides) * np.where(np.isfinite(room), room, 0.0), 0.0)
    row = weights @ A
    rounding = _ROUNDING * (len(weights) + len(sides) + 8)  # of a sum of so many terms, relative to their sizes
    level = weights @ needed - taken.sum() - rounding * (weights @ np.abs(needed) + taken.sum())
    drift = float(weights @ growth)
    sizes = (weights @ np.abs(A) + np.abs(sides))[None]
    blur = rounding * float(norm.dual_lengths(sizes)[0]) + float(norm.dual_error(sizes)[0])
    slope = float(norm.dual_lengths((row - sides)[None])[0]) * (1 + 1e-12) + blur + drift
    bound = max(level / slope * (1 - 1e-15), 0.0) if slope > 0 else (np.inf if level > 0 else 0.0)
    farthest = float(norm.lengths(np.maximum(down, up)[None])[0]) if norm.uses_box else np.inf
    if np.isfinite(farthest):  # every move of the box is at most so long
        reach = np.maximum(row * up, -row * down)
        blur = rounding * float((weights @ np.abs(A)) @ np.maximum(down, up) + weights @ np.abs(needed))
        if weights @ needed - drift * farthest > reach.sum() + 4 * blur:
            return np.inf
    return float(bound)
