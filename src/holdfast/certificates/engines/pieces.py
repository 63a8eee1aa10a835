"""The start of a search for one query: the points in reach, the kinds of pieces."""

from typing import NamedTuple

import numpy as np

from holdfast.certificates.engines.search_space import SearchSpace
from holdfast.certificates.kernels.order_statistics import Impostors, empty_impostors, order_bounds
from holdfast.certificates.kernels.query import AGAINST_OTHERS, AGAINST_Y, KIND, Query
from holdfast.certificates.kernels.rounding import Rounding, slack
from holdfast.certificates.problems import NeighborProblem
from holdfast.certificates.rounding import as_batch


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
