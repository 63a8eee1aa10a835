"""The condition for an answer: the class that is asked for, by a possible move, and stable if ``slack`` asks for it."""

from dataclasses import dataclass, field, replace

import numpy as np

from holdfast.certificates.bracket import Bracket, Effort
from holdfast.certificates.categories import Categories
from holdfast.certificates.enumeration import bracket_threat
from holdfast.certificates.moves import Moves
from holdfast.certificates.problems import Budget
from holdfast.certificates.threat_reading import Reading
from holdfast.certificates.voting import Voter
from holdfast.explanations.near_data import NearData

ANY = -1  # the code of "any class but the predicted one"
_VISIBLE = 1e3  # as in bracket: rounding is at most 1e-9 of a comparison below this ratio


@dataclass(frozen=True)
class Question:
    """The condition that a point must meet to answer a row.

    Attributes
    ----------
    voter : Voter
    moves : Moves
        Which moves are possible, and how they are measured.
    effort : Effort
        Of every certificate that is taken on the way.
    slack : float
        How far an answer can still move, by any noise in the free features, without leaving its class.
    noise : Moves
        The moves of ``slack``: in every free feature, up and down, measured as the moves are.
    near : NearData or None
        How far from the data an answer may lie.
    categories : Categories or None
        Which categories may change.
    barred : bool ndarray of shape (d,) or None
        Features that must stay, besides those of the moves; a category of which one is barred stays.
    """

    voter: Voter
    moves: Moves
    effort: Effort
    slack: float = 0.0
    noise: Moves = field(default_factory=Moves)
    near: NearData | None = None
    categories: Categories | None = None
    barred: np.ndarray | None = None

    def accepts(self, points: np.ndarray, rows: np.ndarray, codes: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """True for each point that answers its row; the model's own predict decides, for all points and for each alone.

        Parameters
        ----------
        points, rows : ndarrays of shape (m, d)
        codes : int ndarray of shape (m,)
            Predictions of the rows.
        targets : int ndarray of shape (m,)
            Classes that are asked for; ``ANY`` is every other class.
        """
        good = np.isfinite(points).all(axis=1)
        good[good] = self._possible(points[good], rows[good])
        if self.near is not None:
            good[good] = self.near.accepts(points[good])
        at = np.flatnonzero(good)
        if at.size:
            good[at] = self._answered(points[at], rows[at], codes[at], targets[at])
        at = np.flatnonzero(good)
        if self.slack > 0 and at.size:
            good[at] = self._holds(points[at])
        return good

    def bounds(self, rows: np.ndarray, voter: Voter | None = None, effort: Effort | None = None) -> Bracket:
        """Certified bounds of any change of the answer by the possible moves, whole numbers among them."""
        return bracket_threat(voter or self.voter, Reading(self.moves, None, []), rows, effort or self.effort)

    def sizes(self, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The distance of each point from its row; infinite where there is no point."""
        there = np.isfinite(points).all(axis=1)
        out = np.full(len(rows), np.inf)
        out[there] = self.moves.lengths(points[there] - rows[there])
        return out

    def base(self, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The rows, with the categories of the points: what their numbers moved from."""
        if self.categories is None:
            return rows
        columns, out = self.categories.columns, rows.copy()
        there = np.isfinite(points).all(axis=1)
        out[np.ix_(there, columns)] = points[np.ix_(there, columns)]
        return out

    def held(self, W: np.ndarray) -> np.ndarray:
        """``slack ‖a‖*`` of rows a: by so much a row has to hold at a point to hold for all noise around it."""
        return self.slack * self.noise.free_norm.dual_lengths(self.noise.in_units(W))

    def of(self, moves: Moves) -> "Question":
        """The same question with other moves."""
        return replace(self, moves=moves)

    def quick(self) -> "Question":
        """The same question, its slack checked by the fast bound alone: it accepts no more."""
        return replace(self, effort=replace(self.effort, fast=True))

    def _possible(self, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """True for moves that keep every limit exactly: bringing the point back to its limits changes nothing."""
        kept = (self.moves.enforce(points, rows) == points).all(axis=1)
        return kept & self.moves.allows(points, rows)

    def _answered(self, points, rows, codes, targets) -> np.ndarray:
        def right(codes_found, at):
            return np.where(targets[at] == ANY, codes_found != codes[at], codes_found == targets[at])

        everyone = np.arange(len(points))
        good = right(self.voter.predict(points), everyone)
        # A matrix product may round a row alone in another way: asked where rounding can be seen at all.
        way = np.linalg.norm(self.voter.fold(points) - self.voter.fold(rows), axis=1)
        near_boundary = self.voter.fold.sizes(points) > _VISIBLE * way
        for t in np.flatnonzero(good & near_boundary):
            good[t] = right(self.voter.predict(points[t : t + 1]), [t])[0]
        return good

    def _holds(self, points: np.ndarray) -> np.ndarray:
        budget = Budget(self.effort.budget.work, at=self.slack)
        effort = replace(self.effort, fast=True, witness=False, budget=budget)
        good = replace(self, moves=self.noise).bounds(points, effort=effort).radius >= self.slack
        left = np.flatnonzero(~good)
        if left.size and not self.effort.fast:
            effort = replace(effort, fast=False)
            good[left] = replace(self, moves=self.noise).bounds(points[left], effort=effort).radius >= self.slack
        return good
