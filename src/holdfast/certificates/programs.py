"""The shortest move into a polyhedron: ``min ‖e‖ : A e ≥ b, −down ≤ e ≤ up``, a program for each kind of norm."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import linprog, lsq_linear, nnls

if TYPE_CHECKING:
    from holdfast.certificates.norms import Norm

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


def shortest(norm: "Norm", A: np.ndarray, b: np.ndarray, down: np.ndarray, up: np.ndarray) -> Shortest:
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
    solution = norm.program(A, b, down, up)
    move = solution.move
    if move is not None:
        move = np.clip(move, -down, up)
        size = np.abs(A) @ np.abs(move) + np.abs(b)
        if (A @ move < b - _FEASIBLE * size).any():
            move = None
    return Shortest(move, np.maximum(solution.multipliers, 0.0) / scale, solution.sides)


def least_distance(to_input: np.ndarray, A, b, down, up) -> Shortest:
    """``e = to_input z``, least ``‖z‖₂``: ``min ‖[Gᵀ; hᵀ] w − (0, 1)‖, w ≥ 0`` (Lawson and Hanson 1974, chapter 23)."""
    n = A.shape[1]
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


def min_sum(A, b, down, up) -> Shortest:
    """``min Σ (p + q)``, ``e = p − q``."""
    n = A.shape[1]
    bounds = [*((0.0, _limit(u)) for u in up), *((0.0, _limit(d)) for d in down)]
    solution, feasible = _linear_program(np.ones(2 * n), np.hstack([-A, A]), -b, bounds, len(b))
    if solution is None:
        return Shortest(None, np.zeros(len(b)), np.zeros(n))
    upper = np.maximum(-solution.upper.marginals, 0.0)
    move = solution.x[:n] - solution.x[n : 2 * n] if feasible else None
    return Shortest(move, -solution.ineqlin.marginals[: len(b)], upper[:n] - upper[n : 2 * n])


def min_largest(A, b, down, up) -> Shortest:
    """``min t``, ``−t ≤ e ≤ t``."""
    rows, n = A.shape
    eye, one = np.eye(n), np.ones((n, 1))
    matrix = np.vstack([np.hstack([-A, np.zeros((rows, 1))]), np.hstack([eye, -one]), np.hstack([-eye, -one])])
    bounds = [*zip(map(_limit, -down), map(_limit, up), strict=True), (0.0, None)]
    solution, feasible = _linear_program(
        np.append(np.zeros(n), 1.0), matrix, np.append(-b, np.zeros(2 * n)), bounds, rows
    )
    if solution is None:
        return Shortest(None, np.zeros(rows), np.zeros(n))
    upper, lower = np.maximum(-solution.upper.marginals, 0.0), np.maximum(solution.lower.marginals, 0.0)
    sides = upper[:n] - np.where(np.isfinite(down), lower[:n], 0.0)
    return Shortest(solution.x[:n] if feasible else None, -solution.ineqlin.marginals[:rows], sides)


def _linear_program(cost, matrix, level, bounds, rows: int):
    """``min cost · x : matrix x ≤ level``, and True; where there is no x, the least violation of the first rows."""
    solution = linprog(cost, A_ub=matrix, b_ub=level, bounds=bounds, method="highs")
    if solution.status == 0:
        return solution, True
    # The weights of the least violation, s with A e + s ≥ b, prove that there is no move.
    violation = np.zeros((len(level), 1))
    violation[:rows] = -1.0
    cost, bounds = np.append(np.zeros(len(cost)), 1.0), [*bounds, (0.0, None)]
    solution = linprog(cost, A_ub=np.hstack([matrix, violation]), b_ub=level, bounds=bounds, method="highs")
    return (solution if solution.status == 0 else None), False


def _limit(room: float) -> float | None:
    return float(room) if np.isfinite(room) else None


def size_at_least(
    norm: "Norm",
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
    farthest = float(norm.diameter(down[None], up[None])[0])
    if np.isfinite(farthest):  # every move of the box is at most so long
        reach = np.maximum(row * up, -row * down)
        blur = rounding * float((weights @ np.abs(A)) @ np.maximum(down, up) + weights @ np.abs(needed))
        if weights @ needed - drift * farthest > reach.sum() + 4 * blur:
            return np.inf
    return float(bound)


def non_negative_least_squares(E: np.ndarray, f: np.ndarray) -> np.ndarray | None:
    """``argmin ‖E w − f‖₂ : w ≥ 0``; None if no solver finds one.

    ``nnls`` of scipy before 1.15 diverges on some degenerate problems: an answer that is worse than w = 0 is not taken,
    and the problem is solved again as one with bounds.

    Parameters
    ----------
    E : ndarray of shape (m, n)
    f : ndarray of shape (m,)

    Returns
    -------
    ndarray of shape (n,) or None

    Examples
    --------
    >>> non_negative_least_squares(np.eye(2), np.array([1.0, -1.0])).tolist()
    [1.0, 0.0]
    """
    with np.errstate(all="ignore"):
        try:
            w = nnls(E, f, maxiter=30 * E.shape[1])[0]
        except RuntimeError:  # too many iterations
            w = np.full(E.shape[1], np.nan)
        if not np.linalg.norm(E @ w - f) <= np.linalg.norm(f) * (1.0 + 1e-9):
            w = np.maximum(lsq_linear(E, f, bounds=(0.0, np.inf), method="bvls", tol=1e-14).x, 0.0)
        return w if np.linalg.norm(E @ w - f) <= np.linalg.norm(f) * (1.0 + 1e-9) else None
