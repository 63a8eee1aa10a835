"""The nodes of a best-first search, and the heap that orders them by bound.

A node has chosen *members* (first those of the winning class c, then others), *excused* points of class y (S) and
*required* points of class y, which must stay farther than every member. A child starts from the active rows and
multipliers of its parent's relaxation.
"""

from typing import NamedTuple

import numpy as np

from holdfast.numerics.compile import NONE, inner

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
        ("overflow", np.int64),  # 1 if a node was closed for want of room
    ]
)


class Tree(NamedTuple):
    """Arrays over node slots, the heap of slots by bound, and the numbers that change.

    Attributes
    ----------
    nodes : record ndarray of shape (capacity,)
    members, excused, required : int ndarrays of shapes (capacity, k), (capacity, Q), (capacity, MAX_REQUIRED)
    rows, multipliers : ndarrays of shapes (capacity, MAX_ROWS, 2) and (capacity, MAX_ROWS)
        Active rows (pairs of points, or a side of the box) of the node's relaxation.
    heap, free : int ndarrays of shape (capacity,)
    status : record ndarray of shape (1,)
    """

    nodes: np.ndarray
    members: np.ndarray
    excused: np.ndarray
    required: np.ndarray
    rows: np.ndarray
    multipliers: np.ndarray
    heap: np.ndarray
    free: np.ndarray
    status: np.ndarray


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


@inner
def close_at(status, bound):
    """Record that a part of the search was closed at this bound."""
    if bound < status.closed:
        status.closed = bound


@inner
def needed(status):
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
    """A copy of a node with its own bound; -1, and the bound on record, if it is closed at once or there is no room."""
    status = tree.status[0]
    n_free = status.n_free
    if bound >= needed(status):
        close_at(status, bound)
        return NONE
    if n_free == 0:
        close_at(status, bound)
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
