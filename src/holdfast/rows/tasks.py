"""What a worker does with its block of rows: plain functions of arrays, which know no cluster.

Results are never written to again: a block may be asked twice, when a worker has died.
"""

import pickle
import threading
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from holdfast.constraints import Triplets
from holdfast.constraints.search import ranked_by_class
from holdfast.objective import Objective
from holdfast.rows.sums import leaves, tree_sum
from holdfast.terms import MatrixTerm, TripletTerm
from holdfast.threads import single_threaded_blas

# -- checks -------------------------------------------------------------------------------------


def checked_rows(block, name: str) -> np.ndarray:
    """The rows of a block as float64, or the ``ValueError`` that arrays would get."""
    return check_array(block, dtype=np.float64, order="C", ensure_min_samples=0, estimator=name, input_name="X")


def checked_labels(block) -> np.ndarray:
    """The labels of a block, or the ``ValueError`` that arrays would get."""
    y = column_or_1d(np.asarray(block))
    assert_all_finite(y, input_name="y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # many classes in a small block are no regression
        if y.size:
            check_classification_targets(y)
    return y


def tally(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes of a block, and how many rows each has."""
    return np.unique(y, return_counts=True)


def encode(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Class codes."""
    return np.searchsorted(classes, y)


# -- rows, cut and picked -------------------------------------------------------------------------


def join(blocks: Sequence, cuts: Sequence[tuple[int, int]]) -> np.ndarray:
    """Rows ``start`` to ``stop`` of each block, one after the other."""
    parts = [block[start:stop] for block, (start, stop) in zip(blocks, cuts, strict=True)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def pick(X: np.ndarray, codes: np.ndarray, places: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Of each class c the rows with the numbers ``places[c]``, counted within class and block; in their order."""
    rows = [np.flatnonzero(codes == c)[numbers] for c, numbers in enumerate(places) if len(numbers)]
    chosen = np.sort(np.concatenate(rows)) if rows else np.empty(0, int)
    return X[chosen], codes[chosen]


def add_rows(total: np.ndarray, X: np.ndarray) -> np.ndarray:
    """``total + x_1 + x_2 + …``, one after the other as numpy sums the rows of an array."""
    return np.add.reduce(np.vstack([total, X]), axis=0)


def add_squares(total: np.ndarray, X: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """The same of the squared distances of each feature from its centre."""
    return add_rows(total, (X - centre) ** 2)


def sum_over_leaves(X: np.ndarray, function: Callable[[np.ndarray], tuple]) -> tuple:
    """``Σ function(rows)`` of a block that is cut at leaves."""
    return tree_sum([function(X[part]) for part in leaves(len(X))])


def class_sums(X: np.ndarray, codes: np.ndarray, n_classes: int) -> tuple[np.ndarray]:
    """The sum of the rows of each class."""
    out = np.zeros((n_classes, X.shape[1]))
    np.add.at(out, codes, X)
    return (out,)


# -- mining ---------------------------------------------------------------------------------------

Found = list[tuple[np.ndarray, np.ndarray]]  # of targets, then of impostors: d² and indices, nearest first


def nothing_found(n_anchors: int, n_same: int, n_other: int) -> Found:
    """Where a search starts."""
    return [(np.full((n_anchors, k), np.inf), np.full((n_anchors, k), -1)) for k in (n_same, n_other)]


def search_block(
    found: Found,
    anchors: tuple[np.ndarray, np.ndarray, np.ndarray],
    points: tuple[np.ndarray, np.ndarray, int],
) -> Found:
    """What was found in other blocks, and what is nearer in this one; of equals the smaller index.

    Parameters
    ----------
    found : d² and indices of the nearest targets and impostors so far
    anchors : rows, their codes, and their indices among all rows
    points : rows, their codes, and the index of the first
    """
    (Q, labels, own), (X, y, start) = anchors, points
    Q, X = (rows if rows.flags.writeable else rows.copy() for rows in (Q, X))  # see Part
    n_same, n_other = (d.shape[1] for d, _ in found)
    if own.size and start <= own[0] < start + len(X):
        seen = ranked_by_class(X, y, n_same, n_other, 1, anchors=own - start)
    else:
        seen = ranked_by_class(X, y, n_same, n_other, 1, queries=(Q, labels))
    return [_nearer(*before, *new, start) for before, new in zip(found, seen, strict=True)]


def _nearer(d, index, new_d, places, start: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest of both lists, as many as the first has."""
    k = d.shape[1]
    d = np.hstack([d, new_d])
    index = np.hstack([index, np.where(places < 0, -1, places.astype(np.int64) + start)])
    order = np.lexsort((index, d), axis=1)[:, :k]
    return np.take_along_axis(d, order, axis=1), np.take_along_axis(index, order, axis=1)


def anchors(X: np.ndarray, codes: np.ndarray, start: int, own: np.ndarray) -> tuple:
    """Some rows of a block, their codes, and their indices among all rows."""
    return X[own], codes[own], own + start


def triplets_of(found: Found, own: np.ndarray) -> np.ndarray:
    """Every anchor with its targets, each with the anchor's impostors: rows (i, j, l) of indices."""
    (_, j), (_, l) = found
    shape = (*j.shape, l.shape[1])  # anchors × targets × impostors
    columns = [np.broadcast_to(t, shape).ravel() for t in (own[:, None, None], j[:, :, None], l[:, None, :])]
    rows = np.column_stack(columns)
    return rows[(rows >= 0).all(axis=1)]


def rows_named(rows: np.ndarray) -> np.ndarray:
    """The distinct points of some triplets, by growing index."""
    return np.unique(rows)


def rows_wanted(X: np.ndarray, start: int, named: np.ndarray) -> np.ndarray:
    """Those rows of a block, whose first has index ``start``, that are named."""
    low, high = np.searchsorted(named, [start, start + len(X)])
    return X[named[low:high] - start]


def problem(rows: np.ndarray, named: np.ndarray, points: Sequence[np.ndarray]) -> tuple[np.ndarray, Triplets]:
    """Triplets renumbered over the points they name: a block that needs no other."""
    i, j, l = (np.searchsorted(named, column).astype(np.int32) for column in rows.T)
    triplets = Triplets._trusted(i, j, l, named.size)
    return np.concatenate(points), triplets


def sizes(points_and_triplets: tuple[np.ndarray, Triplets]) -> tuple[int, int]:
    """``|R|`` and ``|S|`` of a block. A pair (i, j) is in the block of i and in no other."""
    triplets = points_and_triplets[1]
    return len(triplets), triplets.targets.size if len(triplets) else 0


# -- sums -----------------------------------------------------------------------------------------


class Part:
    """Something made of data when it is first used: the data may travel, what is made of it stays behind.

    Parameters
    ----------
    make : callable
    data : what it is called with
    """

    def __init__(self, make: Callable, *data):
        self._make, self._data = make, data
        self._made, self._lock = None, threading.Lock()

    def __call__(self, function: Callable, *arguments):
        """``function(made, *arguments)``, on one thread."""
        with self._lock, single_threaded_blas():
            if self._made is None:
                # Arrays that came over the wire cannot be written to, and kernels would be compiled anew for them.
                self._data = pickle.loads(pickle.dumps(self._data))
                self._made = self._make(*self._data)
            return function(self._made, *arguments)

    def __reduce__(self):
        return type(self), (self._make, *self._data)

    def __sizeof__(self) -> int:
        return 1000 + sum(_bytes(item) for item in self._data)


def _bytes(item) -> int:
    if isinstance(item, np.ndarray):
        return item.nbytes
    parts = item if isinstance(item, tuple | list) else vars(item).values() if hasattr(item, "__dict__") else ()
    return sum(_bytes(part) for part in parts)


def ask(part: Part, question: tuple):
    """``function(what the part makes, *arguments)``, the question being ``(function, *arguments)``."""
    return part(*question)


def share_of_objective(
    points_and_triplets: tuple[np.ndarray, Triplets],
    terms: Sequence[tuple[float, TripletTerm | MatrixTerm]],
    whole: tuple[int, int],
    B: np.ndarray | None,
) -> Objective:
    """The part of a block in the objective over all: its means, weighted by its share of R and of S."""
    X, triplets = points_and_triplets
    share = {"R": len(triplets) / whole[0], "S": triplets.targets.size / whole[1]}
    weighted = [(weight * share[term.over], term) for weight, term in terms if isinstance(term, TripletTerm)]
    return Objective(X, triplets, weighted, B, n_jobs=1)


def value_and_gradient(objective: Objective, M: np.ndarray) -> tuple[float, np.ndarray]:
    """What a block adds to the objective."""
    return objective(M)


def sums_of_squares(objective: Objective) -> tuple[np.ndarray, np.ndarray]:
    """What a block adds to ``Σ_R X_ij`` and ``Σ_R X_il``."""
    similar, dissimilar = objective.scatters
    return len(objective.triplets) * similar, len(objective.triplets) * dissimilar


def largest_distance(objective: Objective, M: np.ndarray) -> float:
    """The largest of a block."""
    return objective.largest_distance(M)


# -- predictions ------------------------------------------------------------------------------------


def call(model, method: str, block, width: tuple[int, ...], dtype) -> np.ndarray:
    """``model.method(block)``; nothing, of the right shape, for a block without rows."""
    if len(block) == 0:
        return np.empty((0, *width), dtype)
    return np.asarray(getattr(model, method)(block))


def certificate(model, block, y, options: dict):
    """The certificate of a block; None for a block without rows."""
    from holdfast.certificates.certify import certify

    return certify(model, block, y, **options) if len(block) else None
