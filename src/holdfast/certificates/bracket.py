"""Bound rows from below and search witnesses from above, in blocks; ``certify`` and ``attack`` both call this."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from holdfast.base.blocks import n_threads, single_threaded_blas
from holdfast.certificates.moves import Moves
from holdfast.certificates.questions import Bounds
from holdfast.certificates.questions import Effort as Effort
from holdfast.certificates.vote import NeighborVoter, Voter
from holdfast.certificates.witnesses import find_witnesses

_BLOCK = 256  # rows between two reports of progress; four times as many if there are many reference points
_SECONDS = 1  # between two reports, if every row takes all of its budget; but no fewer rows than _FEWEST
_FEWEST = 32
_MANY = 5_000  # reference points from which on witnesses are searched with as few calls of predict as possible

Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class Bracket:
    """``radius ≤ smallest move that changes the prediction ≤ upper``, row by row.

    Attributes
    ----------
    radius, upper : ndarrays of shape (m,)
    adversarial : ndarray of shape (m, d)
        Rows at which the model's own predict was seen to change; NaN where none was found.
    codes : int ndarray of shape (m,)
        Predictions, as indices into the classes.
    """

    radius: np.ndarray
    upper: np.ndarray
    adversarial: np.ndarray
    codes: np.ndarray


def bracket(
    voter: Voter,
    moves: Moves,
    rows: np.ndarray,
    effort: Effort,
    progress: Progress | None = None,
    codes: np.ndarray | None = None,
) -> Bracket:
    """Bound every row from below and look for witnesses, block by block.

    Categories do not change here, and the lower bounds let features that are whole numbers take any value:
    :mod:`holdfast.certificates.discrete` handles both.

    Parameters
    ----------
    voter : Voter
    moves : Moves
        Which moves are possible, and how they are measured.
    rows : ndarray of shape (m, d)
        Checked by ``voter.check_rows``.
    effort : Effort
    progress : callable, optional
        Called with the number of rows done and of all rows, after each block.
    codes : int ndarray of shape (m,), optional
        The answers that are certified; by default the predictions at the rows.
    """
    codes = voter.predict(rows) if codes is None else codes
    groups = voter.encoding.patterns(rows, moves)  # rows with gaps in the same columns: there the same features move
    if len(groups) == 1:
        return _bracket(voter, groups[0][1], rows, codes, effort, progress)
    out = Bracket(np.empty(len(rows)), np.empty(len(rows)), np.empty_like(rows), codes)
    done = 0
    for at, group_moves in groups:
        budget = effort.budget.metered(at.size)
        report = None if progress is None else partial(_report_group, progress, done, len(rows))
        group = _bracket(voter, group_moves, rows[at], codes[at], replace(effort, budget=budget), report)
        effort.budget.charge(at, budget)
        out.radius[at], out.upper[at], out.adversarial[at] = group.radius, group.upper, group.adversarial
        done += at.size
    return out


def _report_group(progress: Progress, before: int, total: int, done: int, _: int) -> None:
    """So many rows of one group are done."""
    progress(before + done, total)


def rows_at_once(effort: Effort) -> int:
    """Rows between two reports of progress, where searches may take all of the budget; no result depends on it."""
    return max(_FEWEST, n_threads(effort.n_jobs) * _SECONDS * 10**6 // max(effort.budget.work, 1))


def _bracket(voter: Voter, moves: Moves, rows: np.ndarray, codes: np.ndarray, effort: Effort, progress) -> Bracket:
    """:func:`bracket` for rows with the same moves, in blocks."""
    many_points = isinstance(voter, NeighborVoter) and len(voter.points) >= _MANY
    problem = voter.chain.question(voter.problem, moves)
    step = 4 * _BLOCK if many_points else _BLOCK
    if not voter.chain.quick(problem, effort.fast):
        step = min(step, rows_at_once(effort))
    blocks = []
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        own = replace(effort, budget=effort.budget.part(part))
        with single_threaded_blas():  # set once for a block, and not in each of its calls of predict
            bounds = voter.chain.bounds(problem, moves, rows[part], codes[part], own)
            if effort.witness:
                bounds = find_witnesses(voter, problem, moves, rows[part], codes[part], bounds, own, many_points)
            else:
                bounds = Bounds(bounds.lower, np.full_like(bounds.lower, np.inf), np.full_like(rows[part], np.nan))
        blocks.append(bounds)
        if progress is not None:
            progress(min(start + step, len(rows)), len(rows))
    radius, upper, adversarial = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return Bracket(radius, upper, adversarial, codes)
