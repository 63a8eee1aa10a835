"""Branching over who votes."""

import numpy as np

from holdfast._core.active_set import certified_along, point_beyond, reload
from holdfast._core.compiling import NONE, ZERO, entry, inner
from holdfast._core.halfspace import dot_work, length
from holdfast._core.order import contains, insert, insert_key, insert_largest
from holdfast._core.relaxation import (
    AGAINST_OTHERS,
    MAX_REQUIRED,
    farthest,
    half_distances,
    length_with_row,
    load_rows,
    new_child,
    pop,
    pruning_bound,
    push,
    push_but_least,
    record_closed,
    relaxation,
    release,
    schedule,
    store_rows,
    stretched_witness,
    witness,
)

_NODE, _EACH, CHILD = 1000, 8, 40  # the work of a node, of a point that is looked at and of a child, besides the rest
N_TARGETS = 24  # targets, nearest after the move, that bound a new member: fewer give a weaker bound, more take longer


@entry
def search(tree, active, query, kinds, scratch, least, most, best_z):
    """Plant a root for each kind, of bound ``least`` or more, and solve nodes until it is over (True) or the work
    (``active.work``) is ``most``: what is then unsolved is left, or closed, at its bound.
    """
    nodes, heap, free, status = tree.nodes, tree.heap, tree.free, tree.status[0]
    squared, slopes, rounding, down, up = query.squared, query.slopes, query.rounding, query.down, query.up
    ball = query.ball
    z, phi = active.z, scratch.phi
    active.work[0] += _EACH * kinds.size * query.live.size
    if active.work[0] >= most:
        record_closed(status, least)
        return False
    plant_roots(tree, query, kinds, least, scratch.tally)
    while active.work[0] < most:
        if status.best <= status.enough:
            return True
        slot = status.next_slot
        if slot >= 0:
            status.next_slot = -1
        elif status.heap_size > 0:
            slot = pop(nodes, heap, status)
        else:
            return True
        node = nodes[slot]
        kind, bound = kinds[node.kind], node.bound
        if bound >= pruning_bound(status):
            record_closed(status, bound)
            release(free, status, slot)
            active.work[0] += _EACH
            continue
        active.work[0] += _NODE
        load_rows(tree, slot, active, query, down, up, ball)
        reload(active)
        if ball is not None:
            point_beyond(active, 0.0, z)
        bound = relaxation(tree, slot, active, query, kind, scratch, most, down, up, ball)
        if bound < 0.0:
            release(free, status, slot)
            continue
        node.bound = bound
        complete = node.n_members == kind.n_own + kind.n_other
        if node.n_members > 0:
            pushes = 4 if complete else 1
            size = witness(active, query, kind, scratch, pushes, status.best, best_z, down, up, ball)
            if size < np.inf:
                status.best = size if size < status.best else status.best
                record_closed(status, bound)
                release(free, status, slot)
                continue
            enough = status.enough
            if enough > 0.0 and stretched_witness(active, query, kind, scratch, enough, best_z, down, up, ball):
                status.best = status.enough
                record_closed(status, bound)
                release(free, status, slot)
                return True
        active.work[0] += phi.size * dot_work(z.size)
        half_distances(squared, slopes, z, phi)
        store_rows(tree, slot, active)
        # Bounds of children hold for moves up to ``within``: nobody asks beyond the bound that closes a node.
        within = status.best if status.best < status.horizon else status.horizon
        size = length(z)
        if within == np.inf:
            within = 4.0 * (bound if bound > size else size)
        along = certified_along(active, rounding, within) if ball is None else 0.0
        branched = _branch_on_target(tree, slot, active, query, kind, scratch, most, size, along, within, ball)
        if not branched and complete:
            record_closed(status, bound)  # a tie that no push resolves
        elif not branched:
            _branch_on_member(tree, slot, active, query, kind, scratch, most, size, along, within, ball)
        release(free, status, slot)
    return False


@inner
def _raised(bound, length, within, ball):
    """A node's bound with one more row, from :func:`length_with_row`."""
    if ball is not None:
        return bound
    length = length if length < within else within
    return length if length > bound else bound


@inner
def _branch_on_target(tree, slot, active, query, kind, scratch, most, size, along, within, ball):
    """If more targets are nearer than some member than can be excused: require the worst, or excuse it. Targets that no
    move within reach puts behind the members are excused at once. True if it branched, or the node was closed for lack
    of work.
    """
    nodes, heap, status, node = tree.nodes, tree.heap, tree.status[0], tree.nodes[slot]
    members, excused, required = tree.members[slot], tree.excused, tree.required
    targets, phi, keys, worst = query.targets, scratch.phi, scratch.violations, scratch.worst
    bound, n_excused, n_required, n_members = node.bound, node.n_excused, node.n_required, node.n_members
    slots, each = kind.n_excused - n_excused, dot_work(query.slopes.shape[1]) + _EACH
    if slots <= 0 or n_members == 0:
        return False
    highest = farthest(phi, members, n_members)
    found = ZERO
    active.work[0] += targets.size
    for i in range(targets.size):
        p = targets[i]
        if phi[highest] <= phi[p] or contains(excused[slot], n_excused, p) or contains(required[slot], n_required, p):
            continue
        if active.work[0] >= most:
            record_closed(status, bound)
            return True
        active.work[0] += n_excused + n_required + n_members * (each if ball is None else 1)
        longest = length_with_row(query, phi, highest, p, size, along, within, ball)
        if ball is None:
            for t in range(n_members):
                if members[t] != highest and phi[members[t]] > phi[p]:
                    length = length_with_row(query, phi, members[t], p, size, along, within, ball)
                    longest = length if length > longest else longest
        if longest > 0.0:
            found = insert(-longest, p, keys, worst, found)
    if found <= slots:
        return False
    # Of the slots + 1 worst, one is not excused.
    least_length = _raised(bound, -keys[slots], within, ball)
    first = ZERO  # those before it are excused at once
    if ball is None:
        while first < slots and _raised(bound, -keys[first], within, ball) >= pruning_bound(status):
            record_closed(status, _raised(bound, -keys[first], within, ball))
            excused[slot, n_excused] = worst[first]
            n_excused += 1
            first += 1
        node.n_excused = n_excused
    least = NONE  # the child of least bound: solved next while there is no witness
    if first < slots:
        child = new_child(tree, slot, _raised(bound, -keys[first], within, ball))
        if child >= 0:
            if n_required == MAX_REQUIRED:
                record_closed(status, nodes[child].bound)
                status.overflow = 1
                release(tree.free, status, child)
            else:
                required[child, n_required] = worst[first]
                nodes[child].n_required = n_required + 1
                least = push_but_least(nodes, heap, status, child, least)
    child = new_child(tree, slot, least_length)
    if child >= 0:
        if first < slots:
            excused[child, n_excused] = worst[first]
            nodes[child].n_excused = n_excused + 1
        least = push_but_least(nodes, heap, status, child, least)
    schedule(nodes, heap, status, least)
    return True


@inner
def _branch_on_member(tree, slot, active, query, kind, scratch, most, size, along, within, ball):
    """A child for each point that can be the next member; the targets nearest after the move bound the children."""
    nodes, heap, status, node = tree.nodes, tree.heap, tree.status[0], tree.nodes[slot]
    members, excused, required = tree.members, tree.excused[slot], tree.required[slot]
    targets, labels, live, order, E = query.targets, query.labels, query.live, query.order, query.E
    phi, near, near_targets, fewest = scratch.phi, scratch.near, scratch.near_targets, scratch.fewest
    bound, n_members, n_excused, n_required = node.bound, node.n_members, node.n_excused, node.n_required
    class_c, q, n_own = kind.winner, kind.n_excused, kind.n_own
    n_near, each = ZERO, dot_work(query.slopes.shape[1]) + _EACH
    active.work[0] += targets.size * (2 + n_excused)
    for i in range(targets.size):
        p = targets[i]
        if not contains(excused, n_excused, p):
            n_near = insert(phi[p], p, near, near_targets, n_near)
    own = n_members < n_own
    leader = kind.leads > 0 and n_members == 0
    before_y = leader and kind.leads != AGAINST_OTHERS
    first_of_phase = n_members == 0 or n_members == n_own or (kind.leads > 0 and n_members == 1)
    last = live.size if first_of_phase else node.last_rank
    left = (n_own if own else n_own + kind.n_other) - n_members  # in this phase, this member included
    left = 1 if leader else left
    again = kind.n_again  # points of class c that may still join the others; they are not counted below
    if not own and class_c >= 0:
        for t in range(n_own, n_members):
            again -= 1 if labels[members[slot, t]] == class_c else 0
        left -= again
    spared = 0 if before_y else q - n_excused  # rows of a new member that need not hold
    best, filled, least = pruning_bound(status), ZERO, NONE
    for rank in range(last):
        active.work[0] += _EACH + n_members
        if active.work[0] >= most:
            record_closed(status, bound)  # what is left of the children
            break
        i = order[q, rank]
        p = live[i]
        if (own and labels[p] != class_c) or contains(members[slot], n_members, p):
            continue
        repeats = not own and labels[p] == class_c
        if (repeats and again == 0) or (class_c < 0 and _as_many(labels, members[slot], n_members, p, again)):
            continue
        if kind.wins == 1 and not own:  # no class has more votes than c, and where it wins ties not as many
            votes = n_own - 1 if query.lowest_wins and labels[p] < class_c else n_own
            if _as_many(labels, members[slot], n_members, p, votes):
                continue
        total = E[i, 0] if before_y else E[i, q]
        total = total if total > bound else bound
        if total < best and ball is None:
            active.work[0] += n_near * each
            length = _length_with_member(query, scratch, p, n_near, required, n_required, spared, size, along, within)
            total = _raised(total, length, within, ball)
        # Members come from here and before: the left-th smallest of their bounds counts for all of them.
        if left > 0 and not repeats:
            filled = insert_key(total, fewest, filled, left)
        if total >= best:
            record_closed(status, total)
            continue
        if filled < left:
            continue  # too few are left below it
        if left > 0 and fewest[left - 1] > total:
            total = fewest[left - 1]
        child = new_child(tree, slot, total)
        if child >= 0:
            active.work[0] += 2 * (n_members + n_excused + n_required) + 3 * node.n_rows + CHILD
            members[child, n_members] = p
            nodes[child].n_members = n_members + 1
            nodes[child].last_rank = rank
            least = push_but_least(nodes, heap, status, child, least)
    schedule(nodes, heap, status, least)


@inner
def _as_many(labels, members, n_members, p, most):
    """True if ``most`` members are of the class of p."""
    for t in range(n_members):
        if labels[members[t]] == labels[p]:
            most -= 1
    return most <= 0


@inner
def _length_with_member(query, scratch, p, n_near, required, n_required, spared, size, along, within):
    """The (spared + 1)-th longest move that a row of p asks for; the longest for rows that are required."""
    phi, near_targets, reaches = scratch.phi, scratch.near_targets, scratch.reaches
    longest, filled = 0.0, ZERO
    for t in range(n_near):
        j = near_targets[t]
        if phi[p] <= phi[j]:
            break  # and so are all that follow: targets come by growing φ
        length = length_with_row(query, phi, p, j, size, along, within, None)
        if not contains(required, n_required, j):
            filled = insert_largest(length, reaches, filled)
        elif length > longest:
            longest = length
    if filled > spared and reaches[spared] > longest:
        longest = reaches[spared]
    return longest


@inner
def plant_roots(tree, query, kinds, least, tally):
    """Put a node with nothing chosen for every kind into the heap, its bound at least ``least``, and record the kinds
    that their bound closes. ``tally`` is work space for a count of each class.
    """
    nodes, heap, free, status = tree.nodes, tree.heap, tree.free, tree.status[0]
    for i in range(kinds.size):
        bound = _root_bound(query, kinds[i], status.horizon, tally)
        bound = bound if bound > least else least
        if bound >= pruning_bound(status):
            record_closed(status, bound)
            continue
        if status.n_free == 0:
            record_closed(status, bound)
            status.overflow = 1
            continue
        n_free = status.n_free - 1
        status.n_free = n_free
        slot = free[n_free]
        node = nodes[slot]
        node.bound, node.kind = bound, i
        node.n_members = node.last_rank = node.n_excused = node.n_required = node.n_rows = 0
        push(nodes, heap, status, slot)


@inner
def _root_bound(query, kind, horizon, tally):
    """The bound of all pieces of a kind: of n points that are chosen, one has at least the n-th smallest E."""
    q, c, size = kind.n_excused, kind.winner, kind.n_own + kind.n_other
    n_own, far = kind.n_own, kind.n_other - kind.n_again
    labels, live, order, E = query.labels, query.live, query.order, query.E
    n_all, own, others, bound = ZERO, ZERO, ZERO, 0.0
    if c < 0:
        for i in range(tally.size):
            tally[i] = 0
    for rank in range(live.size):
        i = order[q, rank]
        label = labels[live[i]]
        if c < 0:  # so many of each class at most
            if tally[label] == kind.n_again:
                continue
            tally[label] += 1
        n_all += 1
        if n_all == size and E[i, q] > bound:
            bound = E[i, q]
        if c < 0:
            continue
        if label == c:
            own += 1
            if own == n_own and E[i, q] > bound:
                bound = E[i, q]
        else:
            others += 1
            if others == far and E[i, q] > bound:
                bound = E[i, q]
    if n_all < size or (c >= 0 and (own < n_own or others < far)):
        return horizon
    if kind.leads > 0 and kind.leads != AGAINST_OTHERS:
        for rank in range(live.size):
            i = order[0, rank]
            if labels[live[i]] == c:
                bound = E[i, 0] if E[i, 0] > bound else bound
                break
    return bound if bound < horizon else horizon
