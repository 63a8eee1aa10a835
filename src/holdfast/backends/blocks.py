"""The work on one block of rows: plain functions of arrays, free of any engine.

Arguments are never written to, since an engine may call a function again with the same ones after a worker has died.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from sklearn.utils import check_random_state

from holdfast.base.neighbors import ranked_by_class
from holdfast.learn import MatrixTerm, Triplets, TripletTerm
from holdfast.learn.objective import Objective
from holdfast.learn.proxy_nca import ProxyGeometry
from holdfast.learn.supervision import cross
from holdfast.numerics.sums import LEAF, leaves, tree_sum

_MIN_PER_CLASS = 100  # rows of a class in a sample, if it has them: enough for a few k-means centres or local bases

# -- labels ---------------------------------------------------------------------------------------


def count_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes of a block, and how many rows each has."""
    return np.unique(y, return_counts=True)


def encode(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Class codes: the places of the labels among the sorted classes."""
    return np.searchsorted(classes, y)


# -- rows, cut and picked -------------------------------------------------------------------------


def starts_of(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """The index of the first row of every block, and after the last block the number of rows."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(int)


def lengths_at_leaves(lengths: Sequence[int]) -> list[int]:
    """Lengths of blocks that are cut every 2^s leaves, no longer than the longest block.

    Sums over such blocks have the bits of sums over arrays; see :func:`~holdfast.numerics.sums.tree_sum`.
    """
    size, n = LEAF * 2 ** max(0, int(np.log2(max(lengths) / LEAF))), sum(lengths)
    return [min(size, n - start) for start in range(0, n, size)]


def cuts_for(lengths: Sequence[int], wanted: Sequence[int]) -> list[tuple[slice, list[tuple[int, int]]]]:
    """The cuts that turn blocks of the given lengths into blocks of the wanted ones.

    Returns
    -------
    list of (blocks, cuts)
        For each wanted block the old blocks it is made of, and from which row to which of each.
    """
    edges = starts_of(lengths)
    found, start = [], 0
    for length in wanted:
        stop = start + length
        first, last = np.searchsorted(edges, start, "right") - 1, np.searchsorted(edges, stop, "left")
        cuts = [(max(0, start - edges[b]), min(lengths[b], stop - edges[b])) for b in range(first, last)]
        found.append((slice(first, last), cuts))
        start = stop
    return found


def join(blocks: Sequence, cuts: Sequence[tuple[int, int]]) -> np.ndarray:
    """Rows ``start`` to ``stop`` of each block, one after the other."""
    parts = [block[start:stop] for block, (start, stop) in zip(blocks, cuts, strict=True)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def draw_rows(counts: np.ndarray, size: int, random_state) -> list[list[np.ndarray]]:
    """Draw about ``size`` rows, class by class in proportion; all rows, if there are no more.

    Parameters
    ----------
    counts : int ndarray of shape (n_blocks, n_classes)
    size : int
    random_state : int, RandomState or None

    Returns
    -------
    list of lists of int ndarrays
        For each block, and each class, the rows drawn, numbered within block and class.
    """
    sizes = counts.sum(axis=0)
    n = sizes.sum()
    if n <= size:
        return [[np.arange(count) for count in row] for row in counts]
    rng = check_random_state(random_state)
    shares = np.minimum(sizes, np.maximum(np.round(size * sizes / n).astype(int), _MIN_PER_CLASS))
    drawn: list[list[np.ndarray]] = [[] for _ in counts]
    for c, share in enumerate(shares):
        chosen = np.sort(rng.choice(sizes[c], share, replace=False))
        for b, (start, stop) in enumerate(pairwise(starts_of(counts[:, c]))):
            drawn[b].append(chosen[(chosen >= start) & (chosen < stop)] - start)
    return drawn


def pick(X: np.ndarray, codes: np.ndarray, drawn: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a block that :func:`draw_rows` drew, and their codes, in the order of the block."""
    rows = [np.flatnonzero(codes == c)[numbers] for c, numbers in enumerate(drawn) if len(numbers)]
    chosen = np.sort(np.concatenate(rows)) if rows else np.empty(0, int)
    return X[chosen], codes[chosen]


# -- sums over rows -------------------------------------------------------------------------------


def add_rows(total: np.ndarray, X: np.ndarray) -> np.ndarray:
    """``total + x_1 + x_2 + …``, one after the other as numpy sums the rows of an array."""
    return np.add.reduce(np.vstack([total, X]), axis=0)


def add_squares(total: np.ndarray, X: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """``total + (x_1 − centre)² + …``, entry by entry, in the same order."""
    return add_rows(total, (X - centre) ** 2)


def sum_over_leaves(X: np.ndarray, function: Callable[[np.ndarray], tuple]) -> tuple:
    """``Σ function(rows)`` of a block that begins and ends at leaves."""
    return tree_sum([function(X[leaf]) for leaf in leaves(len(X))])


def sum_by_class(X: np.ndarray, codes: np.ndarray, n_classes: int) -> tuple[np.ndarray]:
    """The sum of the rows of each class."""
    out = np.zeros((n_classes, X.shape[1]))
    np.add.at(out, codes, X)
    return (out,)


# -- mining ---------------------------------------------------------------------------------------

Nearest = list[tuple[np.ndarray, np.ndarray]]  # of targets, then of impostors: d² and indices, nearest first


def nothing_found(n_anchors: int, n_same: int, n_other: int) -> Nearest:
    """The state of a search before its first block: no neighbour at any distance."""
    return [(np.full((n_anchors, k), np.inf), np.full((n_anchors, k), -1)) for k in (n_same, n_other)]


def search_block(
    found: Nearest,
    anchors: tuple[np.ndarray, np.ndarray, np.ndarray],
    points: tuple[np.ndarray, np.ndarray, int],
) -> Nearest:
    """The nearest among those found so far and those of one more block; of equally near ones the smaller index.

    Parameters
    ----------
    found : d² and indices of the nearest targets and impostors so far
    anchors : rows, their codes, and their indices among all rows
    points : rows of the block, their codes, and the index of the first
    """
    (Q, labels, index), (X, y, start) = anchors, points
    Q, X = writable(Q), writable(X)
    n_same, n_other = (d.shape[1] for d, _ in found)
    if index.size and start <= index[0] < start + len(X):  # the anchors are rows of this block
        here = ranked_by_class(X, y, n_same, n_other, 1, anchors=index - start)
    else:
        here = ranked_by_class(X, y, n_same, n_other, 1, queries=(Q, labels))
    return [_nearer(*before, *new, start) for before, new in zip(found, here, strict=True)]


def _nearer(d, index, new_d, places, start: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest of both lists, as many as the first has."""
    k = d.shape[1]
    d = np.hstack([d, new_d])
    index = np.hstack([index, np.where(places < 0, -1, places.astype(np.int64) + start)])
    order = np.lexsort((index, d), axis=1)[:, :k]
    return np.take_along_axis(d, order, axis=1), np.take_along_axis(index, order, axis=1)


def take_anchors(X: np.ndarray, codes: np.ndarray, start: int, chosen: np.ndarray) -> tuple:
    """The chosen rows of a block, their codes, and their indices among all rows."""
    return X[chosen], codes[chosen], chosen + start


def triplets_of(found: Nearest, anchors: np.ndarray) -> np.ndarray:
    """Every anchor with each target and each impostor found for it: rows (i, j, l) of indices."""
    (_, targets), (_, impostors) = found
    rows = np.column_stack(cross(anchors, targets, impostors))
    return rows[(rows >= 0).all(axis=1)]


# -- one block's part of a problem ----------------------------------------------------------------


def named_points(rows: np.ndarray) -> np.ndarray:
    """The distinct points of some triplets, by growing index."""
    return np.unique(rows)


def select_named(X: np.ndarray, start: int, named: np.ndarray) -> np.ndarray:
    """Those rows of a block, whose first has index ``start``, that are among the named ones."""
    low, high = np.searchsorted(named, [start, start + len(X)])
    return X[named[low:high] - start]


def renumber(rows: np.ndarray, named: np.ndarray, points: Sequence[np.ndarray]) -> tuple[np.ndarray, Triplets]:
    """The named points, and the triplets over these alone: a problem that needs no other block."""
    i, j, l = (np.searchsorted(named, column).astype(np.int32) for column in rows.T)
    return np.concatenate(points), Triplets.from_columns(i, j, l, named.size)


def count_triplets(problem: tuple[np.ndarray, Triplets]) -> tuple[int, int]:
    """``|R|`` and ``|S|`` of a block. A pair (i, j) is in the block of i and in no other."""
    _, triplets = problem
    return len(triplets), triplets.targets.size if len(triplets) else 0


def writable(array: np.ndarray) -> np.ndarray:
    """The array, or a copy if it cannot be written to.

    Arrays that came over the network are read-only, and for such a type numba would compile every kernel again.
    """
    return array if array.flags.writeable else array.copy()


def make_objective(
    problem: tuple[np.ndarray, Triplets],
    terms: Sequence[tuple[float, TripletTerm | MatrixTerm]],
    n_triplets: int,
    n_pairs: int,
    B: np.ndarray | None,
) -> Objective:
    """The triplet terms over one block; its means weigh as much as its share of ``|R|`` and of ``|S|``."""
    X, triplets = problem
    if not triplets.i.flags.writeable:
        triplets = triplets.take(np.arange(len(triplets)))  # a copy
    share = {"R": len(triplets) / n_triplets, "S": triplets.targets.size / n_pairs}
    weighted = [(weight * share[term.over], term) for weight, term in terms if isinstance(term, TripletTerm)]
    return Objective(writable(X), triplets, weighted, None if B is None else writable(B), n_jobs=1)


def value_and_gradient(objective: Objective, M: np.ndarray) -> tuple[float, np.ndarray]:
    """The share of a block in the objective and its gradient."""
    return objective(M)


def sums_of_squares(objective: Objective) -> tuple[np.ndarray, np.ndarray]:
    """The share of a block in ``Σ_R X_ij`` and ``Σ_R X_il``."""
    similar, dissimilar = objective.scatters
    return len(objective.triplets) * similar, len(objective.triplets) * dissimilar


def largest_distance(objective: Objective, M: np.ndarray) -> float:
    """The largest ``d²_M`` of a pair of the block."""
    return objective.largest_distance(M)


def make_proxy_geometry(X: np.ndarray, codes: np.ndarray, labels: np.ndarray, B: np.ndarray | None) -> ProxyGeometry:
    """The geometry of the rows of one block and the proxies, on one thread."""
    X, codes, labels = writable(X), writable(codes), writable(labels)
    return ProxyGeometry(X, codes, labels, None if B is None else writable(B), 1)


# -- predictions ----------------------------------------------------------------------------------


def call_method(model, method: str, block, width: tuple[int, ...], dtype) -> np.ndarray:
    """``model.method(block)``; an empty array of the right shape for a block without rows."""
    if len(block) == 0:
        return np.empty((0, *width), dtype)
    return np.asarray(getattr(model, method)(block))


def certify_block(certify: Callable, model, block, y, options: dict):
    """``certify(model, block, y, **options)``; None for a block without rows."""
    return certify(model, block, y, **options) if len(block) else None
