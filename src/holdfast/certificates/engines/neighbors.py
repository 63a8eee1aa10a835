"""Engines for votes of nearest neighbours: exact for one and for k, and the lower bound for every k."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from holdfast._core.active_set import empty_active_set
from holdfast._core.branch import CHILD, N_TARGETS, search
from holdfast._core.halfspace import Rounding, slack, squared_distances
from holdfast._core.nearest import Voters, empty_workspace, nearest_changes
from holdfast._core.order import Impostors, empty_impostors, order_bounds
from holdfast._core.relaxation import AGAINST_OTHERS, AGAINST_Y, KIND, Query, Tree, empty_scratch, empty_tree
from holdfast.base.blocks import map_blocks, n_threads, product_by_rows, single_threaded_blas
from holdfast.certificates.certificate import meet
from holdfast.certificates.engines.base import Engine
from holdfast.certificates.questions import (
    UNIT_ROUNDOFF,
    Bounds,
    Budget,
    NeighborProblem,
    Problem,
    as_batch,
    query_rounding,
    rounding_of,
)


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """Coordinates z of moves: those of the norm if it is quadratic, else ``(σδ, T)``.

    Attributes
    ----------
    slopes : ndarray of shape (n, s)
    to_input : ndarray of shape (n_free, s)
    ball : int or None
        The dual length of a slope if the norm is not quadratic.
    sigma : float
    limited : bool
        Whether the kernels are given a box: there is one, or a relation, or the norm is not quadratic, for which they
        are compiled only once, a box without sides included.
    relations : ndarray of shape (n_relations, s)
        Rows of the relations, for ``relations · z ≥ least``, times ``factors``: powers of two that make them no longer
        than the slopes may be, so that they round no more than these.
    factors : ndarray of shape (n_relations,)
    kept : int ndarray of shape (n_relations,)
        The relations that a move of the free inputs changes.
    """

    slopes: np.ndarray
    to_input: np.ndarray
    ball: int | None
    sigma: float
    limited: bool
    relations: np.ndarray
    factors: np.ndarray
    kept: np.ndarray

    @classmethod
    def of(cls, problem: NeighborProblem) -> "SearchSpace":
        """The space of a problem."""
        coordinates, moves = problem.coordinates, problem.moves
        slopes, to_input, ball, sigma = problem.norm.search_coordinates(problem.slopes, coordinates.to_input)
        relations = np.empty((0, to_input.shape[1]))
        if moves.relations is not None:
            relations = -moves.in_units(np.atleast_2d(moves.relations[0])) @ to_input
        kept = np.flatnonzero(relations.any(axis=1))
        longest = max(problem.largest * coordinates.growth / sigma, 1e-300)
        factors = 2.0 ** np.floor(np.log2(longest / np.linalg.norm(relations[kept], axis=1)))
        rows = np.ascontiguousarray(relations[kept] * factors[:, None])
        limited = moves.confined or moves.relations is not None or ball is not None
        return cls(slopes, to_input, ball, sigma, limited, rows, factors, kept)

    def limits(self, problem: NeighborProblem, inputs: np.ndarray | None, m: int):
        """The room of each query, down and up (m, n_free), or None; the least levels of the relations (m, n_relations).

        Levels are rounded down: a set of moves that is a hair too large keeps a bound sound (Lemma P2).
        """
        moves, n_free = problem.moves, self.to_input.shape[0]
        if not self.limited:
            return None, None, np.empty((m, 0))
        down, up = problem.room(inputs, m)
        if not down.size:
            down, up = np.full((m, n_free), np.inf), np.full((m, n_free), np.inf)
        if moves.relations is None:
            return down, up, np.empty((m, 0))
        room = moves.relation_room(inputs)[:, self.kept]  # refuses to go on without inputs
        assert inputs is not None
        A, b = moves.relations[0][self.kept], moves.relations[1][self.kept]
        size = product_by_rows(np.abs(inputs), np.abs(A)) + np.abs(b)
        return down, up, -(room + 4 * (A.shape[1] + 8) * UNIT_ROUNDOFF * size) * self.factors


_OPPONENTS = 8  # nearest points of other classes that are tried
_BEYOND = 1.0 + 1e-9  # how far a move goes, relative to the distance of the halfspace


def single_row_moves(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    inputs: np.ndarray | None,
    bounds: Bounds,
    budget: Budget,
) -> Bounds:
    """``δ = ε_lj · steepest(a_lj)``: the shortest move after which l is no farther than j, if that changes the vote.

    In L1 it moves one feature only, in L∞ all by the same size; the quadratic program that approximates the norm finds
    it only up to its own precision. Every move is checked by the vote, so no bound rests on it. For a verdict at one
    size, only rows without one are tried. The shortest moves come first, as far as a quarter of the budget goes.
    """
    at, lower, upper = budget.at, bounds.lower, bounds.upper
    decided = meet(lower, upper) | (False if at is None else (lower >= at) | (upper <= at))
    loose = np.flatnonzero(~decided)
    if not loose.size:
        return bounds
    norm, columns = problem.moves.free_norm, problem.moves.in_units(problem.T)
    if columns.shape[1] == 0:  # no feature is free
        return bounds
    moves = np.full((len(queries), columns.shape[1]), np.nan)
    vote = len(problem.points) * (problem.points.shape[1] // 4 + 8)
    most = max(_OPPONENTS, budget.operations // (4 * vote))
    for t in loose:
        D = np.sum((problem.points - queries[t]) ** 2, axis=1)
        predicted = problem.labels == prediction[t]
        others, targets = (np.flatnonzero(mask) for mask in (~predicted, predicted))
        others = others[np.argsort(D[others], kind="stable")][:_OPPONENTS]
        targets = targets[np.argsort(D[targets], kind="stable")][: max(problem.n_neighbors, _OPPONENTS)]
        if not others.size or not targets.size:
            continue
        A = problem.slopes[others][:, None] - problem.slopes[targets]
        slope = norm.dual_lengths(A.reshape(-1, A.shape[2])).reshape(A.shape[:2])
        c = 0.5 * (D[others][:, None] - D[targets])
        size = np.divide(c, slope, out=np.zeros_like(c), where=slope > 0)
        # One move for each pair: the vote may change at any of them, as it needs only some of the pairs.
        steps = norm.steepest(A.reshape(-1, A.shape[2])) * (_BEYOND * size.reshape(-1, 1))
        tried = np.flatnonzero((size.ravel() > 0) & (size.ravel() < upper[t]))
        if tried.size > most:
            tried = tried[np.argsort(size.ravel()[tried], kind="stable")[:most]]
        changed = problem.lost(problem.vote(queries[t] + steps[tried] @ columns.T), prediction[t])
        if changed.any():
            hit = tried[changed]
            moves[t] = steps[hit[np.argmin(size.ravel()[hit])]]
    single = problem.bounds(queries, prediction, inputs, lower, moves)
    better = single.upper < upper
    return Bounds(lower, np.where(better, single.upper, upper), np.where(better[:, None], single.delta, bounds.delta))


_QUERIES = 16  # queries in one block of work
_MOST = 5_000_000  # of work on a query, besides passes over the points: a millisecond, whatever the budget


def _knn_lower(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    *,
    inputs: np.ndarray | None,
    n_jobs: int | None,
    budget: Budget,
) -> Bounds:
    """``LB = min_q max{(k−q)-th smallest_l E_l^(q), min_c b_q-th smallest_{l in c} E_l^(q)}``, q = 0 … ⌊k/2⌋.

    ``E_l^(q)`` is the (q+1)-th largest ``ε_lj`` over the points j of the predicted class (0 if there are no
    more than q), l runs over the others, ``b_q = max(q, ⌈(k−q)/C1⌉, 1)`` with ``C1`` other classes; missing
    order statistics are infinite. If the vote is not surely for y, some k nearest points hold q of class y,
    and another class with as many or more; each of the k−q others is no farther than all but q of class y
    (Lemma B1). With a box, ``ε_lj`` respects it (L2, L∞, L1); for the ellipsoid the box is ignored, which is sound.

    ``upper`` is infinite and ``delta`` NaN, except where the vote is not for y.
    """
    lower, _ = lower_bounds(problem, queries, prediction, inputs, n_jobs)
    no_moves = np.full((len(queries), problem.free.size), np.nan)
    return problem.bounds(queries, prediction, inputs, lower, no_moves)


def lower_bounds(
    problem: NeighborProblem, queries: np.ndarray, prediction: np.ndarray, inputs, n_jobs: int | None
) -> tuple[np.ndarray, Rounding]:
    """The bound of each query, and its rounding; a box is handled in two passes (Lemma F4).

    The first pass takes the rounding of moves of length 0 and finds how far the second has to reach; no
    move inside the box is longer than ``diameter``, so a bound beyond it is infinite.
    """
    m = len(queries)
    rounding = query_rounding(problem, queries, inputs)
    rule, (n, s) = problem.rule, problem.slopes.shape
    boxed = problem.moves.boxed
    down, up = problem.room(inputs, m) if boxed else (None, None)
    no_horizon, live = np.full(m, -1.0), np.empty(m, np.int64)

    def run(reach: np.ndarray) -> np.ndarray:
        lower = np.empty(m)

        def block(rows: slice) -> None:
            order_bounds(
                problem.points, problem.slopes, problem.labels, rule, queries, prediction, rounding, down, up, reach,
                np.empty(n), empty_impostors(n, s, rule), no_horizon, _MOST, lower, live, rows.start, rows.stop,
            )  # fmt: skip

        map_blocks(block, [slice(start, min(start + _QUERIES, m)) for start in range(0, m, _QUERIES)], n_jobs)
        return lower

    lower = run(np.zeros(m))
    if down is None or up is None:
        return lower, rounding
    diameter = problem.moves.free_norm.lengths(np.maximum(down, up))
    growth = problem.coordinates.growth
    # Moves a thousand times the data are farther than any bound of use, and keep the rounding finite.
    cap = 1e3 * rounding.size / growth if growth > 0 else np.full(m, np.inf)
    reach = np.minimum(lower, diameter)
    reach = np.where(np.isfinite(reach), reach, cap)
    reach = np.where(np.isfinite(reach), reach, 0.0)  # only if nothing moves: growth 0
    lower = run(reach)
    beyond = np.where((reach >= diameter) | (growth == 0), np.inf, reach)
    return np.where(lower > reach, beyond, lower), rounding


def _neighbors_vote(problem: Problem) -> bool:
    return isinstance(problem, NeighborProblem)


knn_lower = Engine("knn_lower", _knn_lower, _neighbors_vote, tight=False, fast=True)


class Reach(NamedTuple):
    """A query within a horizon.

    Attributes
    ----------
    query : Query
        With the points in reach.
    bound : float
        No shorter move, and none below the horizon if that is less, changes the vote (Lemma B1).
    work : int
        What this took.
    """

    query: Query
    bound: float
    work: int


def within_reach(
    problem: NeighborProblem, space: SearchSpace, u, y: int, D, horizon: float, rounding: Rounding, limits, most: int
) -> Reach:
    """The points in reach of the horizon, and a bound; ``most`` limits the work besides passes over the points.

    A point farther than ``tH + √((d_(k) + tH)² + κ(S + gH)²)`` is not among the k nearest after any move of length H,
    however rounded, so its rows are not needed inside the horizon; nor are those of a point with
    ``½d² − H‖a‖* > (½d² + H‖a‖*)_(k) + κ(S + gH)² + 2wH``, where a is its slope from u (Lemma T5). If a point of
    another class with ``E^(Q−1) ≥ H`` is among the k nearest, y has the majority, so such points are left out too.
    """
    coordinates, k, lipschitz = problem.coordinates, problem.n_neighbors, problem.coordinates.lipschitz
    work = empty_impostors(D.size, problem.slopes.shape[1], problem.rule)
    # Inside a box E may count for moves up to the horizon (Lemma F4); the ellipsoid's is without.
    boxed = problem.moves.boxed and np.isfinite(horizon)
    sides, far = ((limits[0], limits[1]), horizon) if boxed else ((None, None), 0.0)
    bound, count = _live_impostors(problem, u, y, rounding, sides, far, D, horizon, most, work)
    step = lipschitz * horizon
    kth = np.sqrt(np.partition(D, k - 1)[k - 1])
    # 1e-9 is far more than the rounding of these few operations.
    far = (step + np.sqrt((kth + step) ** 2 + 2.0 * slack(rounding, horizon))) * (1 + 1e-9) + 1e-9 * rounding.size
    near = far * far * (1 + 1e-9) >= D if np.isfinite(far) else np.ones(D.size, bool)
    wanted = problem.labels == y
    wanted[work.indices[:count]] = True
    if np.isfinite(far):
        reach = np.flatnonzero(near)
        slope = problem.norm.in_coordinates().dual_lengths(problem.slopes[reach] - u @ coordinates.G) * horizon
        highest = np.partition(0.5 * D[reach] + slope, k - 1)[k - 1] + 2.0 * (
            slack(rounding, horizon) + rounding.map_error * horizon
        )
        reach = reach[wanted[reach] & (0.5 * D[reach] - slope <= highest * (1 + 1e-9))]
    else:
        reach = np.flatnonzero(wanted)
    place = np.full(D.size, -1)
    place[reach] = np.arange(reach.size)
    kept = place[work.indices[:count]] >= 0
    live, E = work.indices[:count][kept], np.ascontiguousarray(work.E[:count][kept])
    labels = problem.labels[reach]
    query = Query(
        points=problem.points[reach], slopes=space.slopes[reach], squared=D[reach], labels=labels,
        targets=np.flatnonzero(labels == y), live=place[live], E=E,
        order=np.ascontiguousarray(np.argsort(E, axis=0, kind="stable").T),
        u=u, to_input=space.to_input, down=limits[0], up=limits[1], relations=space.relations, least=limits[2],
        relation_sizes=np.linalg.norm(space.relations, axis=1), ball=space.ball, sigma=space.sigma,
        y=y, k=k, n_classes=problem.n_classes, lowest_wins=problem.lowest_wins, rounding=rounding,
    )  # fmt: skip
    n_reach, width, Q = reach.size, problem.points.shape[1] + space.slopes.shape[1], E.shape[1]
    taken = int(work.done[0]) + 2 * D.size * (problem.points.shape[1] // 4 + 8) + n_reach * width + 16 * live.size * Q
    return Reach(query, min(bound, horizon), taken)


def _live_impostors(
    problem: NeighborProblem, u, y: int, rounding: Rounding, sides, reach: float, D, horizon: float, most: int,
    work: Impostors,
) -> tuple[float, int]:  # fmt: skip
    """The bound of one query, and how many points of other classes are live: a batch of one, for the same kernel."""
    down, up = (None if side is None else side[None] for side in sides)
    bound, count = np.empty(1), np.empty(1, np.int64)
    order_bounds(
        problem.points, problem.slopes, problem.labels, problem.rule, u[None], np.array([y]), as_batch(rounding),
        down, up, np.array([reach]), D, work, np.array([horizon]), most, bound, count, 0, 1,
    )  # fmt: skip
    return float(bound[0]), int(count[0])


def kinds_of(problem: NeighborProblem, y: int) -> np.ndarray:
    """The kinds of pieces in which the vote is lost (Lemma T1), or won by one class (Lemma K2)."""
    if problem.goal is not None:
        return _kinds_of_goal(problem, y, problem.goal)
    k, lowest_wins = problem.n_neighbors, problem.lowest_wins
    others = [c for c in range(problem.n_classes) if c != y and np.any(problem.labels == c)]
    kinds = []
    for q in range(k // 2 + 1):
        if len(others) == 1 and q < (k - 1) // 2:
            continue  # with one other class it is ahead only with a majority
        if q == 0:
            kinds.append((-1, 0, 0, k, 2 if k > 2 else k, 0, 0))  # no vote for y: any k others
            continue
        for c in others:
            if k - 2 * q - 1 >= 0:
                kinds.append((c, q, q + 1, k - 2 * q - 1, 1, 0, 0))
            if (not lowest_wins or c < y) and not (len(others) == 1 and k % 2):
                kinds.append((c, q, q, k - 2 * q, 0, 0 if lowest_wins else AGAINST_Y, 0))
    return np.array(kinds, KIND)


def _kinds_of_goal(problem: NeighborProblem, y: int, c: int) -> np.ndarray:
    """The kinds of pieces in which class c wins (Lemma K2); y is any other class."""
    k, lowest_wins = problem.n_neighbors, problem.lowest_wins
    most = k if problem.goal_votes is None else problem.goal_votes
    third = sum(1 for d in range(problem.n_classes) if d not in (c, y) and np.any(problem.labels == d))
    kinds = []
    for q in range(k // 2 + 1):
        for votes in range(max(q, 1), min(k - q, most) + 1):
            others = k - q - votes
            if others > third * votes or (votes >= q + 3 and others < votes - 1):
                continue  # another class would have more votes; the vote lies in a piece with q + 1
            if votes == q and lowest_wins and y < c:
                continue
            leads = 0 if lowest_wins else AGAINST_Y * (votes == q) + AGAINST_OTHERS * (others >= votes)
            kinds.append((c, q, votes, others, 0, leads, 1))
    return np.array(kinds, KIND)


_QUERIES_1NN = 32  # queries in one block of work


def _exact_1nn(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    *,
    inputs: np.ndarray | None,
    n_jobs: int | None,
    budget: Budget,
) -> Bounds:
    """``r* = min_l ρ_l``, ``ρ_l = min{‖δ‖ : a_lj · δ ≥ f_lj / 2 for every j of class y}``, l of the other classes.

    One small quadratic program per l that survives the screening, solved by a dual active set in rank(T)
    coordinates; L1, L∞ and relations are left to the branch and bound. The lower bound is the dual value
    ``cᵀλ / ‖Aᵀλ‖*`` of the multipliers found, shrunk by rounding: sound even where a solver stopped early (Lemma E2).

    The two bounds meet up to rounding, but where co-located points of two classes, a solver's failure or the end of the
    budget leave a gap.

    References
    ----------
    Wang, Liu, Yi, Zhou and Hsieh, "Evaluating the robustness of nearest neighbor classifiers: a primal-dual
    perspective", 2019, for the screening by duality; the metric, the norms and the box are ours.
    """
    m = len(queries)
    coordinates = problem.coordinates
    voters = Voters(
        problem.points, problem.slopes, problem.labels, coordinates.to_input, coordinates.lipschitz
    )  # fmt: skip
    rounding = query_rounding(problem, queries, inputs)
    down, up = problem.room(inputs, m) if problem.moves.confined else (None, None)
    n, s = problem.slopes.shape
    lower, z, elected, spent = np.empty(m), np.empty((m, s)), np.empty(m, np.int64), np.zeros(m, np.int64)

    def block(rows: slice) -> None:
        active, work = empty_active_set(s), empty_workspace(n, s)
        nearest_changes(
            voters, queries, prediction, rounding, down, up, active, work, budget.operations, lower, z,
            elected, spent, rows.start, rows.stop,
        )  # fmt: skip

    map_blocks(block, [slice(start, min(start + _QUERIES_1NN, m)) for start in range(0, m, _QUERIES_1NN)], n_jobs)
    budget.note(spent)
    return problem.bounds(queries, prediction, inputs, lower, product_by_rows(z, coordinates.to_input), elected)


def _one_neighbor(problem: Problem) -> bool:
    one = isinstance(problem, NeighborProblem) and problem.n_neighbors == 1 and problem.goal is None
    return one and problem.norm.quadratic and problem.moves.relations is None


exact_1nn = Engine("exact_1nn", _exact_1nn, _one_neighbor, tight=True, fast=False)


_ABOVE = 1.0 + 1e-9  # for a verdict at one size the horizon is a hair beyond it, where rounding cannot hide it
_CAPACITY = 20_000  # nodes that the heap can hold


def _exact_knn(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    *,
    inputs: np.ndarray | None,
    n_jobs: int | None,
    budget: Budget,
) -> Bounds:
    """``min ‖δ‖`` over the moves after which the vote is not for y: any k, any number of classes.

    The vote is lost if and only if for some q and some class c ≠ y (ties aside, see Notes)

    - *c is ahead*: S ⊂ P with ``|S| = q``, L ⊂ c with ``|L| = q+1``, O ⊂ N∖L with ``|O| = k−2q−1``, or
    - *c is level and wins the tie*: the same with ``|L| = q ≥ 1``, ``|O| = k−2q``, and for ties that go to the
      nearest some ``l₀`` in L nearer than all of P,

    such that every point of L ∪ O is no farther than every point of P∖S, and every point of L no farther
    than every point of N∖(c ∪ O). (Then at most q points of P, and all of L, are among the k nearest; Lemma T1.) Each
    such choice is a convex piece, the projection onto which is a small quadratic program. For two classes and odd
    k one kind of piece is enough: ``|L| = (k+1)/2``, ``|S| = (k−1)/2``, O empty. The search takes members by falling
    ``E_l^(q)``, excuses targets only as they are violated, and solves the node of least bound first; a node whose
    own optimum already loses the vote is a leaf.

    Exact (the bounds meet up to rounding) where the search ended; where the budget runs out, ``lower`` is the least
    bound still open (Lemma T4).

    Notes
    -----
    The pieces are closed sets: where points of two classes coincide, the vote may hold on the boundary itself and
    beyond; then the lower bound stays below the upper.
    """
    m, space = len(queries), SearchSpace.of(problem)
    if budget.at is None or problem.coordinates.lipschitz == 0.0:
        start, rounding = lower_bounds(problem, queries, prediction, inputs, n_jobs)
    else:
        start, rounding = np.zeros(m), query_rounding(problem, queries, inputs)
    down, up, least = space.limits(problem, inputs, m)
    kinds = {int(y): kinds_of(problem, int(y)) for y in np.unique(prediction)}
    lower, z = np.empty(m), np.full((m, space.to_input.shape[1]), np.nan)
    spent = np.zeros(m, np.int64)

    def row(t: int) -> None:
        row_rounding, y = rounding_of(rounding, t), int(prediction[t])
        limits = (None, None, least[t]) if down is None or up is None else (down[t], up[t], least[t])
        lower[t], spent[t] = _search(
            problem, space, queries[t], y, kinds[y], start[t], row_rounding, limits, budget, z[t]
        )

    map_blocks(row, range(m), n_jobs)
    budget.note(spent)
    bounds = problem.bounds(queries, prediction, inputs, lower, product_by_rows(z, space.to_input))
    if space.ball is None:
        return bounds
    return single_row_moves(problem, queries, prediction, inputs, bounds, budget)


def _search(problem, space: SearchSpace, u, y: int, kinds, start: float, rounding: Rounding, limits, budget, best_z):
    """Search within a horizon, and if the best witness lies beyond it, within a wider one.

    Returns the certified radius and the work, no less than the budget if that ended the search; the witness goes to
    ``best_z``. For a verdict at one size, that size is the horizon.
    """
    coordinates, labels = problem.coordinates, problem.labels
    if start == np.inf or not kinds.size or not np.any(labels != y):  # no other class
        return np.inf, 0
    if coordinates.lipschitz == 0.0:  # a zero metric: nothing moves
        return start, 0
    D = np.empty(len(labels))
    squared_distances(problem.points, u, D)
    lower, best = start, np.inf
    unit = rounding.size / max(coordinates.lipschitz, 1e-300)
    # From a bound of 0 (a tie) the first horizon is a small part of the way to the nearest other class.
    nearest_other = np.sqrt(D[labels != y].min()) / max(coordinates.lipschitz, 1e-300)
    horizon = 1.5 * start if start > 0 else max(0.1 * nearest_other, 1e-6 * unit)
    if budget.at is not None:
        horizon = max(budget.at * _ABOVE, 1e-12 * unit)
    most, active = budget.operations, empty_active_set(space.to_input.shape[1])
    while True:
        reach = within_reach(problem, space, u, y, D, horizon, rounding, limits, most - int(active.work[0]))
        lower = max(lower, reach.bound)
        active.work[0] += reach.work
        if active.work[0] >= most:
            return lower, int(active.work[0])
        capacity = min(_CAPACITY, len(kinds) + 64 + most // CHILD)
        tree = empty_tree(capacity, problem.n_neighbors, space.to_input.shape[1] + 1)
        status = tree.status[0]
        status["best"], status["horizon"] = best, horizon
        status["enough"] = -1.0 if budget.at is None else budget.at * (1.0 - 1e-12)  # however its length is summed
        scratch = empty_scratch(reach.query, N_TARGETS)
        over = search(tree, active, reach.query, kinds, scratch, lower, most, best_z)
        best = float(status["best"])
        lower = max(lower, min(float(status["closed"]), _least_open(tree), horizon))
        if budget.at is not None or not over or status["overflow"] or best <= horizon or horizon == np.inf:
            return lower, max(int(active.work[0]), most if status["overflow"] else 0)
        horizon = min(best, 4 * horizon) if horizon < 1e6 * unit else np.inf


def _least_open(tree: Tree) -> float:
    """The least bound of a node that is still open; infinite if there is none."""
    status, bounds = tree.status[0], tree.nodes["bound"]
    first = bounds[tree.heap[0]] if status["heap_size"] > 0 else np.inf
    return float(min(first, bounds[status["next_slot"]]) if status["next_slot"] >= 0 else first)


def _k_neighbors(problem: Problem) -> bool:
    return isinstance(problem, NeighborProblem)


exact_knn = Engine("exact_knn", _exact_knn, _k_neighbors, tight=True, fast=False)


_NEAREST = 2_000  # nearest points that are tried first; at least 4k
_MORE = 4  # times as many are tried next, where these are not enough
_WORTHWHILE = 20_000  # with fewer points than this all are used


def from_nearby(
    engine: Engine,
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    inputs: np.ndarray | None,
    n_jobs: int | None,
    memory: float,
    budget: Budget | None = None,
) -> Bounds:
    """The bounds of ``engine``, from the nearest points of each query where these are enough (Lemma N1).

    Let the points that are left out be at least ``ρ`` away from a query u, its k-th nearest ``d_k``, and let a
    move of length R carry u by at most ``t R``. After it a point left out is at least ``ρ − tR`` away, and k
    points are within ``d_k + tR``: no vote after a move of length up to ``H = (ρ − d_k)/2t`` involves a point
    left out. So the least of H and a certified radius among the others is a certified radius, and if the radius
    is below H, it is as tight as with all points. Where it is not, the points are taken that the radius found
    requires, and where even they are more than half, all.

    Parameters
    ----------
    engine : Engine
    problem, queries, prediction, inputs, n_jobs, budget
        As for an :class:`~holdfast.certificates.engines.Engine`.
    memory : float
        Megabytes that distances from queries to all points may take at once, over all threads.

    Returns
    -------
    Bounds
        A witness longer than H changes the vote among the nearest points only: check it by the vote of all points.
    """
    n, m = len(problem.points), len(queries)
    if n < _WORTHWHILE:
        return engine(problem, queries, prediction, inputs=inputs, n_jobs=n_jobs, budget=budget)
    queries = np.ascontiguousarray(queries, dtype=np.float64)
    rounding = query_rounding(problem, queries, inputs)
    half_squares = 0.5 * np.einsum("nr,nr->n", problem.points, problem.points)
    lower, upper = np.empty(m), np.empty(m)
    delta = np.empty((m, problem.T.shape[1]))

    def block(rows: slice) -> None:
        keys = half_squares - queries[rows] @ problem.points.T  # ½‖u − u_j‖², but for a constant
        for t in range(rows.start, rows.stop):
            one = slice(t, t + 1)
            query = (queries[one], prediction[one], None if inputs is None else inputs[one])
            own = (budget or Budget()).part(one)
            bounds = _from_nearest(engine, problem, *query, keys[t - rows.start], rounding_of(rounding, t), own)
            lower[t], upper[t], delta[t] = bounds.lower[0], bounds.upper[0], bounds.delta[0]

    threads = n_threads(n_jobs)
    size = max(1, int(memory * 2**20 / (3 * 8 * n * threads)))  # 3 arrays: keys, their copy and their order
    parts = [slice(start, min(start + size, m)) for start in range(0, m, size)]
    with single_threaded_blas():
        map_blocks(block, parts, n_jobs)
    return Bounds(lower, upper, delta)


def _from_nearest(engine, problem: NeighborProblem, query, prediction, inputs, keys, rounding, budget) -> Bounds:
    """The bounds of one query, from as few of the nearest points as suffice."""
    n, u = keys.size, query[0]
    size = max(_NEAREST, 4 * problem.n_neighbors)
    if budget.spent is None:
        budget = budget.metered(1)
    kept, cut = np.empty(0, np.int64), np.inf  # the points whose keys are below the cut
    least = 0.0  # what fewer points have certified
    while size < n:
        if not kept.size:
            cut = np.partition(keys, size)[size]
            kept = np.flatnonzero(keys < cut)
        if kept.size < problem.n_neighbors or kept.size > n // 2:
            break
        part = problem.among(kept)
        bounds = engine(part, query, prediction, inputs=inputs, n_jobs=1, budget=budget.left())
        kth = np.sqrt(np.partition(np.sum((part.points - u) ** 2, axis=1), part.n_neighbors - 1)[part.n_neighbors - 1])
        horizon = _horizon(problem, kth, 2.0 * cut + u @ u, rounding)
        if bounds.lower[0] <= horizon:
            return bounds._replace(lower=np.maximum(bounds.lower, least))
        least = max(least, horizon)
        # As far as the radius found requires; if there is none yet, several times as many points.
        before, size = kept.size, _MORE * max(size, kept.size)
        if np.isfinite(bounds.lower[0]):
            cut = 0.5 * ((kth + 2.001 * problem.coordinates.lipschitz * bounds.lower[0]) ** 2 - u @ u)
            kept = np.flatnonzero(keys < cut)
        if not before < kept.size or not np.isfinite(bounds.lower[0]):
            kept = np.empty(0, np.int64)
    bounds = engine(problem, query, prediction, inputs=inputs, n_jobs=1, budget=budget.left())
    return bounds._replace(lower=np.minimum(np.maximum(bounds.lower, least), bounds.upper))


def _horizon(problem: NeighborProblem, kth: float, rho2: float, rounding: Rounding) -> float:
    """H: the length of moves after which no vote, however rounded, involves a point with ``d² ≥ rho2`` as rounded."""
    kappa, S, growth = rounding.kappa, rounding.size, rounding.growth
    lipschitz = problem.coordinates.lipschitz
    rho2 -= 2.0 * kappa * S * S
    if rho2 <= kth**2:
        return 0.0
    rho = np.sqrt(rho2)
    if lipschitz == 0.0:
        return np.inf
    far = S + growth * (rho - kth) / (2.0 * lipschitz)
    # (ρ − tR)² − (d_k + tR)² must pass the error κ(S + gR)² of a comparison of two squared distances.
    return max(0.0, (rho - kth - kappa * far * far / (rho + kth)) / (2.0 * lipschitz)) * (1.0 - 1e-9)
