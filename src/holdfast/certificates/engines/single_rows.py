"""L1 and L∞: the shortest moves into single halfspaces, where a search ended with longer moves."""

import numpy as np

from holdfast.certificates.certificate import meet
from holdfast.certificates.problems import Bounds, Budget, NeighborProblem

_OPPONENTS = 8  # nearest points of other classes that are tried
_BEYOND = 1.0 + 1e-9  # how far a move goes, relative to the distance of the halfspace


def single_row_moves(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    inputs: np.ndarray | None,
    bounds: Bounds,
    budget: Budget,
) -> Bounds:
    """``δ = ε_lj · steepest(a_lj)``: the shortest move after which l is no farther than j, if that changes the vote.

    In L1 it moves one feature only, in L∞ all by the same size; the quadratic program that approximates the norm finds
    it only up to its own precision. Every move is checked by the vote, so no bound rests on it. For a verdict at one
    size, only rows without one are tried. The shortest moves come first, as far as a quarter of the budget goes.
    """
    at, lower, upper = budget.at, bounds.lower, bounds.upper
    decided = meet(lower, upper) | (False if at is None else (lower >= at) | (upper <= at))
    loose = np.flatnonzero(~decided)
    if not loose.size:
        return bounds
    norm, columns = problem.moves.free_norm, problem.moves.in_units(problem.T)
    if columns.shape[1] == 0:  # no feature is free
        return bounds
    moves = np.full((len(queries), columns.shape[1]), np.nan)
    vote = len(problem.points) * (problem.points.shape[1] // 4 + 8)
    most = max(_OPPONENTS, budget.operations // (4 * vote))
    for t in loose:
        D = np.sum((problem.points - queries[t]) ** 2, axis=1)
        predicted = problem.labels == prediction[t]
        others, targets = (np.flatnonzero(mask) for mask in (~predicted, predicted))
        others = others[np.argsort(D[others], kind="stable")][:_OPPONENTS]
        targets = targets[np.argsort(D[targets], kind="stable")][: max(problem.n_neighbors, _OPPONENTS)]
        if not others.size or not targets.size:
            continue
        A = problem.slopes[others][:, None] - problem.slopes[targets]
        slope = norm.dual_lengths(A.reshape(-1, A.shape[2])).reshape(A.shape[:2])
        c = 0.5 * (D[others][:, None] - D[targets])
        size = np.divide(c, slope, out=np.zeros_like(c), where=slope > 0)
        # One move for each pair: the vote may change at any of them, as it needs only some of the pairs.
        steps = norm.steepest(A.reshape(-1, A.shape[2])) * (_BEYOND * size.reshape(-1, 1))
        tried = np.flatnonzero((size.ravel() > 0) & (size.ravel() < upper[t]))
        if tried.size > most:
            tried = tried[np.argsort(size.ravel()[tried], kind="stable")[:most]]
        changed = problem.lost(problem.vote(queries[t] + steps[tried] @ columns.T), prediction[t])
        if changed.any():
            hit = tried[changed]
            moves[t] = steps[hit[np.argmin(size.ravel()[hit])]]
    single = problem.bounds(queries, prediction, inputs, lower, moves)
    better = single.upper < upper
    return Bounds(lower, np.where(better, single.upper, upper), np.where(better[:, None], single.delta, bounds.delta))
