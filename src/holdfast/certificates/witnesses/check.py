"""Check proposed witnesses: a moved row must keep every limit, and the model's own predict must give another answer."""

import numpy as np

from holdfast.certificates.engines import solve
from holdfast.certificates.moves import Moves
from holdfast.certificates.problems import Budget, NeighborProblem, Problem
from holdfast.certificates.voting import Voter

# Engines move a row beyond the border by more than the rounding they count; below this ratio no witness was ever seen
# to depend on the rows beside it (18,000 of scikit-learn's neighbours and linear models at offsets to 1,000).
_VISIBLE = 1e3
_MEMORY = 16.0  # megabytes that distances from a batch of witnesses to all reference points may take at once


def is_witness(
    voter: Voter, moves: Moves, rows: np.ndarray, moved: np.ndarray, codes: np.ndarray, problem: Problem | None = None
) -> np.ndarray:
    """True for each moved row that keeps all limits and at which the model's own predict gives another answer."""
    out = moves.allows(moved, rows)
    out[out] = answer_changes(voter, rows[out], moved[out], codes[out], problem)
    return out


def answer_changes(
    voter: Voter, rows: np.ndarray, moved: np.ndarray, codes: np.ndarray, problem: Problem | None = None
) -> np.ndarray:
    """True for each moved row at which the model's own predict gives another answer, both in a batch and alone.

    A matrix product may round a row differently when the row is alone. That can matter only where rounding is visible:
    where the numbers behind the vote are a thousand times as large as the distance that the query moved. There,
    :func:`_rounding_safe` proves the answer where it can (this needs ``problem``), and the remaining rows are predicted
    one by one.

    Parameters
    ----------
    voter : Voter
    rows, moved : ndarrays of shape (m, d)
        Rows before and after the move.
    codes : int ndarray of shape (m,)
        The answers that have to change.
    problem : Problem, optional
        The vote, as the engines take it.
    """
    if not len(moved):
        return np.zeros(0, bool)
    batch = moved if len(moved) > 1 else np.repeat(moved, 2, axis=0)  # one row is no batch to a matrix product
    answers = voter.predict(batch)[: len(moved)]
    changed = answers != codes
    if not changed.any():
        return changed
    distance = voter.fold.ways(rows, moved)
    unsure = np.flatnonzero(changed & (voter.fold.sizes(moved) > _VISIBLE * distance))
    if unsure.size and problem is not None:
        unsure = unsure[~_rounding_safe(voter, problem, moved[unsure], answers[unsure])]
    for row in unsure:
        changed[row] = voter.predict(moved[row : row + 1])[0] != codes[row]
    return changed


def _rounding_safe(voter: Voter, problem: Problem, rows: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """True for each row whose answer no rounding of the model changes: its certified radius is above 0 (Lemma F2)."""
    unlimited = not (problem.moves.confined or problem.moves.frozen is not None)  # a limit could be why nothing changes
    if not (unlimited and voter.fold.affine and isinstance(problem, NeighborProblem)):
        return np.zeros(len(rows), dtype=bool)
    bounds = solve(problem, voter.fold(rows), codes, rows, fast=True, budget=Budget(), n_jobs=1, memory=_MEMORY)
    return bounds.lower > 0
