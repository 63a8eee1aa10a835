"""The parts every problem has: a map from moves of the input to moves of a query, and the moves that are possible."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from holdfast.certificates.moves import Moves
from holdfast.certificates.norms import Norm
from holdfast.numerics.sums import product_by_rows

UNIT = 2500  # steps of the kernels, each one to four multiply-adds: about a microsecond of one core
DEFAULT_BUDGET = 200_000  # units a row, about 0.2 s
_FARTHEST = 1000  # largest power of two by which a problem is scaled: float64 ends near 2^±1022
_ROUNDED = 1e-9  # fraction of the terms of a relation by which a witness may pass it


class Bounds(NamedTuple):
    """``lower ≤ smallest ‖δ‖ that changes the prediction ≤ upper``: a certified bound, and the size of a witness.

    Attributes
    ----------
    lower : ndarray of shape (m,)
        No move shorter than this changes the prediction, however the distances are rounded; infinite if
        none at all can.
    upper : ndarray of shape (m,)
        Length of ``delta``; infinite where no witness was found.
    delta : ndarray of shape (m, d)
        A move that changes the vote; NaN rows where none was found.
    """

    lower: np.ndarray
    upper: np.ndarray
    delta: np.ndarray


@dataclass(frozen=True)
class Budget:
    """The work an engine may do on one query; the bounds are sound whenever it stops.

    Work is arithmetic, counted in units that take about a microsecond of one core. A few passes over all points are
    made whatever the budget.

    Attributes
    ----------
    work : int
        Units for each query.
    at : float or None
        A size at which the verdict is enough: the search may stop once the lower bound reaches it, or a move no
        larger changes the vote. None: the radius itself is sought.
    spent, ended : ndarrays of shape (m,), int and bool, or None
        Engines add the units that each query took, and mark those whose search the budget ended.
    """

    work: int = DEFAULT_BUDGET
    at: float | None = None
    spent: np.ndarray | None = None
    ended: np.ndarray | None = None

    @property
    def operations(self) -> int:
        """The budget as the kernels count it."""
        return UNIT * self.work

    def metered(self, m: int) -> "Budget":
        """The same, which keeps account of m queries."""
        return replace(self, spent=np.zeros(m, np.int64), ended=np.zeros(m, bool))

    def note(self, operations: np.ndarray) -> None:
        """Add what the kernels counted for every query."""
        if self.spent is not None and self.ended is not None:
            self.spent[:] += -(-operations // UNIT)
            self.ended[:] |= operations >= self.operations

    def part(self, rows: slice) -> "Budget":
        """The budget of some of the queries, in the same account."""
        if self.spent is None or self.ended is None:
            return self
        return replace(self, spent=self.spent[rows], ended=self.ended[rows])

    def left(self) -> "Budget":
        """What one query has not spent yet, in the same account."""
        return self if self.spent is None else replace(self, work=max(self.work - int(self.spent[0]), 0))

    def shared(self, owner: np.ndarray) -> np.ndarray:
        """Units for each of several questions about rows: what their owner has left, in equal parts.

        Rounded down to a power of two, so that many can be asked at once, unless it is all of the budget.
        """
        spent = np.zeros(len(owner), np.int64) if self.spent is None else self.spent[owner]
        left = np.maximum(self.work - spent, 0) // np.bincount(owner)[owner]
        power = 2 ** np.floor(np.log2(np.maximum(left, 1))).astype(np.int64)
        return np.where((left == self.work) | (left == 0), left, power)

    def of(self, rows: np.ndarray) -> "Budget":
        """The budget of some of the queries, with a copy of their account; :meth:`put` writes it back."""
        if self.spent is None or self.ended is None:
            return self.metered(len(rows))
        return replace(self, spent=self.spent[rows], ended=self.ended[rows])

    def put(self, rows: np.ndarray, other: "Budget") -> None:
        """Write the account of some of the queries."""
        if self.spent is not None and self.ended is not None:
            self.spent[rows], self.ended[rows] = other.spent, other.ended

    def charge(self, owner: np.ndarray, other: "Budget") -> None:
        """Add the account of other questions to that of their owners."""
        if self.spent is None or self.ended is None or other.spent is None or other.ended is None:
            return
        np.add.at(self.spent, owner, other.spent)
        np.logical_or.at(self.ended, owner, other.ended)


class Problem(ABC):
    """A vote at queries ``u``, which a move δ of the input takes to ``u + Tδ``.

    Attributes
    ----------
    T : ndarray of shape (r, d)
    absolute : ndarray of shape (r, d)
        ``|T|``, or ``|W_2| |W_1|`` where T is a product: the magnitudes whose rounding counts.
    moves : Moves
        Which δ are possible, and how they are measured.
    n_classes : int
    n_steps, n_terms : int
        Affine steps behind T, and terms of the longest sum in them, for the rounding bound.
    """

    T: np.ndarray
    absolute: np.ndarray
    moves: Moves
    n_classes: int
    n_steps: int
    n_terms: int

    @abstractmethod
    def vote(self, queries: np.ndarray) -> np.ndarray:
        """The class code elected at each query, in float64."""

    @abstractmethod
    def magnitude(self) -> float:
        """The size of the numbers that are compared: the largest reference point, or the largest weight."""

    @abstractmethod
    def scaled(self, alpha: float, beta: float) -> "Problem":
        """The problem with queries ``alpha u`` and moves measured in units of ``beta``."""

    def lost(self, elected: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        """Whether votes for the classes ``elected`` are changes that count."""
        return elected != prediction

    def to_sound_range(self) -> tuple["Problem", float, float]:
        """The problem with its numbers near 1, and the powers of two (alpha, beta) that it was scaled by.

        Squares of numbers beyond 1e±150 over- or underflow. Powers of two change no digit, so nothing else changes.
        Ordinary problems stay as they are.
        """
        alpha = _power_of_two(self.magnitude())
        exponent = self._largest_exponent() + np.log2(alpha)  # of a number that may be beyond float64 itself
        if np.isfinite(exponent) and abs(exponent) > _FARTHEST:
            raise ValueError(
                "Moves in the units of this threat, of data of this size, leave the range of float64: give the threat, "
                "or the data, other units."
            )
        beta = _power_of_two(float(np.exp2(exponent)))
        if alpha == beta == 1.0:
            return self, 1.0, 1.0
        return self.scaled(alpha, beta), alpha, beta

    def _largest_exponent(self) -> float:
        """``log2 max|T · unit|`` over the free inputs; −∞ if all are 0."""
        columns = np.abs(self.T[:, self.free])
        unit = np.ones(columns.shape[1]) if self.moves.unit is None else self.moves.unit[self.free]
        largest = np.maximum.reduce(columns, axis=0, initial=0.0)
        there = largest > 0
        return float(np.max(np.log2(largest[there]) + np.log2(unit[there]), initial=-np.inf))

    @property
    def norm(self) -> Norm:
        """The norm that measures moves."""
        return self.moves.norm

    @property
    def free(self) -> np.ndarray:
        """Indices of the inputs that can move."""
        return self.moves.free(self.T.shape[1])

    def room(self, inputs: np.ndarray | None, m: int) -> tuple[np.ndarray, np.ndarray]:
        """The room of each free input, down and up: two arrays (m, n_free), or (m, 0) if nothing confines it."""
        if not self.moves.confined:
            return np.empty((m, 0)), np.empty((m, 0))
        if inputs is None:
            raise ValueError("A box is on the moved inputs: the engine needs inputs as well as queries.")
        return self.moves.room(inputs)

    def bounds(
        self,
        queries: np.ndarray,
        prediction: np.ndarray,
        inputs,
        lower: np.ndarray,
        move: np.ndarray,
        elected: np.ndarray | None = None,
    ) -> Bounds:
        """Bounds from certified radii and proposed moves of the free inputs (m, n_free), NaN where there is none.

        A move is clipped to the box and kept if it keeps the relations and the vote at ``u + Tδ`` is :meth:`lost`. A
        query whose vote (``elected``, if the engine has counted it) is lost at once has bounds 0; a certified radius
        never passes a witness.
        """
        m = len(queries)
        down, up = self.room(inputs, m)
        if up.size:
            move = np.clip(move, -down, up)
        delta = self.moves.spread(move, self.T.shape[1])
        changed = self.lost(self.vote(queries + product_by_rows(np.nan_to_num(delta), self.T)), prediction)
        kept = changed & np.isfinite(delta).all(axis=1) & self._keeps_relations(inputs, delta)
        upper = np.full(m, np.inf)
        upper[kept] = self.moves.free_norm.lengths(move[kept])
        delta[~kept] = np.nan
        wrong = self.lost(self.vote(queries) if elected is None else elected, prediction)
        lower = np.where(wrong, 0.0, np.minimum(lower, upper))
        upper[wrong], delta[wrong] = 0.0, 0.0
        return Bounds(lower, upper, delta)

    def _keeps_relations(self, inputs: np.ndarray | None, delta: np.ndarray) -> np.ndarray:
        """True for each moved row that keeps the relations, up to rounding."""
        if self.moves.relations is None:
            return np.ones(len(delta), bool)
        if inputs is None:
            raise ValueError("Relations are on the moved inputs: the engine needs inputs as well as queries.")
        A, b = self.moves.relations
        moved = inputs + np.nan_to_num(delta)
        sizes = np.abs(moved) @ np.abs(A).T + np.abs(b)
        return (moved @ A.T - b <= (_ROUNDED + self.moves.slack) * sizes).all(axis=1)


def _power_of_two(size: float) -> float:
    """``2^-e`` that brings a size near 1; 1 if it is not beyond 2^±100, is 0 or is not finite."""
    exponent = int(np.frexp(size)[1]) if np.isfinite(size) and size > 0 else 0
    return 1.0 if abs(exponent) <= 100 else float(np.ldexp(1.0, -max(min(exponent, 1000), -1000)))
