"""What a search of one query starts from: the points in reach, the kinds of pieces, a bound for each kind."""

import numpy as np

from holdfast.certificates.engines.search_space import SearchSpace
from holdfast.certificates.kernels.order_statistics import empty_impostors, live_impostors
from holdfast.certificates.kernels.query import KIND, Query
from holdfast.certificates.kernels.rounding import Rounding, slack
from holdfast.certificates.problems import NeighborProblem


def within_reach(
    problem: NeighborProblem, space: SearchSpace, u, y: int, D, kth: float, horizon: float, rounding: Rounding, limits
):
    """The points in reach of the horizon, the kinds of pieces, and a bound for each kind.

    A point farther than ``tH + √((d_(k) + tH)² + κ(S + gH)²)`` is not among the k nearest after any move of length H,
    however rounded, so its rows are not needed inside the horizon; nor are those of a point with
    ``½d² − H‖a‖* > (½d² + H‖a‖*)_(k) + κ(S + gH)²``, a its slope from u (Lemma T5).
    """
    coordinates, k, lipschitz = problem.coordinates, problem.n_neighbors, problem.coordinates.lipschitz
    work = empty_impostors(D.size, coordinates.G.shape[1], problem.rule)
    _, count = live_impostors(
        problem.slopes, problem.labels, problem.rule, y, rounding, None, None, 0.0, D, horizon, work
    )
    # 1e-9 is far more than the rounding of these few operations.
    step = lipschitz * horizon
    far = (step + np.sqrt((kth + step) ** 2 + 2.0 * slack(rounding, horizon))) * (1 + 1e-9) + 1e-9 * rounding.size
    reach = np.flatnonzero(np.sqrt(D) <= far) if np.isfinite(far) else np.arange(D.size)
    if reach.size > k and np.isfinite(far):
        slope = problem.moves.free_norm.dual_lengths(problem.slopes[reach] - u @ coordinates.G) * horizon
        highest = np.partition(0.5 * D[reach] + slope, k - 1)[k - 1] + 2.0 * slack(rounding, horizon)
        reach = reach[0.5 * D[reach] - slope <= highest * (1 + 1e-9)]
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
    kinds = kinds_of(problem, y)
    return query, kinds, [_root_bound(kind, problem.labels[live], E, horizon) for kind in kinds]


def kinds_of(problem: NeighborProblem, y: int) -> np.ndarray:
    """The kinds of pieces in which the vote is lost (Lemma T1)."""
    k, lowest_wins = problem.n_neighbors, problem.lowest_wins
    others = [c for c in range(problem.n_classes) if c != y and np.any(problem.labels == c)]
    kinds = []
    for q in range(k // 2 + 1):
        if len(others) == 1 and q < (k - 1) // 2:
            continue  # with one other class it is ahead only with a majority
        if q == 0:
            kinds.append((-1, 0, 0, k, 0))  # no vote for y: any k others
            continue
        for c in others:
            if k - 2 * q - 1 >= 0:
                kinds.append((c, q, q + 1, k - 2 * q - 1, 0))
            if (not lowest_wins or c < y) and not (len(others) == 1 and k % 2):
                kinds.append((c, q, q, k - 2 * q, 0 if lowest_wins else 1))
    return np.array(kinds, KIND)


def _root_bound(kind, live_labels: np.ndarray, E: np.ndarray, horizon: float) -> float:
    """A bound on all pieces of a kind, from the order statistics of E; at most the horizon."""
    q, size = kind["n_excused"], kind["n_own"] + kind["n_other"]

    def smallest(values: np.ndarray, rank: int) -> float:
        return np.sort(values)[rank - 1] if values.size >= rank else horizon

    own = live_labels == kind["winner"]
    bound = smallest(E[:, q], size)
    if kind["n_own"]:
        bound = max(bound, smallest(E[own, q], kind["n_own"]))
    if kind["leads"]:
        bound = max(bound, smallest(E[own, 0], 1))
    return min(bound, horizon)


