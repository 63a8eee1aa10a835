"""Answers from definitions: linear and quadratic programs, enumeration, rational numbers."""

from fractions import Fraction

import numpy as np
import quadprog
from scipy.optimize import linprog

from holdfast.certificates import NeighborProblem
from tests.certificates import brute_force as brute


def least_move(A, c, norm, down=None, up=None) -> float:
    """``min ‖δ‖ : A δ ≥ c, −down ≤ δ ≤ up`` by an independent solver; infinite if there is no such δ."""
    A, c = np.atleast_2d(A), np.atleast_1d(c)
    d = A.shape[1]
    down = np.full(d, np.inf) if down is None else down
    up = np.full(d, np.inf) if up is None else up
    if norm == "l2":
        below, above = np.isfinite(down), np.isfinite(up)
        rows = np.vstack([A, np.eye(d)[below], -np.eye(d)[above]])
        levels = np.concatenate([c, -down[below], -up[above]])
        try:
            return float(np.linalg.norm(quadprog.solve_qp(np.eye(d), np.zeros(d), rows.T.copy(), levels)[0]))
        except ValueError:
            return np.inf
    # δ = p − n; L1: Σ (p + n); L∞: p + n ≤ R, the last variable.
    last = np.zeros((len(c), 1))
    rows, levels = np.hstack([-A, A, last]), -c
    cost = np.r_[np.ones(2 * d), 0.0]
    if norm == "linf":
        rows = np.vstack([rows, np.hstack([np.eye(d), np.eye(d), -np.ones((d, 1))])])
        levels, cost = np.r_[levels, np.zeros(d)], np.r_[np.zeros(2 * d), 1.0]
    bounds = [(0, None if np.isinf(v) else v) for v in (*up, *down)]
    solved = linprog(cost, A_ub=rows, b_ub=levels, bounds=[*bounds, (0, None)], method="highs")
    return float(solved.fun) if solved.status == 0 else np.inf


def radius_with_slack(problem: NeighborProblem, u, y, slack: float, x=None) -> float:
    """The smallest move after which a vote is lost whose comparisons may each be wrong by ``slack`` in ``f/2``."""
    U, best = problem.points, np.inf
    for pairs in brute.losing_sets(problem, y):
        if not pairs:
            return 0.0
        b, j = np.array(pairs).T
        A = (U[b] - U[j]) @ problem.T
        c = 0.5 * np.einsum("ij,ij->i", U[b] - U[j], U[b] + U[j] - 2 * u) - slack
        if not np.any(c > 0):
            return 0.0
        still = np.abs(A).max(axis=1) < 1e-13
        if np.any(c[still] > 0):
            continue
        A, c = A[~still], c[~still]
        if np.max(c / brute._dual(problem, A)) < best:
            best = min(best, brute._least(problem, A, c, x, best))
    return best


def fractions(values) -> list:
    """An array as nested lists of exact numbers."""
    return [fractions(v) for v in values] if np.ndim(values) else Fraction(float(values))


def dot(x, y) -> Fraction:
    """The exact product of two vectors."""
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def order_bound(E: dict, k: int, classes, rank=None):
    """LB by its definition: ``E[l]`` is the list of ``ε_lj`` over the targets j, ``classes[l]`` the class of l."""
    others = sorted({classes[l] for l in E})
    inf = float("inf")
    if not others:
        return inf

    def nth(values, n):
        values = sorted(values)
        return values[n - 1] if n <= len(values) else inf

    def e(l, q):
        return sorted(E[l], reverse=True)[q] if q < len(E[l]) else 0

    bounds = []
    for q in range(k // 2 + 1):
        b = max(q, -(-(k - q) // len(others)), 1) if rank is None else rank(q, k, len(others))
        overall = nth([e(l, q) for l in E], k - q)
        by_class = min(nth([e(l, q) for l in E if classes[l] == c], b) for c in others)
        bounds.append(max(overall, by_class))
    return min(bounds)
