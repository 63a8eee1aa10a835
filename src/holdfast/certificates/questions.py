"""A vote and the moves of its input: the question an engine answers, and its rounding."""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from holdfast._core.halfspace import Rounding
from holdfast._core.order import VoteRule, vote_rows
from holdfast.base.blocks import product_by_rows
from holdfast.certificates.moves import Moves
from holdfast.certificates.norms import L2, MoveCoordinates, Norm

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


UNIT_ROUNDOFF = 2.0**-53
LEAST_UNITS = 64.0  # K where few steps come before the vote


def error_units(rank: int, n_steps: int, shared: bool) -> float:
    """K of Lemma F2: roundings behind one comparison, in units of ``γ (S + gR)²``.

    Parameters
    ----------
    rank : int
        Coordinates of the moves.
    n_steps : int
        Affine steps before the vote, the metric included.
    shared : bool
        Whether the model and the certificate use one array of reference points (holdfast's classifiers).
    """
    counted = 36.0 + np.sqrt(rank) + (3.0 if shared else 7.0) * n_steps + (0.0 if shared else 8.0)
    return max(LEAST_UNITS, counted)


def kappa(n_coordinates: int, n_inputs: int, n_steps: int = 1, shared: bool = True, n_terms: int = 0) -> float:
    """``K (m + 8) ω``, m the terms of the longest sum: ``n_terms`` if there are more than coordinates and inputs."""
    units = error_units(min(n_coordinates, n_inputs), n_steps, shared)
    return units * (max(n_coordinates, n_inputs, n_terms) + 8) * UNIT_ROUNDOFF


def query_rounding(problem: "NeighborProblem", queries: np.ndarray, inputs: np.ndarray | None) -> Rounding:
    """The rounding of each query: κ and g are numbers, S and w arrays (m,).

    The inputs, if given, enter S through ``‖ |W_2| |W_1| |x| ‖``.
    """
    S = np.maximum(problem.largest, np.linalg.norm(queries, axis=1)) + problem.scale
    if inputs is not None:
        S = S + np.linalg.norm(product_by_rows(np.abs(inputs), problem.absolute), axis=1)
    coordinates = problem.coordinates
    return Rounding(
        kappa(problem.T.shape[0], problem.T.shape[1], problem.n_steps, problem.shared, problem.n_terms),
        S * (1 + 1e-12),  # the rounding of S itself
        coordinates.growth,
        2 * coordinates.map_error * S,
    )


def score_rounding(problem: "LinearProblem", inputs: np.ndarray | None, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Error of each score (m, C), and its growth for each unit of a move (C,) (Lemma F5).

    A score is one sum of products after the steps before it: its error is at most ``κ (|W_2| |W_1| |x| + constants)``.
    """
    unit = kappa(problem.T.shape[0], problem.T.shape[1], problem.n_steps, n_terms=problem.n_terms)
    size = np.broadcast_to(problem.cancellation, (m, problem.n_classes))
    if inputs is not None:
        size = size + product_by_rows(np.abs(inputs), problem.absolute)
    rate = problem.moves.free_norm.absolute_lengths(problem.moves.in_units(problem.absolute))
    return unit * size * (1 + 1e-12), unit * rate * (1 + 1e-12)


def rounding_of(rounding: Rounding, t: int) -> Rounding:
    """The rounding of query t."""
    return Rounding(rounding.kappa, float(rounding.size[t]), rounding.growth, float(rounding.map_error[t]))  # type: ignore[index]


def as_batch(rounding: Rounding) -> Rounding:
    """The rounding of one query as that of a batch of one."""
    size, map_error = np.array([rounding.size]), np.array([rounding.map_error])
    return Rounding(rounding.kappa, size, rounding.growth, map_error)  # type: ignore[arg-type]


def order_statistic_bound(E: np.ndarray, labels: np.ndarray, k: int) -> float:
    """``min_q max{(k−q)-th smallest_l E_l^(q), min_c b_q-th smallest_{l in c} E_l^(q)}`` (Lemma B1)."""
    classes = np.unique(labels)
    bounds = []
    for q in range(k // 2 + 1):
        least = max(q, -(-(k - q) // classes.size), 1)
        one_class = min(_smallest(E[labels == c, q], least) for c in classes)
        bounds.append(max(_smallest(E[:, q], k - q), one_class))
    return min(bounds)


def weighted_order_bound(E: np.ndarray, labels: np.ndarray, k: int) -> float:
    """``min_{i ≤ (k+1)/2} min_c i-th smallest_{l in c} E_l^(i−1)``: for weights that fall with distance (Lemma D2)."""
    return min(
        _smallest(E[labels == c, i - 1], i) for i in range(1, (k + 1) // 2 + 1) for c in np.unique(labels)
    )  # fmt: skip


def _smallest(values: np.ndarray, rank: int) -> float:
    """The ``rank``-th smallest value; infinite if there are fewer."""
    return float(np.partition(values, rank - 1)[rank - 1]) if rank <= values.size else np.inf


_SURE = 1e-9  # fraction of a sum of weights: far more than its rounding


@dataclass(frozen=True, eq=False)
class DistanceProblem(Problem):
    """``argmax_c Σ w(‖u − u_i‖_p)`` over the voters i of class c; an input move δ takes u to ``u + Tδ``.

    Voters are the ``n_neighbors`` nearest points, or all within the distance ``within``; ``w`` is 1, or one over the
    distance. Equal sums go to the lowest code.

    Parameters
    ----------
    points : ndarray of shape (n, r)
    labels : int ndarray of shape (n,)
    T : ndarray of shape (r, d)
    n_classes : int
    n_neighbors : int
        0: all points within ``within`` vote.
    within : float
    p : float
        At least 1; infinite: the largest difference.
    weighted : bool
        Whether a vote counts one over its distance. A voter at distance 0 outvotes all others.
    outlier : int
        The answer where no point is within reach.
    moves, scale, absolute, n_steps, n_terms
        As for :class:`~holdfast.certificates.questions.NeighborProblem`.
    """

    points: np.ndarray
    labels: np.ndarray
    T: np.ndarray
    n_classes: int
    n_neighbors: int
    within: float = 0.0
    p: float = 2.0
    weighted: bool = False
    outlier: int = -1
    moves: Moves = field(default_factory=Moves)
    scale: float = 0.0
    absolute: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_steps: int = 1
    n_terms: int = 0

    def __post_init__(self):
        if not self.absolute.size:
            object.__setattr__(self, "absolute", np.abs(self.T))

    def magnitude(self) -> float:
        """``max ‖u_j‖``."""
        return float(np.linalg.norm(self.points, axis=1).max())

    def scaled(self, alpha: float, beta: float) -> "DistanceProblem":
        """The problem with queries ``alpha u`` and moves measured in units of ``beta``."""
        return replace(
            self, points=alpha * self.points, T=alpha * self.T, absolute=alpha * self.absolute,
            scale=alpha * self.scale, within=alpha * self.within,
            moves=self.moves.in_units_of(beta, self.T.shape[1]),
        )  # fmt: skip

    def distances(self, query: np.ndarray) -> np.ndarray:
        """``‖u − u_i‖_p`` to every point."""
        return lengths(self.points - query, self.p)

    def vote(self, queries: np.ndarray) -> np.ndarray:
        """The class that wins at each query."""
        return np.array([self._winner(self.distances(query)) for query in queries], dtype=np.int64)

    def _winner(self, distance: np.ndarray) -> int:
        if self.n_neighbors:
            voters = np.argsort(distance, kind="stable")[: self.n_neighbors]
        else:
            voters = np.flatnonzero(distance <= self.within)
            if not voters.size:
                return self.outlier
        weight = np.ones(voters.size)
        if self.weighted:
            d = distance[voters]
            weight = (d == 0).astype(float) if (d == 0).any() else 1.0 / d
        return int(np.argmax(np.bincount(self.labels[voters], weight, minlength=self.n_classes)))

    def holds(self, least: np.ndarray, most: np.ndarray, y: int) -> bool:
        """True if y surely wins when the distance of point i lies between ``least[i]`` and ``most[i]`` (Lemma D1).

        The sum of y is smallest with its own points as far and all others as near as possible; the sum of c is largest
        with its own points as near and all others as far as possible. With two classes these are the same case, and
        the answer is exact for independent distances.
        """
        if self.n_neighbors:
            reach = np.partition(most, self.n_neighbors - 1)[self.n_neighbors - 1]
            near = np.flatnonzero(least <= reach)
            least, most, labels = least[near], most[near], self.labels[near]
        else:
            labels = self.labels
        of_y = labels == y
        smallest = self._sum(np.where(of_y, most, least), of_y)
        others = [self._sum(np.where(labels == c, least, most), labels == c, last=False)
                  for c in np.unique(labels[~of_y])]  # fmt: skip
        strongest = max(others, default=0.0)
        if strongest == 0.0 and (y == self.outlier or self.n_neighbors):
            return True
        return smallest * (1.0 - _SURE) > strongest * (1.0 + _SURE)

    def _sum(self, distance: np.ndarray, mask: np.ndarray, last: bool = True) -> float:
        """The sum of weights of the points of a mask; among equally far points they come last, or first."""
        if self.n_neighbors:
            order = np.lexsort([mask if last else ~mask, distance])[: self.n_neighbors]
            voters = order[mask[order]]
        else:
            limit = self.within * (1.0 - 1e-12 if last else 1.0 + 1e-12)
            voters = np.flatnonzero(mask & (distance <= limit))
        if not self.weighted:
            return float(voters.size)
        with np.errstate(divide="ignore"):
            return float(np.sum(1.0 / distance[voters]))


def lengths(rows: np.ndarray, p: float) -> np.ndarray:
    """``‖row‖_p`` along the last axis."""
    rows = np.abs(rows)
    if p == 1:
        return rows.sum(axis=-1)
    if np.isinf(p):
        return rows.max(axis=-1, initial=0.0)
    if p == 2:
        return np.sqrt(np.sum(rows * rows, axis=-1))
    return np.sum(rows**p, axis=-1) ** (1.0 / p)


@dataclass(frozen=True, eq=False)
class LinearProblem(Problem):
    """``argmax_c u_c`` over scores u, which an input move δ takes to ``u + Tδ``; equal scores go to the lowest code.

    Class c can overtake y only where ``(T_c − T_y) · δ ≥ u_y − u_c``: one row per class.

    Parameters
    ----------
    T : ndarray of shape (n_classes, d)
        Scores ``u = T x + const``.
    moves : Moves
    absolute : ndarray of shape (n_classes, d)
        Magnitudes behind T; by default ``|T|``.
    cancellation : ndarray of shape (n_classes,)
        Magnitudes of constants behind each score, for the rounding bound.
    n_steps, n_terms : int
        Affine steps behind the scores, and terms of the longest sum in them.
    """

    T: np.ndarray
    moves: Moves = field(default_factory=Moves)
    absolute: np.ndarray = field(default_factory=lambda: np.empty(0))
    cancellation: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_steps: int = 1
    n_terms: int = 0

    def __post_init__(self):
        if not self.absolute.size:
            object.__setattr__(self, "absolute", np.abs(self.T))
        if not self.cancellation.size:
            object.__setattr__(self, "cancellation", np.zeros(len(self.T)))

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """Number of scores."""
        return len(self.T)

    def magnitude(self) -> float:
        """The largest weight; scores have no squares, but the lengths of weights have."""
        return float(np.abs(self.T).max(initial=0.0))

    def scaled(self, alpha: float, beta: float) -> "LinearProblem":
        """The problem with scores ``alpha u`` and moves measured in units of ``beta``."""
        return replace(
            self, T=alpha * self.T, absolute=alpha * self.absolute, cancellation=alpha * self.cancellation,
            moves=self.moves.in_units_of(beta, self.T.shape[1]),
        )  # fmt: skip

    def vote(self, queries: np.ndarray) -> np.ndarray:
        """The class of the largest score; the lowest code of equal ones."""
        return np.argmax(queries, axis=1)


@dataclass(frozen=True, eq=False)
class NeighborProblem(Problem):
    """k nearest neighbours among ``points``, for queries u that an input move δ takes to ``u + Tδ``.

    Parameters
    ----------
    points : ndarray of shape (n, r)
        Reference points where the distance is Euclidean, ``u = L W x + const``.
    labels : int ndarray of shape (n,)
        Class codes ``0 … n_classes − 1``.
    T : ndarray of shape (r, d)
        ``L W``.
    n_neighbors : int
    moves : Moves
        Which δ are possible, and how they are measured.
    n_classes : int or None
        By default one more than the largest label.
    ties : {"nearest", "lowest"}
        Which class wins equal votes: the tied class with the nearest neighbour (of equally near points the one
        that comes first), or the lowest code (scikit-learn). The lower bound holds for both.
    scale : float
        Magnitude of other terms that cancel when u is computed from an input (means of scalers, say), for the rounding
        bound.
    absolute, n_steps, n_terms
        As for :class:`~holdfast.certificates.questions.Problem`; by default ``|T|`` and one step.
    shared : bool
        Whether the model votes with these very points, and not with points it has mapped by itself.
    goal : int or None
        The only class whose victory counts as a change; None: any class but the prediction.
    goal_votes : int or None
        Only victories of ``goal`` with at most this many votes count; None: all.

    Attributes
    ----------
    coordinates : MoveCoordinates
        Of all free inputs if they are confined, else of rank(T).
    slopes : ndarray of shape (n, s)
        ``V = U G``: ``a_lj`` is ``v_l − v_j``.
    largest : float
        ``max ‖u_j‖``.
    """

    points: np.ndarray
    labels: np.ndarray
    T: np.ndarray
    n_neighbors: int = 1
    moves: Moves = field(default_factory=Moves)
    n_classes: int = 0
    ties: str = "nearest"
    scale: float = 0.0
    absolute: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_steps: int = 1
    n_terms: int = 0
    shared: bool = True
    goal: int | None = None
    goal_votes: int | None = None
    coordinates: MoveCoordinates = field(init=False)
    slopes: np.ndarray = field(init=False)
    largest: float = field(init=False)

    def __post_init__(self):
        def put(name, value):
            object.__setattr__(self, name, value)

        put("points", np.ascontiguousarray(self.points, dtype=np.float64))
        put("labels", np.ascontiguousarray(self.labels, dtype=np.int64))
        put("T", np.ascontiguousarray(self.T, dtype=np.float64))
        n, r = self.points.shape
        if self.T.ndim != 2 or self.T.shape[0] != r:
            raise ValueError(f"T must have {r} rows, as the points have columns; got shape {self.T.shape}.")
        if self.labels.shape != (n,):
            raise ValueError(f"labels must have shape ({n},); got {self.labels.shape}.")
        if not 1 <= self.n_neighbors <= n:
            raise ValueError(f"n_neighbors must be between 1 and {n}, the number of points; got {self.n_neighbors}.")
        if self.ties not in ("nearest", "lowest"):
            raise ValueError(f"ties must be 'nearest' or 'lowest'; got {self.ties!r}.")
        least = int(self.labels.max()) + 1
        if self.labels.min() < 0 or (self.n_classes and self.n_classes < least):
            raise ValueError("labels must be class codes 0, 1, … below n_classes.")
        put("n_classes", self.n_classes or least)
        if not self.absolute.size:
            put("absolute", np.abs(self.T))
        columns, sizes = self.moves.in_units(self.T), self.moves.in_units(self.absolute)
        limited = self.moves.confined or self.moves.relations is not None
        put("coordinates", self.moves.free_norm.coordinates(columns, sizes, reduce=not limited))
        put("slopes", np.ascontiguousarray(self.points @ self.coordinates.G))
        put("largest", float(L2().lengths(self.points).max()))

    @property
    def lowest_wins(self) -> bool:
        """True if equal votes go to the lowest code."""
        return self.ties == "lowest"

    @property
    def rule(self) -> VoteRule:
        """The rule of the vote and the measure of moves, for the kernels."""
        return VoteRule(self.n_neighbors, self.n_classes, self.moves.norm.code, self.coordinates.lipschitz)

    def vote(self, queries: np.ndarray) -> np.ndarray:
        """The class that wins at each query, by distances ``Σ (u − u_j)²`` in float64.

        Of equally near points the one that comes first counts as nearer.
        """
        out = np.empty(len(queries), np.int64)
        rows = np.ascontiguousarray(queries, dtype=np.float64)
        k = self.n_neighbors
        keys, nearest, tally = np.empty(k), np.empty(k, np.int64), np.empty(self.n_classes, np.int64)
        D = np.empty(len(self.points))
        vote_rows(self.points, self.labels, rows, self.lowest_wins, keys, nearest, tally, D, out)
        return out

    def lost(self, elected: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        """Whether votes for the classes ``elected`` are changes that count."""
        return elected != prediction if self.goal is None else elected == self.goal

    def magnitude(self) -> float:
        """``max ‖u_j‖``."""
        return self.largest

    def scaled(self, alpha: float, beta: float) -> "NeighborProblem":
        """The problem with queries ``alpha u`` and moves measured in units of ``beta``."""
        return replace(
            self, points=alpha * self.points, T=alpha * self.T, absolute=alpha * self.absolute,
            scale=alpha * self.scale, moves=self.moves.in_units_of(beta, self.T.shape[1]),
        )  # fmt: skip

    def among(self, kept: np.ndarray) -> "NeighborProblem":
        """The problem with only the points ``kept``; coordinates and rounding are those of all points."""
        part = copy(self)
        for name in ("points", "labels", "slopes"):
            object.__setattr__(part, name, getattr(self, name)[kept])
        return part


def tallies(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes for each class in each row of class codes, of shape (n_rows, n_classes)."""
    cells = np.arange(len(codes))[:, None] * n_classes + codes
    return np.bincount(cells.ravel(), minlength=len(codes) * n_classes).reshape(-1, n_classes)


def winners(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """The class with most votes in each row of class codes, nearest first; of tied classes, that of the nearest."""
    votes = np.take_along_axis(tallies(codes, n_classes), codes, axis=1)  # for the class of each neighbour
    return codes[np.arange(len(codes)), votes.argmax(axis=1)]


@dataclass(frozen=True)
class Effort:
    """The work that goes into a bracket.

    Attributes
    ----------
    fast : bool
        Whether to leave out searches for the exact radius.
    witness : bool
        Whether to look for adversarial points.
    budget : Budget
        Limits of an engine's search, for each row.
    memory : float
        Megabytes that distances to all reference points may take at once.
    n_jobs : int or None
        Threads.
    """

    fast: bool
    witness: bool
    budget: Budget
    memory: float
    n_jobs: int | None
