"""A query as the branch and bound takes it: the points in reach, the kinds of pieces, and work space."""

from typing import NamedTuple

import numpy as np

from holdfast.certificates.kernels.rounding import Rounding

# Which points the first member of a piece must be nearer than: all of class y; the members of other classes that have
# as many votes as class c.
AGAINST_Y, AGAINST_OTHERS = 1, 2

# A kind of piece: one way for class c to overtake y.
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
    """One query and the points in its reach.

    Attributes
    ----------
    points, slopes, squared, labels : ndarrays of shapes (n, r), (n, s), (n,), (n,)
        U, V, squared distances and class codes of the points in reach.
    targets : int ndarray
        Points of class y.
    live : int ndarray of shape (n_live,)
        Points that may become members.
    E : ndarray of shape (n_live, Q)
    order : int ndarray of shape (Q, n_live)
        ``live`` by growing ``E[:, q]``.
    u, to_input : ndarrays
    down, up : ndarrays or None
        The box; None, and its code is not compiled, if nothing confines the move.
    relations, least, relation_sizes : ndarrays of shapes (n_relations, s), (n_relations,) and (n_relations,)
        ``relations · z ≥ least``, and the lengths of these rows; not used if there is no box.
    ball : int or None
        Which dual length a slope has, if the coordinates are ``z = (σδ, T)``; see
        :mod:`~holdfast.certificates.kernels.lifted`.
    sigma : float
    y, k, n_classes : int
    lowest_wins : bool
        Whether equal votes go to the lowest code, and not to the class of the nearest.
    rounding : Rounding
    """

    points: np.ndarray
    slopes: np.ndarray
    squared: np.ndarray
    labels: np.ndarray
    targets: np.ndarray
    live: np.ndarray
    E: np.ndarray
    order: np.ndarray
    u: np.ndarray
    to_input: np.ndarray
    down: np.ndarray | None
    up: np.ndarray | None
    relations: np.ndarray
    least: np.ndarray
    relation_sizes: np.ndarray
    ball: int | None
    sigma: float
    y: int
    k: int
    n_classes: int
    lowest_wins: bool
    rounding: Rounding


class Scratch(NamedTuple):
    """Work space of a search; only phi is passed on from one kernel to the next.

    Attributes
    ----------
    phi : ndarray of shape (n,)
        ``φ_p`` of the points in reach.
    row, moved : ndarrays of shape (s,)
        A slope or a direction; a point.
    keys, nearest, tally : ndarrays of shapes (k,), (k,) and (n_classes,)
        For a vote.
    near, near_targets : ndarrays of shape (look,)
        φ and index of the targets nearest after the move.
    violations, worst, reaches : ndarrays of shapes (Q + 1,), (Q + 1,) and (Q,)
        Targets by falling violation; the longest moves that rows of one point ask for.
    fewest : ndarray of shape (k,)
        The least bounds of new members.
    """

    phi: np.ndarray
    row: np.ndarray
    moved: np.ndarray
    keys: np.ndarray
    nearest: np.ndarray
    tally: np.ndarray
    near: np.ndarray
    near_targets: np.ndarray
    violations: np.ndarray
    worst: np.ndarray
    reaches: np.ndarray
    fewest: np.ndarray


def empty_scratch(query: Query, look: int) -> Scratch:
    """Work space for one query."""
    (n, s), Q = query.slopes.shape, query.k // 2 + 1
    return Scratch(
        phi=np.empty(n), row=np.empty(s), moved=np.empty(s),
        keys=np.empty(query.k), nearest=np.empty(query.k, np.int64), tally=np.empty(query.n_classes, np.int64),
        near=np.empty(look), near_targets=np.empty(look, np.int64),
        violations=np.empty(Q + 1), worst=np.empty(Q + 1, np.int64), reaches=np.empty(Q), fewest=np.empty(query.k),
    )  # fmt: skip
