"""The roots of a search: a node for each kind of piece, with a bound from the order statistics of E (Lemma B1)."""

from holdfast.certificates.kernels.query import AGAINST_OTHERS
from holdfast.certificates.kernels.search_tree import close_at, needed, push
from holdfast.numerics.compile import ZERO, inner


@inner
def plant_roots(tree, query, kinds, least, tally):
    """Put a node with nothing chosen for every kind into the heap, its bound no less than ``least``.

    A kind whose bound closes it is recorded. ``tally`` is room for a count of each class.
    """
    nodes, heap, free, status = tree.nodes, tree.heap, tree.free, tree.status[0]
    for i in range(kinds.size):
        bound = _root_bound(query, kinds[i], status.horizon, tally)
        bound = bound if bound > least else least
        if bound >= needed(status):
            close_at(status, bound)
            continue
        if status.n_free == 0:
            close_at(status, bound)
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
