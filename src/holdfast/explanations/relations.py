"""Linear relations between features as rows of a program."""

import numpy as np

from holdfast.certificates.moves import Moves

_ROOM = 1e-9  # of the sizes that are added: a bound may not hang on the rounding of a relation


def relation_rows(moves: Moves, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``A (x + δ) ≤ b`` as rows ``a · e ≥ c`` of the free inputs in units, a little wider than they are."""
    if moves.relations is None:
        return np.empty((0, moves.free(len(x)).size)), np.empty(0)
    A, b = moves.relations
    room = _ROOM * (np.abs(A) @ np.abs(x) + np.abs(b))
    return -moves.in_units(A), A @ x - b - room
