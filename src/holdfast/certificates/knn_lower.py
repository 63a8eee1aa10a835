"""A lower bound on the smallest move that changes a k-NN vote: every k, class count and tie rule."""

import numpy as np
from numba import njit

from holdfast.certificates.halfspace import boxed_radius, dual_length, squared_distances
from holdfast.certificates.norms import Ellipsoid
from holdfast.certificates.problem import Bounds, Budget, NeighborProblem
from holdfast.certificates.rounding import query_rounding, safe_radius
from holdfast.certificates.votes import insert, votes
from holdfast.threads import Workers, n_threads

_NEAREST = 128  # targets j that are looked at
_QUERIES = 16  # queries in one block of work


def knn_lower(
    problem: NeighborProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    *,
    inputs: np.ndarray | None = None,
    n_jobs: int | None = None,
    budget: Budget | None = None,
) -> Bounds:
    """``LB = min_q max{(k−q)-th smallest_l E_l^(q), min_c b_q-th smallest_{l in c} E_l^(q)}``, q = 0 … ⌊k/2⌋.

    ``E_l^(q)`` is the (q+1)-th largest ``ε_lj`` over the points j of the predicted class (0 if there are no
    more than q), l runs over the others, ``b_q = max(q, ⌈(k−q)/C1⌉, 1)`` with ``C1`` other classes; missing
    order statistics are infinite. If the vote is not surely for y, some k nearest points hold q of class y,
    and another class with as many or more; each of the k−q others is no farther than all but q of class y.

    Parameters
    ----------
    problem : NeighborProblem
    queries : ndarray of shape (m, r)
    prediction : int ndarray of shape (m,)
        The class y that is certified; where the vote is for another, all bounds are 0.
    inputs : ndarray of shape (m, d) or None
        The inputs behind the queries: needed for a box, and used in the rounding bound.
    n_jobs : int or None
        Threads, over queries.
    budget
        Not used: the bound takes no search.

    Returns
    -------
    Bounds
        ``upper`` is infinite and ``delta`` NaN, except where the vote is not for y.

    Notes
    -----
    With a box, ``ε_lj`` respects it (L2, L∞, L1); for the ellipsoid the box is ignored, which is sound.
    """
    queries = np.ascontiguousarray(queries, dtype=np.float64)
    prediction = np.ascontiguousarray(prediction, dtype=np.int64)
    m = len(queries)
    lower, _ = lower_bounds(problem, queries, prediction, inputs, n_jobs)
    upper = np.full(m, np.inf)
    delta = np.full((m, problem.T.shape[1]), np.nan)
    wrong = votes(problem, queries) != prediction
    lower[wrong], upper[wrong], delta[wrong] = 0.0, 0.0, 0.0
    return Bounds(lower, upper, delta)


def lower_bounds(problem, queries, prediction, inputs, n_jobs) -> tuple[np.ndarray, np.ndarray]:
    """The bound of each query, and ``(κ, S, g, w)`` of each; a box is handled in two passes.

    The first pass takes the rounding of moves of length 0 and finds how far the second has to reach; no
    move inside the box is longer than ``diameter``, so a bound beyond it is infinite.
    """
    m = len(queries)
    rounding = query_rounding(problem, queries, inputs)
    boxed = problem.boxed and not isinstance(problem.norm, Ellipsoid)
    down, up = problem.room(inputs, m) if boxed else (np.empty((m, 0)), np.empty((m, 0)))
    lower = np.empty(m)
    _run(problem, queries, prediction, rounding, down, up, np.zeros(m), lower, n_jobs)
    if not boxed:
        return lower, rounding
    diameter = problem.free_norm.lengths(np.maximum(down, up)) if up.size else np.zeros(m)
    growth = problem.chart.growth
    cap = 1e3 * rounding[:, 1] / growth if growth > 0 else np.full(m, np.inf)
    reach = np.minimum(lower, diameter)
    reach = np.where(np.isfinite(reach), reach, cap)
    reach = np.where(np.isfinite(reach), reach, 0.0)  # only if nothing moves: growth 0
    _run(problem, queries, prediction, rounding, down, up, reach, lower, n_jobs)
    beyond = np.where((reach >= diameter) | (growth == 0), np.inf, reach)
    return np.where(lower > reach, beyond, lower), rounding


def _run(problem, queries, prediction, rounding, down, up, reach, lower, n_jobs) -> None:
    chart = problem.chart
    slopes = problem.slopes

    def block(rows: slice) -> None:
        _lower_block(
            problem.points, slopes, problem.labels, problem.n_neighbors, problem.n_classes, chart.dual,
            chart.stretch, queries, prediction, rounding, down, up, reach, lower, rows.start, rows.stop,
        )  # fmt: skip

    m = len(queries)
    parts = [slice(start, min(start + _QUERIES, m)) for start in range(0, m, _QUERIES)]
    with Workers(min(n_threads(n_jobs), len(parts))) as workers:
        workers.map(block, parts)


@njit(nogil=True, cache=True)
def _lower_block(
    U, V, labels, k, n_classes, dual, stretch, queries, prediction, rounding, down, up, reach, lower, start, stop
):
    D = np.empty(U.shape[0])
    for t in range(start, stop):
        squared_distances(U, queries[t], D)
        lower[t] = live_impostors(
            V, labels, k, n_classes, dual, stretch, prediction[t], rounding[t], down[t], up[t],
            reach[t], D, -1.0,
        )[0]  # fmt: skip


@njit(nogil=True, cache=True)
def live_impostors(V, labels, k, n_classes, dual, stretch, y, rounding, down, up, reach, D, horizon):
    """The bound of one query, and the l with ``E_l^(Q−1) < horizon``, ``Q = ⌊k/2⌋ + 1``.

    With ``horizon < 0`` it is the bound itself, lowered as l are seen: the bound over some of the l is
    never below the bound over all, so an l is settled once its ``E^(Q−1)``, the smallest of its E, reaches it.
    Three shortcuts, each of which can only lower an E (and LB grows with every E), or stops at the horizon:

    - only the nearest targets j are looked at: an order statistic over fewer j is smaller;
    - the scan over j stops when Q of the ``ε_lj`` reach the horizon;
    - ``‖a_lj‖* ≤ t ‖u_l − u_j‖ ≤ t (d_l + d_j)``, so Q nearest targets give
      ``E_l ≥ (d_l² − d_j²) / 2t(d_l + d_j)``, and far l are settled without a look at any j.

    Returns
    -------
    bound : float
    indices : int ndarray of shape (n_live,)
    E : ndarray of shape (n_live, Q)
        ``E_l^(q)``, exact over the nearest targets for the live l.
    """
    n = D.size
    Q = k // 2 + 1
    near, targets = np.empty(max(_NEAREST, 2 * Q)), np.empty(max(_NEAREST, 2 * Q), np.int64)
    n_targets = 0
    for j in range(n):
        if labels[j] == y:
            n_targets = insert(D[j], j, near, targets, n_targets, near.size)
    found = np.empty(64, np.int64)
    E = np.empty((64, Q))
    count = 0
    present = np.zeros(n_classes, np.bool_)
    # The 2k nearest l come first: they settle most of the others.
    ahead = max(2 * k, 16)
    keys, first = np.empty(ahead), np.empty(ahead, np.int64)
    n_first = 0
    for l in range(n):
        if labels[l] != y:
            present[labels[l]] = True
            n_first = insert(D[l], l, keys, first, n_first, ahead)
    C1 = present.sum()
    tau = horizon if horizon >= 0.0 else np.inf
    last = keys[n_first - 1] if n_first > 0 else 0.0
    largest = np.empty(Q)
    nothing = 0.5 * rounding[0] * rounding[1] ** 2
    seen = 0
    for turn in range(n_first + n):
        l = first[turn] if turn < n_first else turn - n_first
        if turn >= n_first:
            if labels[l] == y or D[l] < last:
                continue
            if D[l] == last:  # is it one of the first?
                again = False
                for i in range(n_first):
                    again |= first[i] == l
                if again:
                    continue
            if n_targets >= Q:
                far = D[targets[Q - 1]]
                if far < D[l] and (
                    safe_radius(0.5 * (D[l] - far), stretch * (np.sqrt(D[l]) + np.sqrt(far)), rounding) >= tau
                ):
                    continue
        for q in range(Q):
            largest[q] = 0.0  # missing targets count as 0
        settled = False
        for i in range(n_targets):
            j = targets[i]
            # Differences of Σ(u − u_j)² err by no more than the product form, in units of S²: see rounding.
            c = 0.5 * (D[l] - D[j])
            if c <= nothing:
                break  # and so are all that follow: j comes by growing D
            value = safe_radius(c, dual_length(V, l, j, dual), rounding)
            if up.size > 0 and value < tau:
                value = max(value, boxed_radius(V, l, j, c, dual, rounding, down, up, reach))
            if value > largest[Q - 1]:
                q = Q - 1
                while q > 0 and largest[q - 1] < value:
                    largest[q] = largest[q - 1]
                    q -= 1
                largest[q] = value
                if largest[Q - 1] >= tau:
                    settled = True
                    break
        if settled:
            continue
        if count == found.size:
            wider = np.empty(2 * count, np.int64)
            wider[:count] = found
            found = wider
            taller = np.empty((2 * count, Q))
            taller[:count] = E
            E = taller
        found[count] = l
        E[count] = largest
        count += 1
        seen += 1
        if horizon < 0.0 and (turn == n_first - 1 or (turn >= n_first and seen >= 16)):
            tau = min(tau, order_bound(labels, found, E, count, k, C1, n_classes))
            seen = 0
            if tau <= 0.0:  # as under the zero metric, where all are equally far: no l can change that
                break
    bound = order_bound(labels, found, E, count, k, C1, n_classes)
    return min(bound, tau) if horizon < 0.0 else bound, found[:count], E[:count]


@njit(nogil=True, cache=True)
def order_bound(labels, found, E, count, k, C1, n_classes):
    """``min_q LB_q`` over the l in ``found[:count]``; the other l count as infinite."""
    bound = np.inf
    ranks = np.empty((n_classes, k))
    overall = np.empty(k)
    for q in range(k // 2 + 1):
        if C1 == 0:
            break
        b = max(q, -(-(k - q) // C1), 1)
        filled = np.zeros(n_classes, np.int64)
        total = 0
        for i in range(count):
            value = E[i, q]
            c = labels[found[i]]
            total = _rank(value, overall, total, k - q)
            filled[c] = _rank(value, ranks[c], filled[c], b)
        if total < k - q:
            continue
        by_class = np.inf
        for c in range(n_classes):
            if filled[c] >= b:
                by_class = min(by_class, ranks[c, b - 1])
        bound = min(bound, max(overall[k - q - 1], by_class))
    return bound


@njit(nogil=True, cache=True)
def _rank(value, values, count, cap):
    """Insert into a sorted list of the ``cap`` smallest; its new length."""
    if count == cap:
        if not value < values[count - 1]:
            return count
        count -= 1
    i = count
    while i > 0 and values[i - 1] > value:
        values[i] = values[i - 1]
        i -= 1
    values[i] = value
    return count + 1
