"""Votes of k nearest points, and their bounds by order statistics."""

from typing import NamedTuple

import numpy as np

from holdfast._core.compiling import ZERO, entry, inner
from holdfast._core.halfspace import (
    Rounding,
    boxed_radius,
    dot_work,
    dual_length,
    safe_radius,
    slack,
    squared_distances,
    subtract,
)


@inner
def insert(key, index, keys, indices, count):
    """Insert into a list sorted by key (equal keys: the earlier stays first) as long as its arrays; its new length."""
    if count == keys.size:
        if not key < keys[count - 1]:
            return count
        count -= 1
    i = count
    while i > 0 and keys[i - 1] > key:
        keys[i] = keys[i - 1]
        indices[i] = indices[i - 1]
        i -= 1
    keys[i] = key
    indices[i] = index
    return count + 1


@inner
def insert_key(key, keys, count, cap):
    """Insert like :func:`insert`, without indices, for at most ``cap`` keys."""
    if count == cap:
        if not key < keys[count - 1]:
            return count
        count -= 1
    i = count
    while i > 0 and keys[i - 1] > key:
        keys[i] = keys[i - 1]
        i -= 1
    keys[i] = key
    return count + 1


@inner
def insert_largest(value, values, count):
    """Insert into a list of the largest, largest first, as long as its array; its new length."""
    if count == values.size:
        if not value > values[count - 1]:
            return count
        count -= 1
    i = count
    while i > 0 and values[i - 1] < value:
        values[i] = values[i - 1]
        i -= 1
    values[i] = value
    return count + 1


@inner
def contains(items, count, item):
    """True if ``item`` is among ``items[:count]``."""
    for i in range(count):
        if items[i] == item:
            return True
    return False


@inner
def winner(labels, nearest, count, tally, lowest_wins):
    """The class that wins among ``nearest[:count]`` (sorted, nearest first); ``tally`` is work space for the votes."""
    most = ZERO
    for c in range(tally.size):
        tally[c] = 0
    for i in range(count):
        c = labels[nearest[i]]
        tally[c] += 1
        if tally[c] > most:
            most = tally[c]
    if lowest_wins:
        for c in range(tally.size):
            if tally[c] == most:
                return c
    for i in range(count):
        c = labels[nearest[i]]
        if tally[c] == most:
            return c
    return -1


@entry
def vote_rows(U, labels, queries, lowest_wins, keys, nearest, tally, D, out):
    """``out[q]``: the class elected at ``queries[q]``, distances ``Σ (u − u_j)²`` in float64. Work space: ``keys`` and
    ``nearest`` (k,), ``tally`` (n_classes,), ``D`` (n,).
    """
    for q in range(queries.shape[0]):
        squared_distances(U, queries[q], D)
        count = ZERO
        for i in range(D.size):
            count = insert(D[i], i, keys, nearest, count)
        out[q] = winner(labels, nearest, count, tally, lowest_wins)


_TARGETS = 128  # targets j that are used: more tighten E_l only where k is large, and then 2Q are taken
_REFRESH = 16  # impostors between two updates of the bound


class VoteRule(NamedTuple):
    """The rule of a vote, and the measure of moves."""

    k: int
    n_classes: int
    norm_code: int  # dual length of a slope, as in holdfast._core.halfspace
    lipschitz: float  # t with ‖a_lj‖* ≤ t ‖u_l − u_j‖₂


class Impostors(NamedTuple):
    """The impostors found so far with their ``E_l^(q)``, and work space."""

    indices: np.ndarray  # (n,)
    E: np.ndarray  # (n, Q)
    near: np.ndarray  # (n_near,): squared distances of the nearest targets
    targets: np.ndarray  # (n_near,): their indices
    keys: np.ndarray  # (n_first,): squared distances of the nearest impostors
    first: np.ndarray  # (n_first,): their indices
    present: np.ndarray  # (n_classes,): bool
    by_class: np.ndarray  # (n_classes, k): the smallest E of each class
    overall: np.ndarray  # (k,): the smallest E of all
    filled: np.ndarray  # (n_classes,): how many there are
    row: np.ndarray  # (s,)
    done: np.ndarray  # (1,): the work on the last query, besides passes over the points


def empty_impostors(n: int, s: int, rule: VoteRule) -> Impostors:
    """Empty lists for n impostors, with slopes of s coordinates."""
    k, Q, C = rule.k, rule.k // 2 + 1, rule.n_classes
    n_near, n_first = max(_TARGETS, 2 * Q), max(2 * k, _REFRESH)
    return Impostors(
        indices=np.empty(n, np.int64), E=np.empty((n, Q)),
        near=np.empty(n_near), targets=np.empty(n_near, np.int64),
        keys=np.empty(n_first), first=np.empty(n_first, np.int64), present=np.empty(C, np.bool_),
        by_class=np.empty((C, k)), overall=np.empty(k), filled=np.empty(C, np.int64), row=np.empty(s),
        done=np.zeros(1, np.int64),
    )  # fmt: skip


@entry
def order_bounds(
    points, V, labels, rule, queries, prediction, rounding, down, up, reach, D, work, horizon, most, lower, count,
    start, stop,
):  # fmt: skip
    """``lower[t]``, the bound of the queries ``start … stop − 1``, and ``count[t]``, how many l are live. ``down`` and
    ``up`` are None, and the code of the box is not compiled, without limits; D (n,) is work space. The work on each is
    about ``most`` besides passes over the points, ``work.done`` that on the last.
    """
    for t in range(start, stop):
        squared_distances(points, queries[t], D)
        own = Rounding(rounding.kappa, rounding.size[t], rounding.growth, rounding.map_error[t])
        y, far, H = prediction[t], reach[t], horizon[t]
        if up is None:
            found = _live_impostors(V, labels, rule, y, own, None, None, far, D, H, most, work)
        else:
            found = _live_impostors(V, labels, rule, y, own, down[t], up[t], far, D, H, most, work)
        lower[t], count[t] = found


@inner
def _live_impostors(V, labels, rule, y, rounding, down, up, reach, D, horizon, most, work):
    """The bound of one query, and how many l have ``E_l^(Q−1) < horizon``, ``Q = ⌊k/2⌋ + 1``.

    With ``horizon < 0`` it is the bound itself, lowered as l are processed: the bound over some of the l is never
    below the bound over all, so an l is ruled out once its ``E^(Q−1)``, the smallest of its E, reaches it.
    Four shortcuts, each of which can only lower an E (and LB grows with every E), or stops at the horizon (Lemma B2):

    - only the nearest targets j are used: an order statistic over fewer j is smaller;
    - the scan over j stops when Q of the ``ε_lj`` reach the horizon;
    - ``‖a_lj‖* ≤ t ‖u_l − u_j‖ ≤ t (d_l + d_j)``, so Q nearest targets give
      ``E_l ≥ (d_l² − d_j²) / 2t(d_l + d_j)``, and far l are ruled out without computing any ε_lj;
    - once the work is ``most``, this bound is taken for every E of the l that are left.

    Returns
    -------
    bound : float
    count : int
        The live l are ``work.indices[:count]``, their ``E_l^(q)``, exact over the nearest targets, ``work.E[:count]``.
    """
    n, Q, norm_code, lipschitz = D.size, rule.k // 2 + 1, rule.norm_code, rule.lipschitz
    near, targets, keys, first, present = work.near, work.targets, work.keys, work.first, work.present
    indices, E, a = work.indices, work.E, work.row
    # The 2k nearest l come first: they rule out most of the others.
    n_targets, n_first, n_present = ZERO, ZERO, ZERO
    for c in range(present.size):
        present[c] = False
    for i in range(n):
        c = labels[i]
        if c == y:
            n_targets = insert(D[i], i, near, targets, n_targets)
        else:
            if not present[c]:
                present[c] = True
                n_present += 1
            n_first = insert(D[i], i, keys, first, n_first)
    limit = horizon if horizon >= 0.0 else np.inf
    last = keys[n_first - 1] if n_first > 0 else 0.0
    count, fresh, done = ZERO, 0, ZERO
    width = dot_work(V.shape[1]) if up is None else 6 * V.shape[1] + 20
    for turn in range(n_first + n):
        l = first[turn] if turn < n_first else turn - n_first
        easy = 0.0
        if turn >= n_first and (labels[l] == y or D[l] < last or (D[l] == last and contains(first, n_first, l))):
            continue
        if n_targets >= Q and (turn >= n_first or done >= most):
            far = D[targets[Q - 1]]
            slope = lipschitz * (np.sqrt(D[l]) + np.sqrt(far))
            if far < D[l]:
                easy = safe_radius(0.5 * (D[l] - far), slope, rounding)
            if easy >= limit:
                continue
        if done >= most:
            for q in range(Q):
                E[count, q] = easy
        else:
            tried = _largest_distances(
                V, norm_code, l, targets, n_targets, D, rounding, down, up, reach, limit, a, E[count]
            )
            done += width * abs(tried)
            if tried < 0:
                continue
        indices[count] = l
        count += 1
        fresh += 1
        if horizon < 0.0 and (turn == n_first - 1 or (turn >= n_first and fresh >= _REFRESH)):
            if turn == n_first - 1 or done < most:
                bound = order_bound(labels, work, count, rule, n_present)
                done += 4 * count * Q
                limit = bound if bound < limit else limit
            fresh = 0
            if limit <= 0.0:  # as under the zero metric, where all are equally far: no l can change that
                break
    bound = order_bound(labels, work, count, rule, n_present)
    work.done[0] = done
    return limit if horizon < 0.0 and limit < bound else bound, count


@inner
def _largest_distances(V, norm_code, l, targets, n_targets, D, rounding, down, up, reach, limit, a, largest):
    """The Q largest ``ε_lj``, largest first, missing ones 0; stops as soon as all Q reach the limit. Returns how many j
    were tried, at least 1; negative if all Q reach the limit.
    """
    Q, filled, tried = largest.size, ZERO, ZERO
    nothing = slack(rounding, 0.0)
    for q in range(Q):
        largest[q] = 0.0
    for i in range(n_targets):
        j = targets[i]
        # Differences of Σ(u − u_j)² err by no more than the product form, in units of S² (Lemma F2).
        c = 0.5 * (D[l] - D[j])
        if c <= nothing:
            break  # and so are all that follow: j comes by growing D
        tried += 1
        value = safe_radius(c, dual_length(V, l, j, norm_code), rounding)
        if up is not None and value < limit:
            subtract(V[l], V[j], a)
            value = max(value, boxed_radius(a, c, norm_code, rounding, down, up, reach))
        filled = insert_largest(value, largest, filled)
        if filled == Q and largest[Q - 1] >= limit:
            return -tried
    return tried + 1


@inner
def order_bound(labels, work, count, rule, n_present):
    """``min_q LB_q`` over the l in ``work.indices[:count]``; the other l count as infinite (Lemma B1)."""
    k, indices, E = rule.k, work.indices, work.E
    by_class, overall, filled = work.by_class, work.overall, work.filled
    bound = np.inf
    if n_present == 0:
        return bound
    for q in range(k // 2 + 1):
        share = (k - q + n_present - 1) // n_present  # pigeonhole: some other class holds at least its share of k − q
        b = share if share > q else q
        for c in range(filled.size):
            filled[c] = 0
        total = ZERO
        for i in range(count):
            c = labels[indices[i]]
            total = insert_key(E[i, q], overall, total, k - q)
            filled[c] = insert_key(E[i, q], by_class[c], filled[c], b)
        if total < k - q:
            continue
        least = np.inf
        for c in range(filled.size):
            if filled[c] >= b and by_class[c, b - 1] < least:
                least = by_class[c, b - 1]
        least = least if least > overall[k - q - 1] else overall[k - q - 1]
        bound = least if least < bound else bound
    return bound


_HALVINGS = 45  # of a segment: below the rounding of its length


@entry
def first_change(P, labels, U, E, voters, codes, k, n_classes, lowest_wins, out):
    """The least t found at which a row's voters elect another class than its code; NaN if at 1 they still elect it.
    Voters are sorted by index; one that is named twice votes once.
    """
    m, width = voters.shape
    at_u, at_e = np.empty(width), np.empty(width)
    keys, chosen, tally = np.empty(k), np.empty(k, np.int64), np.empty(n_classes, np.int64)
    for row in range(m):
        for i in range(width):
            p = voters[row, i]
            at_u[i] = 0.0
            at_e[i] = 0.0
            for r in range(P.shape[1]):
                at_u[i] += (U[row, r] - P[p, r]) ** 2
                at_e[i] += (E[row, r] - P[p, r]) ** 2
        low, high, t = 0.0, 1.0, 1.0
        out[row] = np.nan
        for _ in range(_HALVINGS + 1):
            count = ZERO
            for i in range(width):
                if i == 0 or voters[row, i] != voters[row, i - 1]:
                    key = (1.0 - t) * at_u[i] + t * at_e[i]
                    count = insert(key, voters[row, i], keys, chosen, count)
            if winner(labels, chosen, count, tally, lowest_wins) != codes[row]:
                high = t
                out[row] = t
            elif t == 1.0:
                break
            else:
                low = t
            t = 0.5 * (low + high)
