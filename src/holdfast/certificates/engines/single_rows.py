"""L1 and L∞: moves that one halfspace needs, where a search ended with longer ones."""

import numpy as np

from holdfast.certificates.certificate import meet
from holdfast.certificates.problems import Bounds, NeighborProblem

_OPPONENTS = 8  # nearest points of other classes that are tried
_BEYOND = 1.0 + 1e-9  # how far a move goes, relative to the distance of the halfspace


def single_row_moves(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    inputs: np.ndarray | None,
    found: Bounds,
    at: float | None,
) -> Bounds:
    """``δ = ε_lj · steepest(a_lj)``: the shortest move after which l is no farther than j, if that changes the vote.

    In L1 it moves one feature only, in L∞ all alike: the solution of a quadratic program that stands for the norm comes
    near it, but only as near as its precision. Every move is checked by the vote, so nothing rests on it. Where the
    verdict at the size ``at`` is enough, only rows without one are looked at.
    """
    decided = meet(found.lower, found.upper) | (False if at is None else (found.lower >= at) | (found.upper <= at))
    loose = np.flatnonzero(~decided)
    if not loose.size:
        return found
    norm, columns = problem.moves.free_norm, problem.moves.in_units(problem.T)
    if columns.shape[1] == 0:  # no feature is free
        return found
    moves = np.full((len(queries), columns.shape[1]), np.nan)
    for t in loose:
        D = np.sum((problem.points - queries[t]) ** 2, axis=1)
        own = problem.labels == prediction[t]
        others, targets = (np.flatnonzero(mask) for mask in (~own, own))
        others = others[np.argsort(D[others], kind="stable")][:_OPPONENTS]
        targets = targets[np.argsort(D[targets], kind="stable")][: max(problem.n_neighbors, _OPPONENTS)]
        if not others.size or not targets.size:
            continue
        A = problem.slopes[others][:, None] - problem.slopes[targets]
        slope = norm.dual_lengths(A.reshape(-1, A.shape[2])).reshape(A.shape[:2])
        c = 0.5 * (D[others][:, None] - D[targets])
        size = np.divide(c, slope, out=np.zeros_like(c), where=slope > 0)
        # Each size, with the row that needs it: a vote of several asks for fewer rows than all.
        steps = norm.steepest(A.reshape(-1, A.shape[2])) * (_BEYOND * size.reshape(-1, 1))
        tried = np.flatnonzero((size.ravel() > 0) & (size.ravel() < found.upper[t]))
        changed = problem.lost(problem.vote(queries[t] + steps[tried] @ columns.T), prediction[t])
        if changed.any():
            hit = tried[changed]
            moves[t] = steps[hit[np.argmin(size.ravel()[hit])]]
    other = problem.bounds(queries, prediction, inputs, found.lower, moves)
    better = other.upper < found.upper
    return Bounds(
        found.lower, np.where(better, other.upper, found.upper), np.where(better[:, None], other.delta, found.delta)
    )
