"""Branch and bound over the pieces of a lost vote (Lemmas T1 to T5): which child to make, and its bound."""

import numpy as np

from holdfast.certificates.kernels.active_set import certified_along, reload
from holdfast.certificates.kernels.relaxation import (
    distance_to_row,
    farthest,
    half_distances,
    load_rows,
    relaxation,
    store_rows,
    witness,
)
from holdfast.certificates.kernels.search_tree import (
    MAX_REQUIRED,
    close_at,
    needed,
    new_child,
    pop,
    push_but_least,
    release,
    schedule,
)
from holdfast.certificates.kernels.sorted_list import contains, insert, insert_largest
from holdfast.certificates.kernels.vectors import length
from holdfast.numerics.compile import NONE, ZERO, entry, inner

LOOK = 24  # targets, nearest after the move, that bound a new member; fewer bound less, more cost more


@entry
def search(tree, active, query, kinds, scratch, steps, best_z):
    """Solve up to ``steps`` nodes; whether the search is over.

    A node is closed if its bound or its relaxation says so, or at a witness; else its children go into the heap.
    """
    nodes, heap, free, status = tree.nodes, tree.heap, tree.free, tree.status[0]
    squared, slopes, rounding, down, up = query.squared, query.slopes, query.rounding, query.down, query.up
    ball = query.ball
    z, phi = active.z, scratch.phi
    for _ in range(steps):
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
        if bound >= needed(status):
            close_at(status, bound)
            release(free, status, slot)
            continue
        status.n_solved += 1
        load_rows(tree, slot, active, query, down, up, ball)
        reload(active)
        bound = relaxation(tree, slot, active, query, kind, scratch, down, up, ball)
        if bound < 0.0:
            release(free, status, slot)
            continue
        node.bound = bound
        complete = node.n_members == kind.n_own + kind.n_other
        if node.n_members > 0:
            size = witness(active, query, scratch, 4 if complete else 1, status.best, best_z, down, up, ball)
            if size < np.inf:
                status.best = size if size < status.best else status.best
                close_at(status, bound)
                release(free, status, slot)
                continue
        half_distances(squared, slopes, z, phi)
        store_rows(tree, slot, active)
        # Bounds of children hold for moves up to ``within``: no more is needed than what closes a node.
        within = status.best if status.best < status.horizon else status.horizon
        size = length(z)
        if within == np.inf:
            within = 4.0 * (bound if bound > size else size)
        along, off = 0.0, np.inf
        if ball is None:
            along = certified_along(active, rounding, within)
            off = abs(size - along)  # from z back to the point that is certified
        if not _branch_on_target(tree, slot, query, kind, scratch, along, off, within):
            if complete:
                close_at(status, bound)  # a tie that no push resolves
            else:
                _branch_on_member(tree, slot, query, kind, scratch, along, off, within)
        release(free, status, slot)
    return status.heap_size == 0 and status.next_slot < 0


@inner
def _beyond(bound, along, reach, within):
    """A node's bound with one more row: ``along`` in the direction of z, and ``reach`` from there (Lemma T3).

    1e-12 covers the rounding of the square root.
    """
    if reach <= 0.0:
        return bound
    size = np.sqrt(along * along + reach * reach) * (1.0 - 1e-12)
    size = size if size < within else within
    return size if size > bound else bound


@inner
def _branch_on_target(tree, slot, query, kind, scratch, along, off, within):
    """If more targets are nearer than the farthest member than can be excused: require the worst, or excuse it.

    Returns whether it branched.
    """
    nodes, heap, status, node = tree.nodes, tree.heap, tree.status[0], tree.nodes[slot]
    excused, required = tree.excused, tree.required
    targets, slopes, rounding = query.targets, query.slopes, query.rounding
    phi, keys, worst = scratch.phi, scratch.violations, scratch.worst
    bound, n_excused, n_required = node.bound, node.n_excused, node.n_required
    slots = kind.n_excused - n_excused
    if slots <= 0 or node.n_members == 0:
        return False
    highest = farthest(phi, tree.members[slot], node.n_members)
    found = ZERO
    for i in range(targets.size):
        p = targets[i]
        if contains(excused[slot], n_excused, p) or contains(required[slot], n_required, p):
            continue
        reach = distance_to_row(slopes, rounding, phi, highest, p, within)
        if reach > 0.0:
            found = insert(-reach, p, keys, worst, found)
    if found <= slots:
        return False
    least = NONE  # the child of least bound: solved next while there is no witness
    child = new_child(tree, slot, _beyond(bound, along, -keys[0] - off, within))
    if child >= 0:
        if n_required == MAX_REQUIRED:
            close_at(status, nodes[child].bound)
            status.overflow = 1
            release(tree.free, status, child)
        else:
            required[child, n_required] = worst[0]
            nodes[child].n_required = n_required + 1
            least = push_but_least(nodes, heap, status, child, least)
    # With the worst excused, the (slots + 1)-th farthest row is still violated by one that is not.
    child = new_child(tree, slot, _beyond(bound, along, -keys[slots] - off, within))
    if child >= 0:
        excused[child, n_excused] = worst[0]
        nodes[child].n_excused = n_excused + 1
        least = push_but_least(nodes, heap, status, child, least)
    schedule(nodes, heap, status, least)
    return True


@inner
def _branch_on_member(tree, slot, query, kind, scratch, along, off, within):
    """A child for each point that can be the next member; the targets nearest after the move bound the children."""
    nodes, heap, status, node = tree.nodes, tree.heap, tree.status[0], tree.nodes[slot]
    members, excused, required = tree.members, tree.excused[slot], tree.required[slot]
    targets, labels, live, order, E = query.targets, query.labels, query.live, query.order, query.E
    slopes, rounding = query.slopes, query.rounding
    phi, near, near_targets, reaches = scratch.phi, scratch.near, scratch.near_targets, scratch.reaches
    bound, n_members, n_excused, n_required = node.bound, node.n_members, node.n_excused, node.n_required
    class_c, q, n_own = kind.winner, kind.n_excused, kind.n_own
    n_near = ZERO
    for i in range(targets.size):
        p = targets[i]
        if not contains(excused, n_excused, p):
            n_near = insert(phi[p], p, near, near_targets, n_near)
    own = n_members < n_own
    leader = kind.leads == 1 and n_members == 0
    first_of_phase = n_members == 0 or n_members == n_own or (kind.leads == 1 and n_members == 1)
    last = live.size if first_of_phase else node.last_rank
    left = (n_own if own else n_own + kind.n_other) - n_members  # in this phase, this member included
    spared = 0 if leader else q - n_excused  # rows of a new member that need not hold
    before, least = 0, NONE
    for rank in range(last):
        i = order[q, rank]
        p = live[i]
        if (own and labels[p] != class_c) or contains(members[slot], n_members, p):
            continue
        before += 1
        if before < left and not leader:
            continue  # too few are left below it
        fixed = E[i, 0] if leader else E[i, q]
        if fixed >= needed(status):
            close_at(status, fixed)
            continue
        # The (spared + 1)-th largest distance of z from a row of p; the largest for rows that are required.
        reach, filled = 0.0, ZERO
        for t in range(n_near):
            distance = distance_to_row(slopes, rounding, phi, p, near_targets[t], within)
            if distance <= 0.0:
                break  # and so are all that follow: targets come by growing φ
            if not contains(required, n_required, near_targets[t]):
                filled = insert_largest(distance, reaches, filled)
            elif distance > reach:
                reach = distance
        if filled > spared and reaches[spared] > reach:
            reach = reaches[spared]
        total = _beyond(bound, along, reach - off, within)
        child = new_child(tree, slot, total if total > fixed else fixed)
        if child >= 0:
            members[child, n_members] = p
            nodes[child].n_members = n_members + 1
            nodes[child].last_rank = rank
            least = push_but_least(nodes, heap, status, child, least)
    schedule(nodes, heap, status, least)
