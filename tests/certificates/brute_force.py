"""Certificates by enumeration: every set of k nearest points, each with a program of an independent solver."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import quadprog
from scipy.optimize import linprog

from holdfast.certificates import ENGINES, L1, L2, Ellipsoid, LInf, NeighborProblem, Threat
from holdfast.certificates.columns import Encoding

NORMS = {
    "l2": lambda d: L2(),
    "linf": lambda d: LInf(),
    "l1": lambda d: L1(),
    "ellipsoid": lambda d: Ellipsoid(np.diag(np.linspace(0.5, 2.0, d)) + 0.2),
}


# The engines that take votes of neighbours, by name.
engines = {engine.name: engine for engine in ENGINES if engine.name != "closed_form"}


def make_problem(points, labels, T, n_neighbors=1, norm=None, *, unit=None, lower=None, upper=None, frozen=None,
                 only_up=None, only_down=None, relations=None, **options) -> NeighborProblem:  # fmt: skip
    """A problem from the loose arguments of a threat."""
    threat = Threat(
        norm or L2(), unit=unit, lower=lower, upper=upper, frozen=frozen, only_up=only_up, only_down=only_down
    )
    moves = replace(threat.bind(Encoding(np.shape(T)[1])), relations=relations)
    return NeighborProblem(points, labels, T, n_neighbors, moves, **options)


def votes(problem: NeighborProblem, queries) -> np.ndarray:
    """The classes elected at the queries."""
    return problem.vote(np.asarray(queries, dtype=float))


def metric(kind: str, d: int, rng) -> np.ndarray:
    """T of a kind."""
    if kind == "identity":
        return np.eye(d)
    if kind == "zero":
        return np.zeros((2, d))
    if kind == "rank-deficient":
        return rng.normal(size=(d, 1)) @ rng.normal(size=(1, d)) + rng.normal(size=(d, 1)) @ rng.normal(size=(1, d))
    return rng.normal(size=(d, d))


def random_problem(rng, k, C, kind="random", norm="l2", n=None, d=3, **options):
    """A small problem, a few queries with their inputs, and what they are predicted to be."""
    n = max(k + 3, 8) if n is None else n
    T = metric(kind, d, rng)
    X, labels = rng.normal(size=(n, d)), rng.integers(C, size=n)
    labels[: min(C, n)] = np.arange(C)[: min(C, n)]
    if kind == "zero":  # points that differ where nothing moves
        points, start = rng.normal(size=(n, 2)), rng.normal(size=(3, 2))
        x = rng.normal(size=(3, d))
    else:
        x = rng.normal(size=(3, d)) * 0.7
        points, start = X @ T.T, x @ T.T
    problem = make_problem(points, labels, T, n_neighbors=k, norm=NORMS[norm](d), n_classes=C, **options)
    return problem, start, x, votes(problem, start)


def losing_sets(problem: NeighborProblem, y: int):
    """``(nearer, farther)`` index pairs of every way in which the k nearest do not elect y, or elect the goal."""
    n, k, labels = len(problem.points), problem.n_neighbors, problem.labels

    def lost(elected) -> bool:
        return elected != y if problem.goal is None else elected == problem.goal

    for B in combinations(range(n), k):
        tally = np.bincount(labels[list(B)], minlength=problem.n_classes)
        tied = np.flatnonzero(tally == tally.max())
        outside = [(b, j) for b in B for j in range(n) if j not in B]
        if len(tied) == 1 or problem.ties == "lowest":
            if lost(tied[0]):
                yield outside
        else:
            inner = [b for b in B if labels[b] in tied]
            for first in inner:
                if lost(labels[first]):
                    yield outside + [(first, b) for b in inner if b != first]


def exact_radius(problem: NeighborProblem, u, y, x=None) -> float:
    """The smallest move, over all the losing sets (closed: ties count as lost)."""
    U, T = problem.points, problem.T
    free = problem.free
    best = np.inf
    for pairs in losing_sets(problem, y):
        if not pairs:
            return 0.0
        b, j = np.array(pairs).T
        A = (U[b] - U[j]) @ T[:, free]
        c = 0.5 * np.einsum("ij,ij->i", U[b] - U[j], U[b] + U[j] - 2 * u)
        still = np.abs(A).max(axis=1) < 1e-13
        if np.any(c[still] > 1e-13):
            continue
        A, c = A[~still], c[~still]
        if not np.any(c > 0):
            return 0.0
        lengths = _dual(problem, A)
        if np.max(c / lengths) >= best:
            continue
        best = min(best, _least(problem, A, c, x, best))
    return best


def _gram(norm, d) -> np.ndarray:
    """``G`` with ``‖δ‖² = δᵀ G δ``, from the lengths of sums of two unit vectors alone."""
    eye = np.eye(d)
    squares = norm.lengths((eye[:, None] + eye).reshape(-1, d)).reshape(d, d) ** 2
    alone = np.diagonal(squares) / 4
    return (squares - alone - alone[:, None]) / 2


def _dual(problem, A):
    if problem.norm.quadratic:
        inverse = np.linalg.inv(_gram(problem.moves.free_norm, A.shape[1]))
        return np.sqrt(np.einsum("id,de,ie->i", A, inverse, A))
    return {"linf": np.abs(A).sum(1), "l1": np.abs(A).max(1)}[problem.norm.name]


def _least(problem, A, c, x, best):
    d = A.shape[1]
    down, up = problem.room(None if x is None else x[None], 1)
    if problem.moves.relations is not None:  # B(x + δ) ≤ b as −B δ ≥ B x − b; no unit, nothing frozen
        B, b = problem.moves.relations
        A, c = np.vstack([A, -B]), np.concatenate([c, B @ x - b])
    if problem.norm.quadratic:
        rows, levels = [A], [c]
        if up.size:
            for room, sign in ((up[0], -1.0), (down[0], 1.0)):
                finite = np.isfinite(room)
                rows.append(sign * np.eye(d)[finite])
                levels.append(-room[finite])
        G = _gram(problem.moves.free_norm, d)
        try:
            solved = quadprog.solve_qp(G, np.zeros(d), np.vstack(rows).T.copy(), np.concatenate(levels))
        except ValueError:
            return np.inf
        return float(np.sqrt(max(2 * solved[1], 0.0)))
    box = [(-a, b) for a, b in zip(down[0], up[0], strict=True)] if up.size else [(None, None)] * d
    if problem.norm.name == "linf":
        ones = np.ones((d, 1))
        rows = np.vstack(
            [np.hstack([-A, np.zeros((len(c), 1))]), np.hstack([np.eye(d), -ones]), np.hstack([-np.eye(d), -ones])]
        )
        cost, levels, bounds = np.r_[np.zeros(d), 1.0], np.r_[-c, np.zeros(2 * d)], [*box, (0, None)]
    else:
        eye = np.eye(d)
        rows = np.vstack([np.hstack([-A, np.zeros_like(A)]), np.hstack([eye, -eye]), np.hstack([-eye, -eye])])
        cost, levels, bounds = np.r_[np.zeros(d), np.ones(d)], np.r_[-c, np.zeros(2 * d)], box + [(0, None)] * d
    solved = linprog(cost, A_ub=rows, b_ub=levels, bounds=bounds, method="highs")
    return float(solved.fun) if solved.status == 0 else np.inf
