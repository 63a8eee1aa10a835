"""The smallest move that changes a 1-NN vote."""

from typing import NamedTuple

import numpy as np

from holdfast._core.active_set import add_constraint, certified, clear, interior_direction
from holdfast._core.compiling import FAST, NONE, ZERO, entry, inner
from holdfast._core.halfspace import (
    ROUNDED,
    Rounding,
    dot,
    dot_work,
    euclidean_length,
    length,
    level,
    safe_radius,
    scale,
    slack,
    slack_within,
    squared_distances,
    subtract,
    violated_side,
)
from holdfast._core.order import insert

# How many are tried first: measured on digits, where 40 targets and 16 impostors leave about one program a query.
_TARGETS, _IMPOSTORS = 40, 16
# A row counts as violated beyond this part of its rounding slack. It steers the search; no bound rests on it.
VIOLATED = 0.04


class Voters(NamedTuple):
    """Reference points in the kernels."""

    points: np.ndarray  # (n, r): U, where the distance is Euclidean
    slopes: np.ndarray  # (n, s): V, with a_lj = v_l − v_j in the coordinates of the moves
    labels: np.ndarray  # (n,)
    to_input: np.ndarray  # (n_free, s): from coordinates of a move to the inputs
    lipschitz: float  # t with ‖a_lj‖* ≤ t ‖u_l − u_j‖₂


class Workspace(NamedTuple):
    """Work space of :func:`nearest_changes`."""

    D: np.ndarray  # (n,): squared distances from the query
    done: np.ndarray  # (n,): which impostors have been handled
    targets: np.ndarray  # (n,): points of class y
    gaps: np.ndarray  # (n_near,): squared distances of the nearest targets
    near: np.ndarray  # (n_near,): their indices
    keys: np.ndarray  # (n_first,): squared distances of the nearest impostors
    first: np.ndarray  # (n_first,): their indices
    bounds: np.ndarray  # (n,): bounds of the impostors that the screening leaves
    kept: np.ndarray  # (n,): these impostors
    rows: np.ndarray  # (n,): targets j of one program
    levels: np.ndarray  # (n,): their c_lj
    row: np.ndarray  # (s,): a slope or a direction
    moved: np.ndarray  # (s,): a point


def empty_workspace(n: int, s: int) -> Workspace:
    """Work space for n points with slopes of s coordinates."""
    return Workspace(
        D=np.empty(n), done=np.empty(n, np.bool_), targets=np.empty(n, np.int64),
        gaps=np.empty(_TARGETS), near=np.empty(_TARGETS, np.int64),
        keys=np.empty(_IMPOSTORS), first=np.empty(_IMPOSTORS, np.int64),
        bounds=np.empty(n), kept=np.empty(n, np.int64), rows=np.empty(n, np.int64), levels=np.empty(n),
        row=np.empty(s), moved=np.empty(s),
    )  # fmt: skip


@entry
def nearest_changes(
    voters, queries, prediction, rounding, down, up, active, work, most, lower, z, elected, done, start, stop
):
    """``lower[t]``, ``z[t]`` and the class ``elected[t]`` at it, for the queries ``start … stop − 1``. ``rounding`` has
    sizes and map errors of all queries; ``down`` and ``up`` are None, and the code of the box is not compiled, without
    limits. The work ``done[t]`` on each query is about ``most``, besides passes over the points.
    """
    labels, D = voters.labels, work.D
    for t in range(start, stop):
        active.work[0] = 0
        own = Rounding(rounding.kappa, rounding.size[t], rounding.growth, rounding.map_error[t])
        if up is None:
            lower[t] = _nearest_change(voters, queries[t], prediction[t], own, None, None, active, work, most, z[t])
        else:
            lower[t] = _nearest_change(voters, queries[t], prediction[t], own, down[t], up[t], active, work, most, z[t])
        done[t] = active.work[0]
        first = 0
        for i in range(1, D.size):
            if D[i] < D[first]:
                first = i
        elected[t] = labels[first]


@inner
def _nearest_change(voters, u, y, rounding, down, up, active, work, most, best_z):
    """The certified radius of one query; the move that reaches it goes to ``best_z`` (NaN if none). Once the work is
    ``most``, impostors are bounded by their distance alone, and those with a program to solve by single rows (Lemma
    E3).
    """
    V, labels, lipschitz = voters.slopes, voters.labels, voters.lipschitz
    D, done, targets = work.D, work.done, work.targets
    gaps, near, keys, first, bounds, kept = work.gaps, work.near, work.keys, work.first, work.bounds, work.kept
    n, width = D.size, dot_work(V.shape[1])
    squared_distances(voters.points, u, D)
    for t in range(best_z.size):
        best_z[t] = np.nan
    n_targets, n_near, n_first = ZERO, ZERO, ZERO
    for i in range(n):
        done[i] = labels[i] == y
        if done[i]:
            targets[n_targets] = i
            n_targets += 1
            n_near = insert(D[i], i, gaps, near, n_near)
        else:
            n_first = insert(D[i], i, keys, first, n_first)
    if n_targets == 0:
        return 0.0
    best, low = np.inf, np.inf  # length of the best witness, certified so far
    # Round 0: the nearest impostors, to have a witness; round 1: all others that it does not rule out.
    for turn in range(2):
        count = 0
        margin = slack_within(rounding, best)
        far = _out_of_reach(lipschitz, gaps[0], margin, best)
        for i in range(n_first if turn == 0 else n):
            l = first[i] if turn == 0 else i
            if done[l]:
                continue
            looks = n_near if active.work[0] < most else 1  # one look at a row is all there is after that
            if best < np.inf and D[l] >= far:
                low = best if best < low else low
                continue
            active.work[0] += 2 * looks * width
            if best < np.inf and _ruled_out(V, l, near, looks, D, margin, best):
                low = best if best < low else low
                continue
            done[l] = True
            bound = _screened(V, lipschitz, l, near, looks, D, rounding, best)
            if bound < best:
                bounds[count], kept[count] = bound, l
                count += 1
            elif bound < low:
                low = bound
        for _ in range(count):  # by growing bound, until it reaches the best
            at = 0
            for i in range(1, count):
                if bounds[i] < bounds[at]:
                    at = i
            bound = bounds[at]
            active.work[0] += count
            if bound >= best or active.work[0] >= most:
                low = bound if bound < low else low
                break
            bounds[at] = np.inf
            value, size = _projection(
                voters, u, kept[at], n_targets, rounding, down, up, best, bound, active, work, most, best_z
            )
            low = value if value < low else low
            best = size if size < best else best
    return low


@inner
def _out_of_reach(lipschitz, nearest, margin, best):
    """The least d² with ``½(d² − d_1²) ≥ t(d + d_1) best + ½κ(S + g best)² + w best``, d_1 the distance of the nearest
    target: farther impostors have ``ρ_l ≥ best`` (Lemma E3). One quadratic equation in place of a square root for each
    impostor.
    """
    way = lipschitz * best
    within = nearest + 2.0 * (way * np.sqrt(nearest) + margin)
    d = way + np.sqrt(way * way + within)
    return d * d * (1.0 + 1e-9)  # 1e-9: far more than the rounding of this function


@inner(fastmath=FAST)
def _ruled_out(V, l, near, n_near, D, margin, best):
    """True if ``c_lj > ‖a_lj‖ best + margin`` for one of the nearest targets, so that ``ρ_l ≥ best`` (Lemma E3);
    ``margin`` is that of rounding at moves of size ``best``.
    """
    for i in range(n_near):
        j = near[i]
        left = 0.5 * (D[l] - D[j]) - margin
        if left <= 0.0:
            return False
        a2 = 0.0
        for k in range(V.shape[1]):
            a2 += (V[l, k] - V[j, k]) ** 2
        if a2 * best * best * (1.0 + 1e-9) < left * left:
            return True
    return False


@inner
def _screened(V, lipschitz, l, near, n_near, D, rounding, best):
    """A lower bound on ``ρ_l`` from single rows: the distance of l alone, then the nearest targets (Lemma E3). Called
    for every impostor, so it takes arrays: numba counts references to all arrays of a tuple.
    """
    bound, nearest = 0.0, D[near[0]]
    if D[l] > nearest:
        slope = lipschitz * (np.sqrt(D[l]) + np.sqrt(nearest))
        bound = safe_radius(0.5 * (D[l] - nearest), slope, rounding)
    for i in range(n_near):
        j = near[i]
        if bound >= best or D[j] >= D[l]:
            break
        value = safe_radius(0.5 * (D[l] - D[j]), euclidean_length(V, l, j), rounding)
        bound = value if value > bound else bound
    return bound


@inner
def _projection(voters, u, l, n_targets, rounding, down, up, best, bound, active, work, most, best_z):
    """``ρ_l``, certified (at least ``bound``), and the length of a move beyond it (infinite if not below ``best``)."""
    U, V, to_input, z = voters.points, voters.slopes, voters.to_input, active.z
    targets, rows, c, a, moved = work.targets, work.rows, work.levels, work.row, work.moved
    s, count = z.size, ZERO
    for i in range(n_targets):
        j = targets[i]
        value = level(U, u, l, j)
        # Inside the best radius a row with c ≤ −best ‖a‖ always holds, as does one of two equal points (Lemma E3).
        if value > 0.0 or best == np.inf or value > -best * euclidean_length(V, l, j) * (1.0 + 1e-9):
            rows[count], c[count] = j, value
            count += 1
    active.work[0] += 2 * n_targets * dot_work(s)
    clear(active)
    certificate = bound
    for _ in range(50 * s + 50):  # far more rows than ever enter; a search that ends here is still certified
        active.work[0] += count * dot_work(s)
        if up is not None:
            active.work[0] += up.size * dot_work(s)
        worst, row = VIOLATED * slack(rounding, length(z)), NONE
        here = dot(V[l], z)
        for i in range(count):
            gap = c[i] - here + dot(V[rows[i]], z)
            if gap > worst:
                worst, row = gap, i
        if row >= 0:
            subtract(V[l], V[rows[row]], a)
            b, j, c_row = l, rows[row], c[row]
        else:
            if up is None:
                break
            side, j = violated_side(to_input, z, down, up, ROUNDED * length(z))
            if j < 0:
                break
            scale(-side, to_input[j], a)
            b, c_row = NONE, -up[j] if side > 0 else -down[j]
        ended = add_constraint(a, c_row, b, j, active, rounding)
        value = certified(active, rounding)
        value = value if value > ended else ended
        certificate = value if value > certificate else certificate
        if ended != 0.0 or certificate >= best or active.work[0] >= most:
            return certificate, np.inf
    margin = slack(rounding, length(z))
    push = 2.0 * margin
    interior_direction(active, a)
    for _ in range(8):  # tenfold pushes, until l is nearer than all targets however rounded
        for t in range(s):
            moved[t] = z[t] + push * a[t]
        active.work[0] += count * dot_work(s)
        clear_of_all = _clears(V, l, rows, c, count, moved, margin)
        if clear_of_all and up is not None:
            clear_of_all = violated_side(to_input, moved, down, up, ROUNDED * length(moved))[1] < 0
        if clear_of_all:
            size = length(moved)
            if size < best:
                for t in range(s):
                    best_z[t] = moved[t]
                return certificate, size
            return certificate, np.inf
        push *= 10.0
    return certificate, np.inf


@inner
def _clears(V, l, rows, c, count, moved, margin):
    """True if l is nearer than every target after the move, with a margin."""
    here = dot(V[l], moved)
    for i in range(count):
        if here - dot(V[rows[i]], moved) < c[i] + margin:
            return False
    return True
