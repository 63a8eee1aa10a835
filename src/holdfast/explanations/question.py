"""What a counterfactual asks: which answers are wanted, and where one class wins against the rest."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array

from holdfast.base.affine import AffineMap
from holdfast.base.blocks import single_threaded_blas
from holdfast.certificates.bracket import Bracket, Effort
from holdfast.certificates.columns import Encoding
from holdfast.certificates.discrete import bracket_threat
from holdfast.certificates.engines import solve
from holdfast.certificates.moves import Moves
from holdfast.certificates.programs import shortest, size_at_least
from holdfast.certificates.questions import Budget, LinearProblem, NeighborProblem, score_rounding
from holdfast.certificates.readers import LinearVoter, inner_model
from holdfast.certificates.vote import NeighborVoter, Voter

_SHARE = 0.95  # of the reference rows that are themselves this near to another one


@dataclass(frozen=True)
class NearData:
    """No farther from the nearest reference row than 95 % of these rows are from the nearest other one.

    Attributes
    ----------
    place : callable
        Rows as points between which the distance is Euclidean: that of the model, or that of the moves.
    search : NearestNeighbors
        Over the places of the reference rows.
    limit : float
    """

    place: object
    search: NearestNeighbors
    limit: float

    def accepts(self, points: np.ndarray) -> np.ndarray:
        """True for each point that is near enough."""
        if not len(points):
            return np.zeros(0, bool)
        return self.search.kneighbors(self.place(points), 1)[0][:, 0] <= self.limit  # type: ignore[operator]


def reference_rows(voter: Voter, reference) -> np.ndarray | None:
    """The rows of ``reference`` as the model takes them; else those it keeps, if no step comes before it."""
    if reference is not None:
        return voter.check_rows(reference[0])
    kept = getattr(inner_model(voter.model), "reference_", None)  # of holdfast's classifiers without steps before them
    return None if kept is None else check_array(kept, dtype=np.float64)


def near_data(voter: Voter, moves: Moves, rows: np.ndarray) -> NearData:
    """The limit of distance for some reference rows.

    The distance is the model's own if it votes by distance. A linear model has none: then it is that of the moves if
    these are Euclidean, and else the Euclidean distance in the units of the moves.
    """
    unit = 1.0 if moves.unit is None else moves.unit
    by_distance = isinstance(voter, NeighborVoter)

    def place(points: np.ndarray) -> np.ndarray:
        return voter.chain.image(points) if by_distance else points / unit

    places = place(rows)
    search = NearestNeighbors(n_neighbors=min(2, len(places))).fit(places)
    own = search.kneighbors(places)[0][:, -1]  # the nearest is the row itself, or one that equals it
    return NearData(place, search, float(np.quantile(own, _SHARE)))


def within_data(moves: Moves, rows: np.ndarray, encoding: Encoding) -> Moves:
    """The moves, confined to the range that each feature has in the reference rows; a row outside may stay there."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    for j in encoding.gaps:  # rows have the number 0 in a gap
        known = rows[rows[:, encoding.gap(j)] == 0, j]
        low[j], high[j] = known.min(initial=np.inf), known.max(initial=-np.inf)
    if moves.lower is not None:
        low = np.maximum(low, moves.lower)
    if moves.upper is not None:
        high = np.minimum(high, moves.upper)
    return replace(moves, lower=low, upper=high)


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
    barred : bool ndarray of shape (d,) or None
        Features that must stay, besides those of the moves; a category of which one is barred stays.
    """

    voter: Voter
    moves: Moves
    effort: Effort
    slack: float = 0.0
    noise: Moves = field(default_factory=Moves)
    near: NearData | None = None
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
        return bracket_threat(voter or self.voter, self.moves.of_numbers(), rows, effort or self.effort)

    def sizes(self, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The distance of each point from its row; infinite where there is no point."""
        there = np.isfinite(points).all(axis=1)
        out = np.full(len(rows), np.inf)
        out[there] = self.moves.lengths(points[there] - rows[there])
        return out

    def base(self, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The rows, with the categories of the points: what their numbers moved from."""
        if self.moves.categories is None:
            return rows
        columns, out = self.moves.categories.columns, rows.copy()
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
        way = np.linalg.norm(self.voter.chain.image(points) - self.voter.chain.image(rows), axis=1)
        near_boundary = self.voter.chain.magnitude(points) > _VISIBLE * way
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


_POINTS_AT_ONCE = 40  # other points in the first program for each of the class; the violated ones join
_REACH = 1000  # other points that are looked at; predict sees the rest
_ROUNDS = 6  # programs, each with the points that the one before left out
_PAST_THE_EDGE = 1e-9  # how far beyond each boundary, relative to the distance to it


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
    map_ = voter.chain.affine_map
    if not isinstance(voter, NeighborVoter) or map_ is None:
        return out
    there = np.flatnonzero(np.isfinite(around).all(axis=1))
    if not there.size:
        return out
    moves = question.moves
    columns = moves.in_units(map_.W)
    queries, centres = map_(rows[there]), map_(around[there])
    down, up = moves.room(rows[there])
    for t, row in enumerate(there):
        members, outside = _members(voter, centres[t], int(aims[row]))
        if members.size:
            extra = moves.relation_halfspaces(rows[row])
            move = _program(question, map_, columns, queries[t], members, outside, down[t], up[t], extra)
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


def _program(question: Question, map_: AffineMap, columns, u, members, outside, down, up, extra) -> np.ndarray | None:
    """The shortest move in units, with the rows that matter."""
    points = question.voter.points  # type: ignore[attr-defined]
    norm = question.moves.free_norm
    active = np.arange(min(_POINTS_AT_ONCE, len(outside)))

    def rows_of(chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        near, far = points[np.repeat(members, len(chosen))], points[np.tile(outside[chosen], len(members))]
        A = (near - far) @ columns  # Lemma R1
        level = 0.5 * np.einsum("nr,nr->n", near - far, near + far - 2.0 * u)
        held = question.held((near - far) @ map_.W) if question.slack else 0.0
        return A, level + (1 + _PAST_THE_EDGE) * held + _PAST_THE_EDGE * np.abs(level)

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
    map_ = voter.chain.affine_map
    assert map_ is not None
    problem, alpha, beta = voter.problem(map_, question.moves).to_sound_range()
    assert isinstance(problem, LinearProblem)
    queries, moves = alpha * voter.chain.image(rows), problem.moves
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


class IsClass:
    """A model whose answer is 1 where the answer of another is one class, and 0 elsewhere."""

    def __init__(self, model: Any, label: Any):
        self.model = model
        self.label = label
        for name in ("feature_names_in_", "n_features_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    def predict(self, X) -> np.ndarray:
        """1 where the model answers with the class."""
        return (np.asarray(self.model.predict(X)) == self.label).astype(np.int64)


def against_the_rest(voter: NeighborVoter, code: int) -> NeighborVoter:
    """The vote of two classes: points of one class, and all others.

    For one neighbour this is the same question. For more, a majority of this vote elects the class in the vote of all
    classes as well, but it may win that one with fewer votes: see :mod:`~holdfast.explanations.question`.
    """
    return replace(
        voter,
        codes=(voter.codes == code).astype(np.int64),
        classes=np.array([0, 1]),
        model=IsClass(voter.model, voter.classes[code]),
    )


_CLASSES = 3  # that are put in the place of y, one after the other
_NEAR = 1.0 - 1e-6  # of a size: bounds this near meet
_TURNS = 6  # searches for a row: one for each of them, and again where a closer answer is found


def with_majority(question: Question, rows: np.ndarray, target: int) -> Bracket:
    """``min ‖δ‖ : class c has more than half of the votes at x + δ``: the class against the rest, a vote of two."""
    assert isinstance(question.voter, NeighborVoter)
    return question.bounds(rows, against_the_rest(question.voter, target))


class WithoutMajority:
    """``min ‖δ‖ : class c wins at x + δ with at most half of the votes``, by branch and bound (Lemma K2).

    The lemma holds for every class that loses in the place of y, so the largest of their bounds counts. Whole numbers
    are left out of account, which is sound.

    Parameters
    ----------
    question : Question
        About a vote of neighbours behind affine steps.
    rows : ndarray of shape (m, d)
    target : int
        Class c, which is the prediction of none of the rows.
    """

    def __init__(self, question: Question, rows: np.ndarray, target: int):
        voter = question.voter
        assert isinstance(voter, NeighborVoter)
        problem = voter.chain.question(voter.problem, question.moves)
        assert isinstance(problem, NeighborProblem)
        self.problem = replace(problem, goal=target, goal_votes=problem.n_neighbors // 2)
        self.question, self.rows, self.queries = question, rows, voter.chain.image(rows)
        self.others = [c for c in np.unique(problem.labels).tolist() if c != target]

    def bound(self, row: int, code: int, seen: np.ndarray, size: float) -> tuple[float, np.ndarray]:
        """A bound on such victories of one row, as far as sizes below ``size`` go, and the best point found, or NaN.

        Parameters
        ----------
        row : int
        code : int
            Its prediction: the first class that is put in the place of y; then come those nearest to a point ``seen``.
        seen : ndarray of shape (d,)
            Where the class won, or NaN.
        size : float
        """
        effort, x = self.question.effort, self.rows[row : row + 1]
        query, point, lower = self.queries[row : row + 1], np.full(x.shape[1], np.nan), 0.0
        waiting, whole = self._losers(code, seen), not np.isfinite(size)
        with single_threaded_blas():
            for _ in range(_TURNS):
                near = size * _NEAR  # where nothing is seen below it, the search for less is over
                if not waiting or lower >= near:
                    break
                bounds = solve(
                    self.problem, query, np.array([waiting[0]]), x, fast=False, n_jobs=1, memory=effort.memory,
                    budget=replace(effort.budget, at=None if whole else near),
                )  # fmt: skip
                lower = max(lower, float(bounds.lower[0]))
                if bounds.upper[0] < size:
                    size, point = float(bounds.upper[0]), x[0] + bounds.delta[0]
                    # A verdict stops at any victory below the size; the closest one takes a whole search.
                    waiting, whole = (waiting[1:], whole) if whole else (waiting, True)
                else:
                    waiting = waiting[1:]
        return lower, point

    def _losers(self, code: int, seen: np.ndarray) -> list[int]:
        """Classes to put in the place of y, the prediction first."""
        if not np.isfinite(seen).all():
            return [code]
        place, points, labels = self.question.voter.chain.image(seen[None]), self.problem.points, self.problem.labels
        way = ((points - place) ** 2).sum(axis=1)
        others = [c for c in self.others if c != code]
        return [code, *sorted(others, key=lambda c: way[labels == c].min())][:_CLASSES]
