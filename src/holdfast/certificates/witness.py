"""A witness counts only if it changes the vote: every move is looked at again before it is reported."""

import numpy as np

from holdfast.certificates.problem import Bounds, NeighborProblem
from holdfast.certificates.votes import votes


def verified(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    inputs: np.ndarray | None,
    lower: np.ndarray,
    moves: np.ndarray,
) -> Bounds:
    """Bounds from certified radii and proposed moves of the free inputs (m, n_free), NaN where there is none.

    A move is clipped to the box and kept if the vote at ``u + Tδ`` is no longer for the prediction. A query
    whose vote is for another class at once has bounds 0; a certified radius never passes a witness.
    """
    m = len(queries)
    down, up = problem.room(inputs, m)
    if up.size:
        moves = np.clip(moves, -down, up)
    delta = problem.spread(moves)
    changed = differs(problem, queries + np.nan_to_num(delta) @ problem.T.T, prediction)
    kept = changed & np.isfinite(delta).all(axis=1)
    upper = np.full(m, np.inf)
    upper[kept] = problem.free_norm.lengths(moves[kept])
    delta[~kept] = np.nan
    wrong = differs(problem, queries, prediction)
    lower = np.where(wrong, 0.0, np.minimum(lower, upper))
    upper[wrong], delta[wrong] = 0.0, 0.0
    return Bounds(lower, upper, delta)


def differs(problem: NeighborProblem, queries: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Whether the vote at each query is for another class than ``prediction``."""
    return votes(problem, queries) != prediction
