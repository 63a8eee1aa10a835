"""Certificates from the points in reach: a far point takes no part in any vote near a query."""

import numpy as np

from holdfast.certificates.engines.base import Engine
from holdfast.certificates.kernels.rounding import Rounding
from holdfast.certificates.problems import Bounds, Budget, NeighborProblem
from holdfast.certificates.rounding import query_rounding, rounding_of
from holdfast.numerics.threads import map_blocks, n_threads, single_threaded_blas

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
