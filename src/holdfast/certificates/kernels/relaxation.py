"""The relaxation of a search node: the rows its decisions imply, as one quadratic program (Lemma T3).

Points are the ones in reach of a query; ``φ_p = ½ d²(u, p) − v_p · z`` is half their squared distance after the
move z (but for a term all points share), so "b is no farther than j" is the row ``φ_b ≤ φ_j``.
"""

import numpy as np

from holdfast.certificates.kernels.active_set import add_constraint, certified, point_beyond
from holdfast.certificates.kernels.box import ROUNDED, clip_to_box, violated_side
from holdfast.certificates.kernels.halfspace import euclidean_length, level
from holdfast.certificates.kernels.lifted import FACET, PASSED, certified_sum, facet_row, lifted_length, violated_facet
from holdfast.certificates.kernels.nearest import VIOLATED
from holdfast.certificates.kernels.query import AGAINST_OTHERS
from holdfast.certificates.kernels.rounding import product_error, slack, slack_within
from holdfast.certificates.kernels.search_tree import close_at
from holdfast.certificates.kernels.sorted_list import contains, insert
from holdfast.certificates.kernels.vectors import dot, dot_work, length, scale, subtract
from holdfast.certificates.kernels.voting import winner
from holdfast.numerics.compile import NONE, ZERO, inner

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
    """Solve for all the rows that the node's decisions imply. Its certified bound; -1 if the node is closed.

    It is also closed, at the bound so far, once the work is ``most``.
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
    close_at(status, bound)
    return -1.0


@inner
def _violated_limit(query, z, down, up, ball, a):
    """A side of the box or a relation that z violates: its tag and level, the row into ``a``.

    A side counts as violated only beyond what rounding may add to a move of this length, or a side that holds would
    join again and again; in coordinates ``(σδ, T)`` the tolerance is that of the facets of the ball.
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


@inner
def _votes(labels, members, n_members, c):
    """How many members are of class c."""
    count = 0
    for t in range(n_members):
        count += 1 if labels[members[t]] == c else 0
    return count


@inner
def _loses(query, kind, scratch, moved, down, up, ball):
    """True if the vote after a move is lost as the kind asks, and no limit is broken."""
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
    """True if the vote is lost in the direction of z at the longer length ``size``; the move to ``best_z``."""
    z, moved = active.z, scratch.moved
    own = length(z) if ball is None else lifted_length(z, ball, query.sigma)
    if not 0.0 < own < size:
        return False
    scale(size / own, z, moved)
    active.work[0] += scratch.phi.size * dot_work(z.size)
    if not _loses(query, kind, scratch, moved, down, up, ball):
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
        if _loses(query, kind, scratch, moved, down, up, ball):
            size = length(moved) if ball is None else lifted_length(moved, ball, query.sigma)
            if size < best:
                for t in range(z.size):
                    best_z[t] = moved[t]
            return size
        step *= 20.0
    return np.inf


@inner
def length_with_row(query, phi, b, j, size, along, within, ball):
    """A lower bound on moves w up to ``within`` with ``w·ẑ ≥ along`` and the row ``φ_b ≤ φ_j``; 0 if z may meet it.

    Lemma T3, with ``‖z‖ = size``. For L1 and L∞ it is the distance of z from the row: what to branch on, not a bound.
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
