"""Linear classifiers: a closed form, and one small program for each row and class under relations."""

import numpy as np

from holdfast.certificates.engines.base import Engine
from holdfast.certificates.norms import Norm
from holdfast.certificates.programs import shortest
from holdfast.certificates.questions import Bounds, Budget, LinearProblem, Problem, score_rounding

_ERROR = 1e-13  # relative error of a combination of rows: sums of some hundreds of terms


def with_relations(A, missing, aim, growth, norm: Norm, down, up, rows: np.ndarray, levels: np.ndarray):
    """Certified distances to ``A[t] · e ≥ missing[t]`` under ``rows · e ≤ levels[t]``, and moves to ``aim[t]``.

    The program of each row gives multipliers ``μ ≥ 0`` of the relations. Every e that is possible meets the one row
    ``(A − Σ μ_k rows_k) · e ≥ missing − Σ μ_k levels_k``, whose distance is certified, whatever the multipliers are.

    Parameters
    ----------
    A : ndarray of shape (m, n_free)
        In units, as everything here.
    missing, aim, growth : ndarrays of shape (m,)
        The level that is certified, the one that a witness aims at, and the error for each unit of a move.
    norm : Norm
        Of the free inputs.
    down, up : ndarrays of shape (m, n_free) or (m, 0)
    rows : ndarray of shape (n_relations, n_free)
    levels : ndarray of shape (m, n_relations)

    Returns
    -------
    radius : ndarray of shape (m,)
    step : ndarray of shape (m, n_free)
        NaN where the program has no solution.
    """
    m = len(A)
    multipliers, step = np.zeros((m, len(rows))), np.full(A.shape, np.nan)
    for t in np.flatnonzero(missing > 0):
        room = (down[t], up[t]) if up.size else (np.full(A.shape[1], np.inf),) * 2
        found = shortest(norm, np.vstack([A[t], -rows]), np.append(aim[t], -levels[t]), *room)
        if found.multipliers[0] > 0:
            multipliers[t] = found.multipliers[1:] / found.multipliers[0]
        if found.move is not None:
            step[t] = found.move
    combined = A - multipliers @ rows
    level = missing - np.einsum("mk,mk->m", multipliers, levels)
    sizes = np.abs(A) + multipliers @ np.abs(rows)
    level -= _ERROR * (np.abs(missing) + np.einsum("mk,mk->m", multipliers, np.abs(levels)))
    error = growth + _ERROR * norm.absolute_lengths(sizes) + norm.dual_error(sizes)
    slope = norm.dual_lengths(combined) * (1 + 1e-14) + error
    radius = np.where(level > 0, np.divide(level, slope, out=np.full(m, np.inf), where=slope > 0), 0.0) * (1 - 1e-15)
    norm.box_distances(combined, level, aim, error, down, up, radius, np.empty_like(step))
    return radius, step


_PROGRAM = 3000  # units of work of a program with relations: some milliseconds
_FEWEST = 4  # programs that a row may take whatever the budget


def _closed_form(
    problem: LinearProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    *,
    inputs: np.ndarray | None,
    n_jobs: int | None,
    budget: Budget,
) -> Bounds:
    """``r = min_c (u_y − u_c) / ‖T_c − T_y‖*``: one halfspace per class (Lemma R2).

    Relations enter through a program for each row whose shortest move breaks one (Lemma V3).
    Inside a box the distance to a halfspace is that of Lemma R4; for the ellipsoid the box is left out below, which
    is sound, and the two bounds may then differ.
    """
    m, C = len(queries), problem.n_classes
    norm, columns = problem.moves.free_norm, problem.moves.in_units(problem.T)
    error, rate = score_rounding(problem, inputs, m)  # of each score: (m, C), and its growth with a move (C,)
    down, up = problem.room(inputs, m)
    relations = _relations(problem, inputs)
    limited = problem.moves.boxed or relations is not None
    lower, move = np.full(m, np.inf), np.full((m, columns.shape[1]), np.nan)
    rival, far = prediction.copy(), np.full(m, np.nan)  # the class of least radius, and the length of a move to it
    score = np.take_along_axis(queries, prediction[:, None], axis=1)[:, 0]  # of the predicted class
    score_error = np.take_along_axis(error, prediction[:, None], axis=1)[:, 0]
    programs = np.full(m, max(_FEWEST, budget.work // _PROGRAM))  # that each row may still take
    present, at = np.unique(prediction, return_inverse=True)  # rows of one class share their halfspaces
    for c in range(C):
        normals = columns[c] - columns[present]
        level = score - queries[:, c]
        missing = level - error[:, c] - score_error
        slope, growth = norm.dual_lengths(normals)[at], rate[c] + rate[prediction] + norm.dual_error(normals)[at]
        with np.errstate(divide="ignore", invalid="ignore"):
            radius = np.where(missing > 0, missing / (slope * (1 + 1e-14) + growth) * (1 - 1e-15), 0.0)
        # A witness goes beyond the boundary by twice the error of the scores: however they round, the answer changes.
        reach = np.divide(level, slope, out=np.zeros(m), where=slope > 0)
        aim = level + 2.0 * (level - missing + growth * reach)
        length = np.divide(aim, slope, out=np.full(m, np.nan), where=slope > 0)
        other = prediction != c
        if limited:
            A = normals[at]
            step = norm.steepest(A) * length[:, None]
            norm.box_distances(A, missing, aim, growth, down, up, radius, step)
            if relations is not None:
                candidates = other & (radius < lower)
                _keep_relations(relations, A, missing, aim, growth, norm, down, up, candidates, programs, radius, step)
        better = other & (radius < lower)
        lower[better], rival[better], far[better] = radius[better], c, length[better]
        if limited:
            move[better] = step[better]
    if relations is not None:
        budget.note(np.where(programs < 0, budget.operations, 0))
    if not limited:
        move = norm.steepest(columns[rival] - columns[prediction]) * far[:, None]
    return problem.bounds(queries, prediction, inputs, lower, move)


def _relations(problem: LinearProblem, inputs: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Relations of the free inputs in units, and how much of each is left at every input: (n, n_free), (m, n)."""
    if problem.moves.relations is None or inputs is None:
        return None
    return problem.moves.in_units(problem.moves.relations[0]), problem.moves.relation_room(inputs)


def _keep_relations(relations, A, missing, aim, growth, norm, down, up, candidates, programs, radius, step) -> None:
    """Set radius and step of the candidates, a mask of rows, where the step without relations breaks one.

    It takes one of the ``programs`` of a row, of which −1 is left where there were too few.
    """
    rows, levels = relations
    with np.errstate(invalid="ignore"):
        breaks = (step @ rows.T > levels).any(axis=1) | ~np.isfinite(step).all(axis=1)
    at = np.flatnonzero(candidates & breaks & (missing > 0))
    programs[at] = np.maximum(programs[at] - 1, -1)
    at = at[programs[at] >= 0]
    if not at.size:
        return
    room = (down[at], up[at]) if up.size else (down, up)
    limited, step[at] = with_relations(A[at], missing[at], aim[at], growth[at], norm, *room, rows, levels[at])
    radius[at] = np.maximum(radius[at], limited)


def _handles(problem: Problem) -> bool:
    return isinstance(problem, LinearProblem)


closed_form = Engine("closed_form", _closed_form, _handles, tight=True, fast=True)
