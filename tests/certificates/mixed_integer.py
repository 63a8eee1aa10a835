"""Radii by mixed-integer programs: a binary for every point that votes, solved by HiGHS, then its linear program."""

import numpy as np
from scipy.optimize import LinearConstraint, linprog, milp

from holdfast.certificates import NeighborProblem

FAR = 4.0  # moves up to here; the constants of the programs grow with it


def milp_radius(problem: NeighborProblem, u, y: int, x) -> float:
    """The smallest move after which the vote may be lost, in L1 or L∞ with a box and relations; infinite beyond FAR."""
    return min((_radius(problem, u, y, x, c, lead) for c, lead in _ways(problem, y)), default=np.inf)


def milp_loses(problem: NeighborProblem, u, y: int, x, at: float) -> bool:
    """Whether the vote may be lost by a move of a size of up to ``at``."""
    for c, lead in _ways(problem, y):
        cost, A, b, low, high, whole, sums = _program(problem, u, y, x, c, lead)
        inside = LinearConstraint(cost[None], -np.inf, at)  # the cost is the size
        found = milp(
            0.0 * cost,
            integrality=whole,
            bounds=(low, high),
            constraints=[LinearConstraint(A, b, np.inf), sums, inside],
        )
        if found.x is not None:
            return True
    return False


def _ways(problem, y):
    """(class, whether it only draws level and has the nearest point): every way in which y does not win."""
    for c in set(problem.labels.tolist()) - {y}:
        yield c, False
        if problem.ties == "nearest":
            yield c, True


def _program(problem, u, y, x, c, lead):
    """Variables: δ (d), t (d or 1), τ, whether each point votes (n), whether it leads (n)."""
    U, T, labels, k = problem.points, problem.T, problem.labels, problem.n_neighbors
    n, d = len(U), T.shape[1]
    n_sizes = 1 if problem.norm.name == "linf" else d
    at_t, at_tau = d, d + n_sizes
    at_in, at_lead = at_tau + 1, at_tau + 1 + n
    total = at_lead + n
    # φ_p = ½‖u − u_p‖² − u_p·Tδ, half the squared distance but for what all points share.
    level, slope = 0.5 * ((U - u) ** 2).sum(axis=1), -(U - u) @ T
    big = 2.0 * (np.abs(slope).sum(axis=1).max() * FAR + np.abs(level).max())
    rows, least = [], []

    def need(least_value, **parts):  # Σ parts ≥ least_value
        row = np.zeros(total)
        for index, factor in parts.values():
            row[index] += factor
        rows.append(row)
        least.append(least_value)
        return row

    for p in range(n):
        inside = need(level[p] - big, tau=(at_tau, 1.0), votes=(at_in + p, -big))  # φ_p ≤ τ if it votes
        inside[:d] -= slope[p]
        outside = need(-level[p], tau=(at_tau, -1.0), votes=(at_in + p, big))  # φ_p ≥ τ if not
        outside[:d] += slope[p]
        need(0.0, votes=(at_in + p, 1.0), leads=(at_lead + p, -1.0))
        if lead and labels[p] == c:
            for j in np.flatnonzero(labels == y):
                first = need(level[p] - level[j] - big, leads=(at_lead + p, -big))  # φ_p ≤ φ_j if it leads
                first[:d] += slope[j] - slope[p]
    for i in range(d):
        for sign in (1.0, -1.0):
            need(0.0, size=(at_t + (i if n_sizes > 1 else 0), 1.0), delta=(i, sign))
    ahead = need(0.0 if lead or (problem.ties == "lowest" and c < y) else 1.0)
    ahead[at_in : at_in + n] = np.where(labels == c, 1.0, np.where(labels == y, -1.0, 0.0))
    if problem.moves.relations is not None:
        A, b = problem.moves.relations
        for a, most in zip(A, b, strict=True):
            need(a @ x - most)[:d] = -a
    count = np.zeros((2, total))
    count[0, at_in : at_in + n], count[1, at_lead : at_lead + n] = 1.0, labels == c
    equal = np.array([k, 1.0 if lead else 0.0])
    down, up = problem.room(x[None], 1)
    low, high = np.full(total, -np.inf), np.full(total, np.inf)
    low[:d], high[:d] = (-down[0], up[0]) if up.size else (-FAR, FAR)
    low[:d], high[:d] = np.maximum(low[:d], -FAR), np.minimum(high[:d], FAR)
    low[at_t:at_tau] = 0.0
    low[at_in:], high[at_in:] = 0.0, 1.0
    if not lead:
        high[at_lead:] = 0.0
    cost = np.zeros(total)
    cost[at_t:at_tau] = 1.0
    A, b = np.array(rows), np.array(least)
    whole = np.zeros(total)
    whole[at_in:] = 1
    return cost, A, b, low, high, whole, LinearConstraint(count, equal, equal)


def _radius(problem, u, y, x, c, lead) -> float:
    """The least cost of the program of one way to lose."""
    cost, A, b, low, high, whole, sums = _program(problem, u, y, x, c, lead)
    found = milp(
        cost, integrality=whole, bounds=(low, high), options={"mip_rel_gap": 1e-9},
        constraints=[LinearConstraint(A, b, np.inf), sums],
    )  # fmt: skip
    if found.x is None:
        return np.inf
    chosen = whole == 1
    low[chosen] = high[chosen] = np.round(found.x[chosen])  # the same choice, without the tolerance of big constants
    exact = linprog(cost, A_ub=-A, b_ub=-b, bounds=np.column_stack([low, high]), method="highs")
    return float(exact.fun) if exact.status == 0 else float(found.fun)
