"""Linear models: the closest point at which a given class has the largest score."""

import numpy as np

from holdfast.certificates.problems import LinearProblem
from holdfast.certificates.programs import shortest, size_at_least
from holdfast.certificates.rounding import score_rounding
from holdfast.certificates.voting import LinearVoter
from holdfast.explanations.question import Question


def largest_score(question: Question, rows: np.ndarray, target: int) -> tuple[np.ndarray, np.ndarray]:
    """``min ‖δ‖ : (T_c − T_j) · δ ≥ s_j − s_c + slack ‖T_c − T_j‖*`` for every class j ≠ c.

    One polyhedron (Lemma R2 for every pair of classes, Lemma K3), where all steps are affine. The point is proposed a
    little beyond every row, by twice the rounding of the scores (Lemma F5); the bound counts that rounding against
    itself.

    Returns
    -------
    lower : ndarray of shape (m,)
    points : ndarray of shape (m, d)
        NaN where the program has no solution.
    """
    voter = question.voter
    assert isinstance(voter, LinearVoter)
    problem, alpha, beta = voter.problem(voter.fold.before, question.moves).to_sound_range()
    assert isinstance(problem, LinearProblem)
    queries, moves = alpha * voter.fold(rows), problem.moves
    norm, columns = moves.free_norm, moves.in_units(problem.T)
    error, rate = score_rounding(problem, rows, len(rows))
    down, up = moves.room(rows)
    others = np.flatnonzero(np.arange(problem.n_classes) != target)
    A = columns[target] - columns[others]
    held = question.held(problem.T[target] - problem.T[others])
    growth = rate[target] + rate[others]
    lower, step = np.zeros(len(rows)), np.full((len(rows), columns.shape[1]), np.nan)
    for t, (u, row_error) in enumerate(zip(queries, error, strict=True)):
        level, blur = u[others] - u[target], row_error[others] + row_error[target]
        extra, limits = moves.relation_halfspaces(rows[t])
        goal = np.concatenate([level + held + 2.0 * blur + 1e-12 * np.abs(level), limits])
        solution = shortest(norm, np.vstack([A, extra]), goal, down[t], up[t])
        needed = np.concatenate([level - blur + held * (1 - 1e-12), limits])
        bound = size_at_least(
            norm, np.vstack([A, extra]), needed, np.append(growth, np.zeros(len(limits))), solution, down[t], up[t]
        )
        lower[t] = beta * bound
        if solution.move is not None:
            step[t] = solution.move
    return lower, rows + moves.spread(step, rows.shape[1])
