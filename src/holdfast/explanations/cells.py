"""Neighbours: the closest point of a region in which certain points of a class are nearer than all others."""

import numpy as np

from holdfast.certificates.programs import shortest
from holdfast.certificates.voting import NeighborVoter
from holdfast.explanations.question import Question

_POINTS_AT_ONCE = 40  # other points in the first program for each of the class; the violated ones join
_REACH = 1000  # other points that are looked at; predict sees the rest
_ROUNDS = 6  # programs, each with the points that the one before left out
_BEYOND = 1e-9  # how far beyond each boundary, relative to the distance to it


def in_cell(question: Question, rows: np.ndarray, around: np.ndarray, aims: np.ndarray) -> np.ndarray:
    """The closest point of the cell of ``around`` for each row, or NaN.

    With ``s = ⌊k/2⌋ + 1``: the s points of class c nearest to ``around`` stay no farther than all points of other
    classes, but for the k − s nearest of these. So c has s of the k votes, a majority, within the cell; and within
    ``slack`` of each point that keeps every row by ``slack ‖a‖*``. A cell is a polyhedron: one program.

    Parameters
    ----------
    rows, around : ndarrays of shape (m, d)
    aims : int ndarray of shape (m,)
        The class c of each row.
    """
    voter = question.voter
    out = np.full(rows.shape, np.nan)
    if not isinstance(voter, NeighborVoter) or not voter.fold.affine:
        return out
    there = np.flatnonzero(np.isfinite(around).all(axis=1))
    if not there.size:
        return out
    moves = question.moves
    columns = moves.in_units(voter.fold.before.W)
    queries, centres = voter.fold(rows[there]), voter.fold(around[there])
    down, up = moves.room(rows[there])
    for t, row in enumerate(there):
        members, outside = _members(voter, centres[t], int(aims[row]))
        if members.size:
            extra = moves.relation_halfspaces(rows[row])
            move = _program(question, columns, queries[t], members, outside, down[t], up[t], extra)
            if move is not None:
                out[row] = rows[row] + moves.spread(move[None], rows.shape[1])[0]
    return out


def _members(voter: NeighborVoter, centre: np.ndarray, aim: int) -> tuple[np.ndarray, np.ndarray]:
    """The points of the class that vote in the cell, and the others that must be farther, nearest first."""
    distance = np.einsum("nr,nr->n", voter.points - centre, voter.points - centre)
    order = np.argsort(distance, kind="stable")
    own = voter.codes[order] == aim
    s = voter.n_neighbors // 2 + 1
    members, others = order[own], order[~own]
    if members.size < s:
        return members[:0], others
    return members[:s], others[voter.n_neighbors - s :][:_REACH]


def _program(question: Question, columns, u, members, outside, down, up, extra) -> np.ndarray | None:
    """The shortest move in units, with the rows that matter."""
    points = question.voter.points  # type: ignore[attr-defined]
    norm = question.moves.free_norm
    active = np.arange(min(_POINTS_AT_ONCE, len(outside)))

    def rows_of(chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        near, far = points[np.repeat(members, len(chosen))], points[np.tile(outside[chosen], len(members))]
        A = (near - far) @ columns  # Lemma R1
        level = 0.5 * np.einsum("nr,nr->n", near - far, near + far - 2.0 * u)
        held = question.held((near - far) @ question.voter.fold.before.W) if question.slack else 0.0
        return A, level + (1 + _BEYOND) * held + _BEYOND * np.abs(level)

    A_all, b_all = rows_of(np.arange(len(outside)))
    shape = (len(members), len(outside))
    for _ in range(_ROUNDS):
        pick = (np.arange(shape[0])[:, None] * shape[1] + active).ravel()
        move = shortest(norm, np.vstack([A_all[pick], extra[0]]), np.append(b_all[pick], extra[1]), down, up).move
        if move is None:
            return None
        violated = (A_all @ move < b_all - 1e-9 * np.abs(b_all)).reshape(shape).any(axis=0)
        fresh = np.setdiff1d(np.flatnonzero(violated), active)
        if not fresh.size:
            return move
        active = np.append(active, fresh[:_POINTS_AT_ONCE])
    return move
