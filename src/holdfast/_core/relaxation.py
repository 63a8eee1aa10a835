"""Best-first branch and bound for a k-NN vote."""

from typing import NamedTuple

import numpy as np

from holdfast._core.active_set import (
    FACET,
    PASSED,
    add_constraint,
    certified,
    certified_sum,
    facet_row,
    lifted_length,
    point_beyond,
    violated_facet,
)
from holdfast._core.compiling import NONE, ZERO, inner
from holdfast._core.halfspace import (
    ROUNDED,
    Rounding,
    clip_to_box,
    dot,
    dot_work,
    euclidean_length,
    length,
    level,
    product_error,
    scale,
    slack,
    slack_within,
    subtract,
    violated_side,
)
from holdfast._core.nearest import VIOLATED
from holdfast._core.order import contains, insert, winner

# Which points the first member of a piece must be nearer than: all of class y; the members of other classes that have
# as many votes as class c.
AGAINST_Y, AGAINST_OTHERS = 1, 2

# A kind of piece: a case in which class c overtakes y.
KIND = np.dtype(
    [
        ("winner", np.int64),  # class c; -1: any other classes
        ("n_excused", np.int64),  # q, points of y among the k nearest
        ("n_own", np.int64),  # members of class c
        ("n_other", np.int64),  # the other members
        ("n_again", np.int64),  # most points of class c among these; of any one class if there is no class c
        ("leads", np.int64),  # the first member wins a tie: it is nearer than AGAINST_Y, AGAINST_OTHERS or both
        ("wins", np.int64),  # 1 if class c has to win against every class, and all its votes are members (Lemma K2)
    ]
)


class Query(NamedTuple):
    """One query and the n points in its reach."""

    points: np.ndarray  # (n, r): U
    slopes: np.ndarray  # (n, s): V
    squared: np.ndarray  # (n,): squared distances
    labels: np.ndarray  # (n,): class codes
    targets: np.ndarray  # points of class y
    live: np.ndarray  # (n_live,): points that may become members
    E: np.ndarray  # (n_live, Q)
    order: np.ndarray  # (Q, n_live): live by growing E[:, q]
    u: np.ndarray
    to_input: np.ndarray
    down: np.ndarray | None  # the box; None, and its code is not compiled, if nothing confines the move
    up: np.ndarray | None
    relations: np.ndarray  # (n_relations, s): relations · z ≥ least; not used without a box
    least: np.ndarray  # (n_relations,)
    relation_sizes: np.ndarray  # (n_relations,): the lengths of these rows
    ball: int | None  # which dual length a slope has, if the coordinates are (σδ, T); see active_set
    sigma: float
    y: int
    k: int
    n_classes: int
    lowest_wins: bool  # equal votes go to the lowest code, else to the class of the nearest
    rounding: Rounding


class Scratch(NamedTuple):
    """Work space of a search; only phi is passed on from one kernel to the next."""

    phi: np.ndarray  # (n,): φ_p of the points in reach
    row: np.ndarray  # (s,): a slope or a direction
    moved: np.ndarray  # (s,): a point
    keys: np.ndarray  # (k,): for a vote, as are nearest and tally
    nearest: np.ndarray  # (k,)
    tally: np.ndarray  # (n_classes,)
    near: np.ndarray  # (n_targets,): φ of the targets nearest after the move
    near_targets: np.ndarray  # (n_targets,): their indices
    violations: np.ndarray  # (Q + 1,): the largest violations of targets, falling
    worst: np.ndarray  # (Q + 1,): these targets
    reaches: np.ndarray  # (Q,): the longest moves that rows of one point ask for
    fewest: np.ndarray  # (k,): the least bounds of new members


def empty_scratch(query: Query, n_targets: int) -> Scratch:
    """Work space for one query."""
    (n, s), Q = query.slopes.shape, query.k // 2 + 1
    return Scratch(
        phi=np.empty(n), row=np.empty(s), moved=np.empty(s),
        keys=np.empty(query.k), nearest=np.empty(query.k, np.int64), tally=np.empty(query.n_classes, np.int64),
        near=np.empty(n_targets), near_targets=np.empty(n_targets, np.int64),
        violations=np.empty(Q + 1), worst=np.empty(Q + 1, np.int64), reaches=np.empty(Q), fewest=np.empty(query.k),
    )  # fmt: skip


# Longest lists of a node. A node with more active rows starts its children from none; one with more required points
# is closed at its bound, and the search returns that it is not complete.
MAX_REQUIRED, MAX_ROWS = 64, 128
CLOSE = 1.0 - 1e-9  # a node this near the best witness is closed, at its own bound (Lemma T4)

_NODE = np.dtype(
    [
        ("bound", np.float64),  # no move of this node is shorter
        ("kind", np.int64),  # which kind of piece; a row of the table of kinds
        ("n_members", np.int64),
        ("last_rank", np.int64),  # rank of the member chosen last: later ones come from before it
        ("n_excused", np.int64),
        ("n_required", np.int64),
        ("n_rows", np.int64),
    ]
)
_STATUS = np.dtype(
    [
        ("best", np.float64),  # length of the best witness
        ("closed", np.float64),  # least bound of a closed node
        ("horizon", np.float64),  # nothing beyond it is searched
        ("enough", np.float64),  # a witness of this length ends the search
        ("heap_size", np.int64),
        ("n_free", np.int64),
        ("next_slot", np.int64),  # to solve next; -1: the first of the heap
        ("overflow", np.int64),  # 1 if a node was closed because an array was full
    ]
)


class Tree(NamedTuple):
    """Arrays over node slots, the heap of slots by bound, and the numbers that change."""

    nodes: np.ndarray  # (capacity,): records
    members: np.ndarray  # (capacity, k)
    excused: np.ndarray  # (capacity, Q)
    required: np.ndarray  # (capacity, MAX_REQUIRED)
    rows: np.ndarray  # (capacity, MAX_ROWS, 2): active rows, pairs of points or a side of the box
    multipliers: np.ndarray  # (capacity, MAX_ROWS)
    heap: np.ndarray  # (capacity,)
    free: np.ndarray  # (capacity,)
    status: np.ndarray  # (1,): a record


def empty_tree(capacity: int, k: int, s: int) -> Tree:
    """No nodes, no witness, for s coordinates."""
    n_rows = min(s + 1, MAX_ROWS)
    status = np.zeros(1, _STATUS)
    status["best"] = status["closed"] = status["horizon"] = np.inf
    status["enough"], status["n_free"], status["next_slot"] = -1.0, capacity, -1
    return Tree(
        nodes=np.empty(capacity, _NODE),
        members=np.empty((capacity, k), np.int64),
        excused=np.empty((capacity, k // 2 + 1), np.int64),
        required=np.empty((capacity, MAX_REQUIRED), np.int64),
        rows=np.empty((capacity, n_rows, 2), np.int64),
        multipliers=np.empty((capacity, n_rows)),
        heap=np.empty(capacity, np.int64),
        free=np.arange(capacity - 1, -1, -1),
        status=status,
    )


# -- the heap of nodes ------------------------------------------------------------------------------


@inner
def record_closed(status, bound):
    """Record that a part of the search was closed at this bound."""
    if bound < status.closed:
        status.closed = bound


@inner
def pruning_bound(status):
    """The bound at which a node is closed: the best witness, less a hair, or the horizon."""
    best, horizon = status.best * CLOSE, status.horizon
    return best if best < horizon else horizon


@inner
def push(nodes, heap, status, slot):
    """Put a slot into the heap."""
    bound = nodes[slot].bound
    i = status.heap_size
    status.heap_size = i + 1
    while i > 0:
        parent = (i - 1) // 2
        if nodes[heap[parent]].bound <= bound:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = slot


@inner
def pop(nodes, heap, status):
    """Take the slot of least bound out of the heap."""
    top = heap[0]
    n = status.heap_size - 1
    status.heap_size = n
    if n > 0:
        slot = heap[n]
        bound = nodes[slot].bound
        i = 0
        while 2 * i + 1 < n:
            child = 2 * i + 1
            if child + 1 < n and nodes[heap[child + 1]].bound < nodes[heap[child]].bound:
                child += 1
            if nodes[heap[child]].bound >= bound:
                break
            heap[i] = heap[child]
            i = child
        heap[i] = slot
    return top


@inner
def release(free, status, slot):
    """Give a slot back."""
    n = status.n_free
    free[n] = slot
    status.n_free = n + 1


@inner
def new_child(tree, parent, bound):
    """A copy of a node with its own bound; -1, its bound recorded, if it is closed at once or the arrays are full."""
    status = tree.status[0]
    n_free = status.n_free
    if bound >= pruning_bound(status):
        record_closed(status, bound)
        return NONE
    if n_free == 0:
        record_closed(status, bound)
        status.overflow = 1
        return NONE
    status.n_free = n_free - 1
    nodes, members, excused, required = tree.nodes, tree.members, tree.excused, tree.required
    rows, multipliers = tree.rows, tree.multipliers
    slot = tree.free[n_free - 1]
    nodes[slot] = nodes[parent]
    nodes[slot].bound = bound
    source = nodes[parent]
    for i in range(source.n_members):
        members[slot, i] = members[parent, i]
    for i in range(source.n_excused):
        excused[slot, i] = excused[parent, i]
    for i in range(source.n_required):
        required[slot, i] = required[parent, i]
    for i in range(source.n_rows):
        rows[slot, i, 0], rows[slot, i, 1] = rows[parent, i, 0], rows[parent, i, 1]
        multipliers[slot, i] = multipliers[parent, i]
    return slot


@inner
def push_but_least(nodes, heap, status, child, least):
    """Push a child, but keep the one of least bound (ties: the later) back; the one kept."""
    if least < 0:
        return child
    if nodes[child].bound <= nodes[least].bound:
        child, least = least, child
    push(nodes, heap, status, child)
    return least


@inner
def schedule(nodes, heap, status, least):
    """The child kept back is solved next if there is no witness yet (depth first), else it waits in the heap."""
    if least >= 0:
        if status.best == np.inf:
            status.next_slot = least
        else:
            push(nodes, heap, status, least)


# -- the relaxation of a node -----------------------------------------------------------------------

# In place of a point in the tag of a row: the upper or the lower side of the box, a relation.
UPPER_SIDE, LOWER_SIDE, RELATION = np.int64(-1), np.int64(-2), np.int64(-3)
NONE_FOUND = np.int64(-9)
TOLERANCE = 1e-13  # a relation violated by less of the move does not join; no bound rests on it


@inner
def load_rows(tree, slot, active, query, down, up, ball):
    """The rows and multipliers of a node, into the active set; its factors and z are to be reloaded."""
    rows, kept = tree.rows, tree.multipliers
    A, tags, multipliers, levels = active.A, active.tags, active.multipliers, active.levels
    points, slopes, u, to_input = query.points, query.slopes, query.u, query.to_input
    n_rows = tree.nodes[slot].n_rows
    for i in range(n_rows):
        b, j = rows[slot, i, 0], rows[slot, i, 1]
        tags[i, 0], tags[i, 1] = b, j
        multipliers[i] = kept[slot, i]
        if b >= 0:
            subtract(slopes[b], slopes[j], A[i])
            levels[i] = level(points, u, b, j)
        elif b == FACET:
            if ball is not None:
                facet_row(j, ball, query.sigma, A[i])
                levels[i] = 0.0
        elif up is not None:
            if b == RELATION:
                scale(1.0, query.relations[j], A[i])
                levels[i] = query.least[j]
            else:
                scale(-1.0 if b == UPPER_SIDE else 1.0, to_input[j], A[i])
                levels[i] = -up[j] if b == UPPER_SIDE else -down[j]
    active.n_active[0] = n_rows


@inner
def store_rows(tree, slot, active):
    """The active rows, for the children to start from."""
    rows, kept, tags, multipliers = tree.rows, tree.multipliers, active.tags, active.multipliers
    n_rows = active.n_active[0]
    if n_rows > kept.shape[1]:
        n_rows = 0
    for i in range(n_rows):
        if tags[i, 0] == FACET and tags[i, 1] < 0:  # a facet without a name
            n_rows = ZERO
            break
    tree.nodes[slot].n_rows = n_rows
    for i in range(n_rows):
        rows[slot, i, 0], rows[slot, i, 1] = tags[i, 0], tags[i, 1]
        kept[slot, i] = multipliers[i]


@inner
def half_distances(squared, slopes, z, phi):
    """``φ_p`` of every point."""
    for p in range(phi.size):
        phi[p] = 0.5 * squared[p] - dot(slopes[p], z)


@inner
def farthest(phi, members, count):
    """The member of largest φ."""
    highest = members[0]
    for i in range(1, count):
        if phi[members[i]] > phi[highest]:
            highest = members[i]
    return highest


@inner
def relaxation(tree, slot, active, query, kind, scratch, most, down, up, ball):
    """Solve for all the rows that the node's decisions imply. Its certified bound; -1 if the node is closed, which it
    also is, at the bound so far, once the work is ``most``.
    """
    points, slopes, squared, u = query.points, query.slopes, query.squared, query.u
    rounding, z, phi, a = query.rounding, active.z, scratch.phi, scratch.row
    status, bound = tree.status[0], tree.nodes[slot].bound
    limit = status.best if status.best < status.horizon else status.horizon
    each = dot_work(z.size)
    scan = phi.size * each + 100  # of all points, and what an empty round costs
    if up is not None:
        scan += (up.size + query.relations.shape[0]) * each
    for _ in range(50 * z.size + 50):  # far more rows than ever enter; a node that ends here is closed at its bound
        active.work[0] += scan
        half_distances(squared, slopes, z, phi)
        b, j = _most_violated(tree, slot, query, kind, phi, VIOLATED * slack(rounding, length(z)))
        if b >= 0:
            subtract(slopes[b], slopes[j], a)
            c = level(points, u, b, j)
        else:
            b, c = NONE_FOUND, 0.0
            if up is not None:
                b, j, c = _violated_limit(query, z, down, up, ball, a)
            if ball is not None and b == NONE_FOUND:
                j = violated_facet(z, ball, query.sigma, a)
                b = FACET if j > -2 else NONE_FOUND
            if b == NONE_FOUND:
                return bound
        ended = add_constraint(a, c, b, j, active, rounding)
        if ball is None:
            value = certified(active, rounding)
            value = value if value > ended else ended
        elif ended > 0.0:  # the ray that shows it
            value = certified_sum(
                active, active.coefficients, -1.0, 1.0, a, c, ball, query.sigma, rounding, scratch.moved
            )
        else:
            value = certified_sum(
                active, active.multipliers, 1.0, 0.0, a, 0.0, ball, query.sigma, rounding, scratch.moved
            )
        bound = value if value > bound else bound
        if ended != 0.0 or bound >= limit or active.work[0] >= most:
            break
        if ball is not None:
            point_beyond(active, 0.0, z)  # Σλa has lost digits, about 1/σ²; no bound rests on z here
    record_closed(status, bound)
    return -1.0


@inner
def _violated_limit(query, z, down, up, ball, a):
    """A side of the box or a relation that z violates: its tag and level, the row into ``a``. A side counts as violated
    only beyond what rounding may add to such a move (in coordinates ``(σδ, T)`` as for facets), or it would join again
    and again.
    """
    spare = ROUNDED * length(z) if ball is None else PASSED * lifted_length(z, ball, query.sigma)
    side, j = violated_side(query.to_input, z, down, up, spare)
    if j >= 0:
        scale(-side, query.to_input[j], a)
        return (UPPER_SIDE, j, -up[j]) if side > 0 else (LOWER_SIDE, j, -down[j])
    worst = 0.0
    for i in range(query.least.size):
        gap = (query.least[i] - dot(query.relations[i], z)) / query.relation_sizes[i]
        if gap > worst + TOLERANCE * length(z):
            worst, j = gap, i
    if j >= 0:
        scale(1.0, query.relations[j], a)
        return RELATION, j, query.least[j]
    return NONE_FOUND, NONE, 0.0


@inner
def _most_violated(tree, slot, query, kind, phi, gap):
    """The pair (b, j) of largest ``φ_b − φ_j`` above ``gap`` among the rows of the node; (-1, -1) if none."""
    node, members, excused, required = tree.nodes[slot], tree.members[slot], tree.excused[slot], tree.required[slot]
    targets, labels, y = query.targets, query.labels, query.y
    n_members, n_excused, class_c = node.n_members, node.n_excused, kind.winner
    b, j = NONE, NONE
    if n_members == 0:
        return b, j
    highest = farthest(phi, members, n_members)
    if n_excused == kind.n_excused:  # every other target has to stay behind every member
        for i in range(targets.size):
            p = targets[i]
            if phi[highest] - phi[p] > gap and not contains(excused, n_excused, p):
                gap, b, j = phi[highest] - phi[p], highest, p
    else:
        for i in range(node.n_required):
            p = required[i]
            if phi[highest] - phi[p] > gap:
                gap, b, j = phi[highest] - phi[p], highest, p
    first = members[0]
    if kind.leads > 0 and kind.leads != AGAINST_OTHERS:
        for i in range(targets.size):
            p = targets[i]
            if phi[first] - phi[p] > gap:
                gap, b, j = phi[first] - phi[p], first, p
    if class_c >= 0 and n_members == kind.n_own + kind.n_other:
        highest = farthest(phi, members, n_members if kind.wins == 1 else kind.n_own)
        for p in range(phi.size):
            third = labels[p] != y and labels[p] != class_c  # of neither class
            if third and phi[highest] - phi[p] > gap and not contains(members, n_members, p):
                gap, b, j = phi[highest] - phi[p], highest, p
        if kind.leads >= AGAINST_OTHERS:
            for t in range(kind.n_own, n_members):
                p = members[t]
                if phi[first] - phi[p] > gap and _votes(labels, members, n_members, labels[p]) == kind.n_own:
                    gap, b, j = phi[first] - phi[p], first, p
    return b, j


# -- witnesses --------------------------------------------------------------------------------------


@inner
def _votes(labels, members, n_members, c):
    """How many members are of class c."""
    count = 0
    for t in range(n_members):
        count += 1 if labels[members[t]] == c else 0
    return count


@inner
def _vote_changes(query, kind, scratch, moved, down, up, ball):
    """True if the vote changes after a move as the kind says, and no limit is broken."""
    phi, keys, nearest = scratch.phi, scratch.keys, scratch.nearest
    if up is not None:
        clip_to_box(query.to_input, moved, down, up)
    half_distances(query.squared, query.slopes, moved, phi)
    count = ZERO
    for p in range(phi.size):
        count = insert(phi[p], p, keys, nearest, count)
    elected = winner(query.labels, nearest, count, scratch.tally, query.lowest_wins)
    lost = elected == kind.winner if kind.wins == 1 else elected != query.y
    if lost and up is not None:
        lost = _violated_limit(query, moved, down, up, ball, scratch.row)[0] == NONE_FOUND
    return lost


@inner
def stretched_witness(active, query, kind, scratch, size, best_z, down, up, ball):
    """True if the vote changes in the direction of z at the longer length ``size``; the move to ``best_z``."""
    z, moved = active.z, scratch.moved
    own = length(z) if ball is None else lifted_length(z, ball, query.sigma)
    if not 0.0 < own < size:
        return False
    scale(size / own, z, moved)
    active.work[0] += scratch.phi.size * dot_work(z.size)
    if not _vote_changes(query, kind, scratch, moved, down, up, ball):
        return False
    for t in range(z.size):
        best_z[t] = moved[t]
    return True


@inner
def witness(active, query, kind, scratch, pushes, best, best_z, down, up, ball):
    """The length of a move a hair beyond z that changes the vote; infinite if none was found."""
    z, moved = active.z, scratch.moved
    step = 2.0 * slack(query.rounding, length(z))
    for _ in range(pushes):  # twentyfold pushes; whatever they reach is checked by the vote
        active.work[0] += scratch.phi.size * dot_work(z.size)
        point_beyond(active, step, moved)
        if _vote_changes(query, kind, scratch, moved, down, up, ball):
            size = length(moved) if ball is None else lifted_length(moved, ball, query.sigma)
            if size < best:
                for t in range(z.size):
                    best_z[t] = moved[t]
            return size
        step *= 20.0
    return np.inf


# -- bounds of children -----------------------------------------------------------------------------


@inner
def length_with_row(query, phi, b, j, size, along, within, ball):
    """A lower bound on moves w up to ``within`` with ``w·ẑ ≥ along`` and the row ``φ_b ≤ φ_j``, ``‖z‖ = size``; 0 if z
    may meet it (Lemma T3). For L1 and L∞ the distance of z from the row: what to branch on, not a bound.
    """
    rounding, squared = query.rounding, query.squared
    spare = slack_within(rounding, within)
    gap = phi[b] - phi[j] - spare
    if gap <= 0.0:
        return 0.0
    steep = euclidean_length(query.slopes, b, j) * (1.0 + 1e-13) + product_error(rounding)
    if steep == 0.0:
        return np.inf
    if ball is not None:
        return gap / steep
    level_bj = 0.5 * (squared[b] - squared[j])
    if along <= 0.0:
        return (level_bj - spare) / steep
    climb = (level_bj - (phi[b] - phi[j]) + spare) / size  # a·ẑ and a little more: c − (φ_b − φ_j) is a·z
    return length_of_two(along, climb, steep, level_bj - spare)


@inner
def length_of_two(along, climb, steep, c):
    """``min ‖w‖ : w·ẑ ≥ along, a·w ≥ c`` from below, ``climb ≥ a·ẑ`` and ``steep ≥ ‖a‖``, ``along > 0`` (Lemma T3)."""
    alone = c / steep * (1.0 - 1e-12)
    across = (steep - climb) * (steep + climb)  # the square of the part of a across z
    if across <= 1e-12 * steep * steep:
        return alone
    rise = c - along * climb - 1e-15 * (abs(c) + along * abs(climb))  # 1e-15: more than the rounding of this line
    if rise <= 0.0:
        return 0.0
    if along - rise / across * climb <= 1e-12 * along:  # the row alone is as long
        return alone
    return np.sqrt(along * along + rise / across * rise) * (1.0 - 1e-12)
