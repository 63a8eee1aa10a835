"""Data of the class that is asked for, as inputs to walk to."""

from collections.abc import Callable, Iterator

import numpy as np

from holdfast.certificates.voting import NeighborVoter
from holdfast.explanations.question import Question

_HALVINGS = 30  # of a segment: to 1e-9 of its length
_FEW_HALVINGS = 7  # to 1 %
_BEYOND = 1e-9  # how far beyond the boundary, relative to the move


def places(
    question: Question, rows: np.ndarray, aims: np.ndarray, reference: np.ndarray | None, count: int
) -> Iterator[np.ndarray]:
    """Possible inputs near the ``count`` nearest data of the class ``aims`` of each row, nearest first; NaN for none.

    These are reference rows that the model gives this class; without reference rows, the inputs of least size
    that reach the points which vote for it.
    """
    voter, moves = question.voter, question.moves
    inputs = np.full((count, *rows.shape), np.nan)
    unit = 1.0 if moves.unit is None else moves.unit
    known = None if reference is None else voter.predict(reference)
    for aim in np.unique(aims):
        at = np.flatnonzero(aims == aim)
        if reference is not None:
            candidates = reference[known == aim]
            if not len(candidates):
                continue
            for t in at:
                moved = moves.enforce(candidates, np.broadcast_to(rows[t], candidates.shape))
                # Where frozen features stay, the nearest of the data is not the data any more: by the size of the move.
                order = np.argsort((((moved - rows[t]) / unit) ** 2).sum(axis=1), kind="stable")[:count]
                inputs[: order.size, t] = moved[order]
        elif isinstance(voter, NeighborVoter) and voter.fold.affine:
            _map_back(question, rows, at, voter.points[voter.codes == aim], inputs)
    yield from inputs


def _map_back(question: Question, rows: np.ndarray, at: np.ndarray, points: np.ndarray, inputs: np.ndarray) -> None:
    """Fill the array ``inputs`` with those that the fold takes to the nearest of the points."""
    moves, fold = question.moves, question.voter.fold
    free = moves.free(rows.shape[1])
    back = np.linalg.pinv(fold.before.W[:, free])
    for t in at:
        query = fold(rows[t : t + 1])
        order = np.argsort(((points - query) ** 2).sum(axis=1), kind="stable")[: len(inputs)]
        moved = np.repeat(rows[t : t + 1], order.size, axis=0)
        moved[:, free] += (points[order] - query) @ back.T
        inputs[: order.size, t] = moves.enforce(moved, np.broadcast_to(rows[t], moved.shape))


def walk(
    accepts: Callable[[np.ndarray, np.ndarray], np.ndarray], rows: np.ndarray, ends: np.ndarray, fine: bool = True
) -> np.ndarray:
    """``x + t (end − x)`` with the smallest t found that is accepted; NaN where the end itself is not.

    Parameters
    ----------
    accepts : callable
        ``(indices, points) -> mask``: whether points answer the rows with these indices.
    rows, ends : ndarrays of shape (m, d)
    fine : bool, default=True
        Whether to go to 1e-9 of the way; else to 1 %, where each step takes a certificate.
    """
    out = np.full(rows.shape, np.nan)
    at = np.flatnonzero(np.isfinite(ends).all(axis=1))
    at = at[accepts(at, ends[at])]
    if not at.size:
        return out
    low, high = np.zeros(at.size), np.ones(at.size)  # accepted at high, not at low
    step = ends[at] - rows[at]
    for _ in range(_HALVINGS if fine else _FEW_HALVINGS):
        middle = (low + high) / 2
        good = accepts(at, rows[at] + middle[:, None] * step)
        high, low = np.where(good, middle, high), np.where(good, low, middle)
    beyond = np.minimum(high * (1.0 + _BEYOND), 1.0)
    good = accepts(at, rows[at] + beyond[:, None] * step)
    high = np.where(good, beyond, high)
    # At t = 1 the end itself was accepted; x + (end − x) may differ from it in the last bit.
    out[at] = np.where((high == 1.0)[:, None], ends[at], rows[at] + high[:, None] * step)
    return out
