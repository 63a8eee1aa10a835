"""The search tree of :mod:`~holdfast.certificates.exact_knn`: nodes, relaxations and branching, compiled.

Points are the ones in reach of a query, ``φ_p = ½ d²(u, p) − v_p · z`` is half their squared distance after the
move z (but for a constant): row (b, j) holds where ``φ_b ≤ φ_j``. A node has chosen members (first those of
the winning class c, then others), points of class y that are excused (S) and points of class y that are not
(must); a parent's relaxation and multipliers are where its children start.
"""

import numpy as np
from numba import njit

from holdfast.certificates.active_set import certified, certified_within, clear, dot, enter, inward, reload
from holdfast.certificates.exact_1nn import violated_side
from holdfast.certificates.halfspace import dual_length, level
from holdfast.certificates.votes import insert, winner

MUST, ACTIVE, LOOK = 64, 48, 24  # longest lists of a node; targets that bound a child
CLOSE = 1.0 - 1e-9  # a node this near the best witness is closed, at its own bound


@njit(nogil=True, cache=True)
def empty_tree(capacity, k, Q):
    """Arrays over node slots, the heap of slots by bound, and the numbers that change.

    ``facts``: best witness, least bound of a closed node, horizon. ``counts``: heap length, free slots,
    nodes solved, slot to solve next (-1: the heap's first), 1 if a node was lost for want of room.
    """
    return (
        np.empty(capacity), np.zeros((capacity, 6), np.int64), np.empty((capacity, k), np.int64),
        np.empty((capacity, Q), np.int64), np.empty((capacity, MUST), np.int64),
        np.empty((capacity, ACTIVE, 2), np.int64), np.empty((capacity, ACTIVE)),
        np.empty(capacity, np.int64), np.arange(capacity - 1, -1, -1),
        np.array([np.inf, np.inf, np.inf]), np.array([0, capacity, 0, -1, 0]),
    )  # fmt: skip


# Columns of a node's numbers.
MODE, MEMBERS, LAST, EXCUSED, HELD, ROWS = 0, 1, 2, 3, 4, 5


@njit(nogil=True, cache=True)
def push(tree, slot):
    """Put a slot into the heap."""
    bound, heap, counts = tree[0], tree[7], tree[10]
    i = counts[0]
    counts[0] += 1
    while i > 0:
        parent = (i - 1) // 2
        if bound[heap[parent]] <= bound[slot]:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = slot


@njit(nogil=True, cache=True)
def pop(tree):
    """Take the slot of least bound out of the heap."""
    bound, heap, counts = tree[0], tree[7], tree[10]
    top = heap[0]
    counts[0] -= 1
    n = counts[0]
    if n > 0:
        slot = heap[n]
        i = 0
        while 2 * i + 1 < n:
            child = 2 * i + 1
            if child + 1 < n and bound[heap[child + 1]] < bound[heap[child]]:
                child += 1
            if bound[heap[child]] >= bound[slot]:
                break
            heap[i] = heap[child]
            i = child
        heap[i] = slot
    return top


@njit(nogil=True, cache=True)
def new_child(tree, parent, bound):
    """A copy of a node with its own bound; -1, and the bound on record, if it is closed at once."""
    facts, counts = tree[9], tree[10]
    if bound >= min(facts[0] * CLOSE, facts[2]):
        facts[1] = min(facts[1], bound)
        return -1
    if counts[1] == 0:
        facts[1] = min(facts[1], bound)
        counts[4] = 1
        return -1
    counts[1] -= 1
    slot = tree[8][counts[1]]
    tree[0][slot] = bound
    if parent >= 0:
        tree[1][slot] = tree[1][parent]
        tree[2][slot] = tree[2][parent]
        tree[3][slot] = tree[3][parent]
        tree[4][slot] = tree[4][parent]
        rows = tree[1][parent, ROWS]
        tree[5][slot, :rows] = tree[5][parent, :rows]
        tree[6][slot, :rows] = tree[6][parent, :rows]
    else:
        tree[1][slot] = 0
    return slot


@njit(nogil=True, cache=True)
def search(tree, state, data, modes, steps, best_z):
    """Solve up to ``steps`` nodes; whether the search is over.

    ``data``: U, V, D, labels (of the points in reach), u, y, k, n_classes, lowest, live (their indices), E,
    order (live by E for each q), back, rounding, down, up, targets. ``modes`` (n, 5): class c (-1: any), q,
    members of class c, other members, 1 if the first member has to be nearer than all of class y.
    """
    facts, counts = tree[9], tree[10]
    for _ in range(steps):
        if counts[3] >= 0:
            slot = counts[3]
            counts[3] = -1
        elif counts[0] > 0:
            slot = pop(tree)
        else:
            return True
        if tree[0][slot] >= min(facts[0] * CLOSE, facts[2]):
            facts[1] = min(facts[1], tree[0][slot])
            _release(tree, slot)
            continue
        counts[2] += 1
        _node(tree, slot, state, data, modes, best_z)
        _release(tree, slot)
    return counts[0] == 0 and counts[3] < 0


@njit(nogil=True, cache=True)
def _release(tree, slot):
    counts = tree[10]
    tree[8][counts[1]] = slot
    counts[1] += 1


@njit(nogil=True, cache=True)
def _load(tree, slot, state, U, V, u, back, down, up):
    """The rows and multipliers of a node, into the state of the solver."""
    A, lam, c, tags = state[0], state[3], state[4], state[5]
    clear(state)
    rows = tree[1][slot, ROWS]
    for i in range(rows):
        b, j = tree[5][slot, i, 0], tree[5][slot, i, 1]
        tags[i, 0], tags[i, 1] = b, j
        lam[i] = tree[6][slot, i]
        if b >= 0:
            A[i] = V[b] - V[j]
            c[i] = level(U, u, b, j)
        elif b == -1:
            A[i] = -back[j]
            c[i] = -up[j]
        else:
            A[i] = back[j]
            c[i] = -down[j]
    state[9][0] = rows
    reload(state)


@njit(nogil=True, cache=True)
def _heights(D, V, z, phi):
    for p in range(D.size):
        phi[p] = 0.5 * D[p] - dot(V[p], z)


@njit(nogil=True, cache=True)
def _holds(items, count, item):
    for i in range(count):
        if items[i] == item:
            return True
    return False


@njit(nogil=True, cache=True)
def _solve(tree, slot, state, data, modes, phi):
    """The relaxation of a node: all the rows that its decisions imply. Its certified bound; -1 if it is closed."""
    U, V, D, labels, u, y, k, n_classes, lowest, live, E, order, back, rounding, down, up, targets = data
    facts = tree[9]
    c, q, n_own, n_other, leads = modes[tree[1][slot, MODE]]
    n_members, n_excused, n_held = tree[1][slot, MEMBERS], tree[1][slot, EXCUSED], tree[1][slot, HELD]
    members, excused, must = tree[2][slot], tree[3][slot], tree[4][slot]
    z = state[6]
    a = np.empty(z.size)
    bound = tree[0][slot]
    limit = min(facts[0], facts[2])
    for _ in range(50 * z.size + 50):
        _heights(D, V, z, phi)
        far = rounding[1] + rounding[2] * np.sqrt(dot(z, z))
        gap, b, j = 0.02 * rounding[0] * far * far, -1, -1
        if n_members > 0:
            highest = members[0]
            for i in range(1, n_members):
                if phi[members[i]] > phi[highest]:
                    highest = members[i]
            if n_excused == q:
                for p in targets:
                    if phi[highest] - phi[p] > gap and not _holds(excused, n_excused, p):
                        gap, b, j = phi[highest] - phi[p], highest, p
            else:
                for i in range(n_held):
                    if phi[highest] - phi[must[i]] > gap:
                        gap, b, j = phi[highest] - phi[must[i]], highest, must[i]
            if leads == 1:
                for p in targets:
                    if phi[members[0]] - phi[p] > gap:
                        gap, b, j = phi[members[0]] - phi[p], members[0], p
            if c >= 0 and n_members == n_own + n_other:
                highest = members[0]
                for i in range(1, n_own):
                    if phi[members[i]] > phi[highest]:
                        highest = members[i]
                for p in range(D.size):
                    if (
                        phi[highest] - phi[p] > gap
                        and labels[p] != y
                        and labels[p] != c
                        and not _holds(members, n_members, p)
                    ):
                        gap, b, j = phi[highest] - phi[p], highest, p
        if b >= 0:
            a[:] = V[b] - V[j]
            ended = enter(a, level(U, u, b, j), b, j, state, rounding)
        else:
            side, edge = violated_side(back, z, down, up)
            if edge < 0:
                return bound
            a[:] = -side * back[edge]
            room, tag = (up[edge], -1) if side > 0 else (down[edge], -2)
            ended = enter(a, -room, tag, edge, state, rounding)
        bound = max(bound, ended, certified(state, rounding))
        if ended != 0.0 or bound >= limit:
            facts[1] = min(facts[1], bound)
            return -1.0
    facts[1] = min(facts[1], bound)
    return -1.0


@njit(nogil=True, cache=True)
def _changes(state, data, phi, pushes, best, best_z):
    """The length of a move a hair beyond z that changes the vote; infinite if none was found."""
    U, V, D, labels, u, y, k, n_classes, lowest, live, E, order, back, rounding, down, up, targets = data
    z = state[6]
    w = np.empty(z.size)
    inward(state, w)
    far = rounding[1] + rounding[2] * np.sqrt(dot(z, z))
    step = rounding[0] * far * far
    keys, nearest = np.empty(k), np.empty(k, np.int64)
    for _ in range(pushes):
        moved = z + step * w
        _heights(D, V, moved, phi)
        count = 0
        for p in range(D.size):
            count = insert(phi[p], p, keys, nearest, count, k)
        if winner(labels, nearest, count, n_classes, lowest) != y and violated_side(back, moved, down, up)[1] < 0:
            length = np.sqrt(dot(moved, moved))
            if length < best:
                best_z[:] = moved
            return length
        step *= 20.0
    return np.inf


@njit(nogil=True, cache=True)
def _node(tree, slot, state, data, modes, best_z):
    """Solve a node; close it if it is a leaf, else put its children into the heap."""
    U, V, D, labels, u, y, k, n_classes, lowest, live, E, order, back, rounding, down, up, targets = data
    facts, counts = tree[9], tree[10]
    numbers, members, excused, must = tree[1][slot], tree[2][slot], tree[3][slot], tree[4][slot]
    c, q, n_own, n_other, leads = modes[numbers[MODE]]
    n_members, n_excused, n_held = numbers[MEMBERS], numbers[EXCUSED], numbers[HELD]
    phi = np.empty(D.size)
    _load(tree, slot, state, U, V, u, back, down, up)
    bound = _solve(tree, slot, state, data, modes, phi)
    if bound < 0.0:
        return
    tree[0][slot] = bound
    complete = n_members == n_own + n_other
    if n_members > 0:
        length = _changes(state, data, phi, 4 if complete else 1, facts[0], best_z)
        if length < np.inf:
            facts[0] = min(facts[0], length)
            facts[1] = min(facts[1], bound)
            return
    z = state[6]
    _heights(D, V, z, phi)
    rows = state[9][0]
    numbers[ROWS] = rows if rows <= ACTIVE else 0
    for i in range(numbers[ROWS]):
        tree[5][slot, i, 0], tree[5][slot, i, 1] = state[5][i, 0], state[5][i, 1]
        tree[6][slot, i] = state[3][i]
    # Bounds of children hold for moves up to ``within``: no more is needed than what closes a node.
    within = min(facts[0], facts[2])
    if within == np.inf:
        within = 4.0 * max(bound, np.sqrt(dot(z, z)))
    far = rounding[1] + rounding[2] * within
    unsure, blur = 0.5 * rounding[0] * far * far, rounding[0] * rounding[1] * rounding[2] + rounding[3]
    along = certified_within(state, rounding, within)
    off = np.sqrt(dot(z, z)) - along  # from z back to the point that is certified
    slots = q - n_excused
    favourite = -1  # the child of least bound: solved next while there is no witness
    if slots > 0 and n_members > 0:
        # Targets nearer than the farthest member, undecided: more than can be excused?
        highest = members[0]
        for i in range(1, n_members):
            if phi[members[i]] > phi[highest]:
                highest = members[i]
        keys, worst = np.empty(slots + 2), np.empty(slots + 2, np.int64)
        found = 0
        for p in targets:
            gap = phi[highest] - phi[p] - unsure
            if gap > 0.0 and not _holds(excused, n_excused, p) and not _holds(must, n_held, p):
                reach = _ratio(gap, dual_length(V, highest, p, 0) + blur)
                found = insert(-reach, p, keys, worst, found, slots + 2)
        if found > slots:
            child = new_child(tree, slot, _beyond(bound, along, -keys[0] - off, within))
            if child >= 0:
                if n_held == MUST:
                    facts[1] = min(facts[1], tree[0][child])
                    counts[4] = 1
                    _release(tree, child)
                else:
                    tree[4][child, n_held] = worst[0]
                    tree[1][child, HELD] += 1
                    favourite = _put(tree, child, favourite)
            child = new_child(tree, slot, _beyond(bound, along, -keys[slots] - off, within))
            if child >= 0:
                tree[3][child, n_excused] = worst[0]
                tree[1][child, EXCUSED] += 1
                favourite = _put(tree, child, favourite)
            _follow(tree, favourite)
            return
    if complete:
        facts[1] = min(facts[1], bound)  # a tie that no push resolves
        return
    # One more member: the targets that are nearest after the move bound the children.
    near, nearest = np.empty(LOOK), np.empty(LOOK, np.int64)
    n_near = 0
    for p in targets:
        if not _holds(excused, n_excused, p):
            n_near = insert(phi[p], p, near, nearest, n_near, LOOK)
    own = n_members < n_own
    leader = leads == 1 and n_members == 0
    fresh = leader or (leads == 1 and n_members == 1) or n_members == 0 or n_members == n_own
    last = live.size if fresh else numbers[LAST]
    left = (n_own if own else n_own + n_other) - n_members  # in this phase, this member included
    before = 0
    values = np.empty(slots + 1)
    for rank in range(last):
        i = order[q, rank]
        p = live[i]
        if (own and labels[p] != c) or _holds(members, n_members, p):
            continue
        before += 1
        if before < left and not leader:
            continue  # too few are left below it
        fixed = E[i, 0] if leader else E[i, q]
        if fixed >= min(facts[0] * CLOSE, facts[2]):
            facts[1] = min(facts[1], fixed)
            continue
        # The (slots+1)-th largest distance of z from a row of p; without slots for the rows that are held.
        allowed = 0 if leader else slots
        held, filled = 0.0, 0
        for t in range(n_near):
            gap = phi[p] - near[t] - unsure
            if gap <= 0.0:
                break
            reach = _ratio(gap, dual_length(V, p, nearest[t], 0) + blur)
            if _holds(must, n_held, nearest[t]):
                held = max(held, reach)
            else:
                if filled == allowed + 1 and reach <= values[allowed]:
                    continue
                at = min(filled, allowed)
                while at > 0 and values[at - 1] < reach:
                    values[at] = values[at - 1]
                    at -= 1
                values[at] = reach
                filled = min(filled + 1, allowed + 1)
        reach = max(held, values[allowed] if filled == allowed + 1 else 0.0)
        child = new_child(tree, slot, max(fixed, _beyond(bound, along, reach - off, within)))
        if child >= 0:
            tree[2][child, n_members] = p
            tree[1][child, MEMBERS] += 1
            tree[1][child, LAST] = rank
            favourite = _put(tree, child, favourite)
    _follow(tree, favourite)


@njit(nogil=True, cache=True)
def _ratio(gap, slope):
    return gap / slope if slope > 0.0 else np.inf


@njit(nogil=True, cache=True)
def _beyond(bound, along, reach, within):
    """Every move of a node goes ``along`` in the direction of its relaxation; ``reach`` more, at right angles or on."""
    if reach <= 0.0:
        return bound
    return max(bound, min(np.sqrt(along * along + reach * reach) * (1.0 - 1e-12), within))


@njit(nogil=True, cache=True)
def _put(tree, child, favourite):
    """Push a child, but keep the one of least bound (ties: the later) back; the one kept."""
    if favourite < 0:
        return child
    if tree[0][child] <= tree[0][favourite]:
        push(tree, favourite)
        return child
    push(tree, child)
    return favourite


@njit(nogil=True, cache=True)
def _follow(tree, favourite):
    """The child kept back is solved next if there is no witness yet, else it waits its turn."""
    if favourite >= 0:
        if tree[9][0] == np.inf:
            tree[10][3] = favourite
        else:
            push(tree, favourite)
