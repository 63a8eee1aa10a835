"""Rows in the blocks of a Dask collection: they stay on its workers, a metric goes there, and sums come back.

A fit checks the blocks and keeps them on the workers; what a step needs of a block is built there once. Everything on
a worker can be made again from the collection itself, so that a worker may die. With an active ``distributed.Client``
its workers are used, without one Dask's own threads. The order of sums depends on the blocks alone, and agrees with
that of arrays to rounding. Functions of blocks never write to their arguments: they may be called again.
"""

import threading
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import Any

import dask
import numpy as np
from dask import delayed
from sklearn.utils import assert_all_finite, check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from holdfast.base.blocks import single_threaded_blas, tree_sum
from holdfast.base.collections import blocks_of, check_rows, count_features, labels_in_blocks, starts_of, with_columns
from holdfast.base.inputs import check_count
from holdfast.base.neighbors import ranked_by_class
from holdfast.learn.objective import Objective, Terms, scatters_of
from holdfast.learn.rows import LabelledRows, TripletRows
from holdfast.learn.supervision import NeighborSearch, Triplets, as_search, check_class_sizes, cross
from holdfast.learn.terms import MatrixTerm, TripletTerm

_MIN_PER_CLASS = 100  # rows of a class in a sample, if it has them: enough for a few k-means centres or local bases
_FAN_IN = 8  # sums added in one task: few tasks, and yet few sums at one worker


def compute(tasks: list) -> list:
    """The values of the tasks, in this process."""
    return list(dask.compute(*tasks))


def _kept(tasks: list) -> list:
    """The tasks, computed and kept on the workers for as long as the result is referred to."""
    return list(dask.persist(*tasks))


def _total(tasks: list) -> tuple:
    """The sum of tuples, added on the workers."""
    while len(tasks) > 1:
        tasks = [delayed(tree_sum)(tasks[start : start + _FAN_IN]) for start in range(0, len(tasks), _FAN_IN)]
    return compute(tasks)[0]


class BlockedRows(LabelledRows):
    """Rows in blocks, with their classes if labels are given; blocks without rows are left out. ``rows`` and ``codes``
    are tasks, ``starts`` the index of each block's first row, ``counts`` its rows of each class.
    """

    in_memory = False

    def __init__(self, X, y, validate: Callable[..., Any], owner: str):
        n_features = count_features(X, validate)
        checked = _kept([delayed(check_rows)(block, owner) for block in blocks_of(X)])
        found = compute([delayed(len)(block) for block in checked])
        self.rows = [block for block, length in zip(checked, found, strict=True) if length]
        self.lengths = [length for length in found if length]
        self.starts = starts_of(self.lengths)
        self.shape = (int(self.starts[-1]), n_features)
        if self.shape[0] < 2:
            raise ValueError(
                f"Found array with {self.shape[0]} sample(s) (shape={self.shape}) while a minimum of 2 is "
                f"required by {owner}."
            )
        self.labelled = y is not None
        if self.labelled:
            labels = _kept([delayed(_check_labels)(block) for block in labels_in_blocks(y, self.lengths)])
            found = compute([delayed(np.unique)(block, return_counts=True) for block in labels])
            self.classes = np.unique(np.concatenate([classes for classes, _ in found]))
            self.codes = _kept([delayed(np.searchsorted)(self.classes, block) for block in labels])
            self.counts = np.zeros((len(found), self.classes.size), int)
            for row, (classes, sizes) in zip(self.counts, found, strict=True):
                row[np.searchsorted(self.classes, classes)] = sizes

    def sum(self, function: Callable[[np.ndarray], tuple]) -> tuple:
        """``Σ function(rows)`` over the blocks."""
        return _total([delayed(function)(block) for block in self.rows])

    def variances(self) -> np.ndarray:
        """The variance of every feature."""
        mean = self.sum(_sum)[0] / self.shape[0]
        return _total([delayed(_sum_of_squares)(block, mean) for block in self.rows])[0] / self.shape[0]

    def class_means(self) -> np.ndarray:
        """The mean of each class, in the order of ``classes``."""
        blocks = zip(self.rows, self.codes, strict=True)
        (total,) = _total([delayed(_sum_by_class)(X, codes, len(self.classes)) for X, codes in blocks])
        return total / self.counts.sum(axis=0)[:, None]

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> "BlockedRows":
        """The same labels with ``function(rows)`` for rows."""
        mapped = copy(self)
        mapped.rows = _kept([delayed(function)(block) for block in self.rows])
        return mapped

    def sample(self, size: int, random_state) -> tuple[np.ndarray, np.ndarray]:
        """Rows and class codes as arrays: all, or about ``size`` of them, drawn class by class in proportion, but at
        least a hundred of each class that has them.
        """
        drawn = _draw_rows(self.counts, size, random_state)
        blocks = zip(self.rows, self.codes, drawn, strict=True)
        rows, codes = zip(*compute([delayed(_pick)(X, codes, chosen) for X, codes, chosen in blocks]), strict=True)
        return np.concatenate(rows), np.concatenate(codes)

    def keep(self, make: Callable, *arguments, n_jobs: int | None) -> "KeptBlocks":  # type: ignore[override]
        """``make(rows, codes, *arguments, 1)`` of each block, on one thread of its worker."""
        blocks = zip(self.rows, self.codes, strict=True)
        return KeptBlocks([delayed(_Rebuilt)(make, X, codes, *arguments, 1) for X, codes in blocks])

    def split(self, triplets: Triplets) -> list:
        """Given triplets, as tasks: for each block of rows those whose anchors it holds."""
        block = np.searchsorted(self.starts, triplets.i, side="right") - 1
        return [delayed(triplets.rows[block == b], traverse=False) for b in range(len(self.rows))]

    def triplets(self, n_neighbors: int, n_impostors: int | None, neighbors: str | NeighborSearch) -> list:
        """The triplets of :func:`~holdfast.learn.knn_triplets`, as tasks, one for each block of anchors."""
        check_count("knn_triplets", "n_neighbors", n_neighbors)
        if n_impostors is None:
            raise ValueError(
                "n_impostors=None takes every row of the other classes, which would bring all rows to every worker: "
                "choose a number, such as n_impostors=10."
            )
        check_count("knn_triplets", "n_impostors", n_impostors)
        check_class_sizes(self.classes, self.counts.sum(axis=0), n_neighbors)
        blocks = list(zip(self.rows, self.codes, self.starts.tolist(), strict=False))
        found = []
        for (X, codes, start), chosen in zip(blocks, self._anchors(neighbors), strict=True):
            anchors = delayed(_take)(X, codes, start, chosen)
            nearest: Any = [delayed(_none_found)(len(chosen), k) for k in (n_neighbors, n_impostors)]
            for block in blocks:
                nearest = delayed(_search_block)(nearest, anchors, block)
            found.append(delayed(_triplets_of)(nearest, chosen + start))
        return found

    def _anchors(self, neighbors: str | NeighborSearch) -> list[np.ndarray]:
        """The rows of each block that become anchors, numbered within the block."""
        search = as_search(neighbors)
        if search.method != "exact":
            raise ValueError(
                "neighbors: the approximate search needs all rows in one place; on a Dask collection use the exact "
                "one, with NeighborSearch(n_anchors=...) for fewer anchors if it takes too long."
            )
        if search.n_anchors is None:
            return [np.arange(length) for length in self.lengths]
        chosen = search.anchors(np.concatenate(compute(self.codes)))
        return [chosen[(chosen >= a) & (chosen < b)] - a for a, b in pairwise(self.starts)]


class BlockedTriplets(TripletRows):
    """Rows in blocks, with their triplets: for each block those whose anchors it holds, and all rows that they name."""

    in_memory = False

    def __init__(self, rows: BlockedRows, triplets: list):
        self._rows, self.shape, self.labelled = rows, rows.shape, rows.labelled
        self._scatters = None
        problems = []
        for of_block in triplets:
            named = delayed(np.unique)(of_block)
            points = [
                delayed(_select)(X, start, named) for X, start in zip(rows.rows, rows.starts.tolist(), strict=False)
            ]
            problems.append(delayed(_renumber)(of_block, named, points))
        self._problems = _kept(problems)

    def variances(self) -> np.ndarray:
        """The variance of every feature."""
        return self._rows.variances()

    def sample(self, size: int, random_state) -> tuple[np.ndarray, np.ndarray]:
        """About ``size`` rows, drawn class by class, and their class codes."""
        return self._rows.sample(size, random_state)

    def points_and_triplets(self) -> tuple[np.ndarray, Triplets]:
        """Refused: the rows are on workers."""
        raise ValueError(
            "The bases of SCML are made from class labels when X is a Dask collection: pass y beside the triplets, "
            "or bases of your own as basis=..."
        )

    @cached_property
    def sizes(self) -> np.ndarray:
        """``|R|`` and ``|S|`` of each block. A pair (i, j) is in the block of i and in no other."""
        return np.array(compute([delayed(_count_triplets)(problem) for problem in self._problems]))

    def scatters(self, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
        """The means over R of ``X_ij`` and of ``X_il``."""
        if self._scatters is None:
            similar, dissimilar = _total([delayed(_sums_of_scatters)(problem) for problem in self._used_problems()])
            self._scatters = similar / self.sizes[:, 0].sum(), dissimilar / self.sizes[:, 0].sum()
        return self._scatters

    def _used_problems(self) -> list:
        """The blocks that have triplets."""
        return [problem for problem, n in zip(self._problems, self.sizes[:, 0], strict=True) if n]

    def objective(self, terms: Terms, B: np.ndarray | None, n_jobs: int | None) -> Any:
        """The weighted terms, summed over the triplets; each block is on one thread."""
        shared = [delayed(item, traverse=False) for item in (list(terms), *self.sizes.sum(axis=0).tolist(), B)]
        tasks = [delayed(_Rebuilt)(_objective, problem, *shared) for problem in self._used_problems()]
        return BlockedObjective(tasks, self, terms)


class KeptBlocks:
    """Objects that are made of blocks on workers, and stay there; functions of them are summed over the blocks."""

    def __init__(self, tasks: list):
        self._objects = _kept(tasks)
        self._addresses: list = []

    def each(self, function: Callable, *arguments) -> list:
        """Tasks ``function(object, *arguments)``, each sent to the worker that has the object while it runs."""
        call = delayed((function, *arguments), traverse=False)
        self._addresses = self._addresses or _addresses(self._objects)
        tasks = []
        for made, address in zip(self._objects, self._addresses or [None] * len(self._objects), strict=True):
            with dask.annotate(**({"workers": [address], "allow_other_workers": True} if address else {})):
                tasks.append(delayed(_call)(made, call))
        return tasks

    def total(self, function: Callable[..., tuple], *arguments) -> tuple:
        """``Σ function(object, *arguments)`` over the blocks."""
        return _total(self.each(function, *arguments))

    def __enter__(self) -> "KeptBlocks":
        return self

    def __exit__(self, *exc) -> None:
        self._objects, self._addresses = [], []  # the memory of the workers is released


class BlockedObjective(KeptBlocks):
    """The objective over triplets in blocks: M goes to the workers, sums come back."""

    def __init__(self, tasks: list, data: BlockedTriplets, terms: Terms):
        super().__init__(tasks)
        self._data, self.n_features = data, data.shape[1]
        self._of_M = [(weight, term) for weight, term in terms if isinstance(term, MatrixTerm)]

    def __call__(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and symmetric gradient at M."""
        value, G = self.total(_value_and_gradient, M)
        for weight, term in self._of_M:
            total, gradient = term.value_and_grad(M)
            value, G = value + weight * total, G + weight * gradient
        return value, G

    @property
    def scatters(self) -> tuple[np.ndarray, np.ndarray]:
        """The means over R of ``X_ij`` and of ``X_il``."""
        return self._data.scatters(None)

    def largest_distance(self, M: np.ndarray) -> float:
        """The largest ``d²_M`` of a pair."""
        return max(compute(self.each(_largest_distance, M)))


def class_means(X, y) -> tuple:
    """The mean of each class, with the columns of X, and the classes."""
    rows = BlockedRows(X, y, check_array, "CertifiedPrototypeClassifier")
    return with_columns(rows.class_means(), X), rows.classes


# -- objects on workers -----------------------------------------------------------------------------


class _Rebuilt:
    """An object that is built from its data when it is first used, and pickled as its data."""

    def __init__(self, build: Callable, *data):
        self._build, self._data, self._lock = build, data, threading.Lock()
        self._object: Any = None

    def __call__(self, function: Callable, *arguments):
        """``function(object, *arguments)``, on one thread."""
        with self._lock, single_threaded_blas():
            if self._object is None:
                self._object = self._build(*(_writable(item) for item in self._data))
            return function(self._object, *arguments)

    def __reduce__(self):
        return type(self), (self._build, *self._data)

    def __sizeof__(self) -> int:  # read by Dask when it balances the memory of workers
        return 1000 + sum(_bytes(item) for item in self._data)


def _call(made: _Rebuilt, call: tuple):
    return made(*call)


def _addresses(tasks: list) -> list:
    """The address of the worker that holds each value; empty without a cluster, or while one is not computed."""
    try:
        from distributed import default_client

        holders = default_client().who_has(tasks)
    except (ImportError, ValueError):  # no cluster, or none in use
        return []
    addresses = [next(iter(holders.get(task.key, ())), None) for task in tasks]
    return addresses if all(addresses) else []


def _writable(item):
    """An array that came over the network is read-only, a type for which numba would compile every kernel again."""
    return item.copy() if isinstance(item, np.ndarray) and not item.flags.writeable else item


def _bytes(item) -> int:
    """The size of the arrays in an object, its lists, tuples and attributes."""
    if isinstance(item, np.ndarray):
        return item.nbytes
    parts = item if isinstance(item, tuple | list) else vars(item).values() if hasattr(item, "__dict__") else ()
    return sum(_bytes(part) for part in parts)


# -- functions of one block -------------------------------------------------------------------------


def _check_labels(block) -> np.ndarray:
    """The labels of a block, or the ``ValueError`` that arrays would get."""
    y = column_or_1d(np.asarray(block))
    assert_all_finite(y, input_name="y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # many classes in a small block do not mean regression
        if y.size:
            check_classification_targets(y)
    return y


def _sum(X: np.ndarray) -> tuple[np.ndarray]:
    return (X.sum(axis=0),)


def _sum_of_squares(X: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray]:
    return (((X - centre) ** 2).sum(axis=0),)


def _sum_by_class(X: np.ndarray, codes: np.ndarray, n_classes: int) -> tuple[np.ndarray]:
    out = np.zeros((n_classes, X.shape[1]))
    np.add.at(out, codes, X)
    return (out,)


def _draw_rows(counts: np.ndarray, size: int, random_state) -> list[list[np.ndarray]]:
    """For each block and class (n_blocks, n_classes) the rows drawn, numbered within both; all if there are no more."""
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


def _pick(X: np.ndarray, codes: np.ndarray, drawn: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a block that were drawn, and their codes, in the order of the block."""
    rows = [np.flatnonzero(codes == c)[numbers] for c, numbers in enumerate(drawn) if len(numbers)]
    chosen = np.sort(np.concatenate(rows)) if rows else np.empty(0, int)
    return X[chosen], codes[chosen]


def _take(X: np.ndarray, codes: np.ndarray, start: int, chosen: np.ndarray) -> tuple:
    """The chosen rows of a block, their codes, and their indices among all rows."""
    return X[chosen], codes[chosen], chosen + start


def _none_found(m: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((m, k), np.inf), np.full((m, k), -1)


def _search_block(found, anchors: tuple, block: tuple) -> list[tuple[np.ndarray, np.ndarray]]:
    """The nearest targets and impostors among those found so far and those of one more block: d² and indices of each,
    ties to the smaller index. ``anchors`` are rows, codes and indices among all rows; ``block`` rows, codes, index of
    the first.
    """
    (Q, labels, index), (X, y, start) = anchors, block
    Q, X = _writable(Q), _writable(X)
    n_same, n_other = (d.shape[1] for d, _ in found)
    if index.size and start <= index[0] < start + len(X):  # the anchors are rows of this block
        here = ranked_by_class(X, y, n_same, n_other, 1, anchors=index - start)
    else:
        here = ranked_by_class(X, y, n_same, n_other, 1, queries=(Q, labels))
    nearest = []
    for (d, before), (new_d, new_index) in zip(found, here, strict=True):
        both = np.hstack([d, new_d])
        indices = np.hstack([before, np.where(new_index < 0, -1, new_index.astype(np.int64) + start)])
        order = np.lexsort((indices, both), axis=1)[:, : d.shape[1]]
        nearest.append((np.take_along_axis(both, order, axis=1), np.take_along_axis(indices, order, axis=1)))
    return nearest


def _triplets_of(found, anchors: np.ndarray) -> np.ndarray:
    """Every anchor with each target and each impostor found for it: rows (i, j, l) of indices."""
    (_, targets), (_, impostors) = found
    rows = np.column_stack(cross(anchors, targets, impostors))
    return rows[(rows >= 0).all(axis=1)]


def _select(X: np.ndarray, start: int, named: np.ndarray) -> np.ndarray:
    """Those rows of a block, whose first has index ``start``, that are among the named ones."""
    low, high = np.searchsorted(named, [start, start + len(X)])
    return X[named[low:high] - start]


def _renumber(rows: np.ndarray, named: np.ndarray, points: Sequence[np.ndarray]) -> tuple[np.ndarray, Triplets]:
    """The named points, and the triplets over these alone: a problem that needs no other block."""
    i, j, l = (np.searchsorted(named, column).astype(np.int32) for column in rows.T)
    return np.concatenate(points), Triplets.from_columns(i, j, l, named.size)


def _count_triplets(problem: tuple[np.ndarray, Triplets]) -> tuple[int, int]:
    triplets = problem[1]
    return len(triplets), triplets.targets.size if len(triplets) else 0


def _own(problem: tuple[np.ndarray, Triplets]) -> tuple[np.ndarray, Triplets]:
    """Points and triplets whose arrays kernels take."""
    X, triplets = problem
    return _writable(X), triplets if triplets.i.flags.writeable else triplets.take(np.arange(len(triplets)))


def _sums_of_scatters(problem: tuple[np.ndarray, Triplets]) -> tuple[np.ndarray, np.ndarray]:
    """The share of a block in ``Σ_R X_ij`` and ``Σ_R X_il``."""
    X, triplets = _own(problem)
    with single_threaded_blas():
        similar, dissimilar = scatters_of(X, triplets, 1)
    return len(triplets) * similar, len(triplets) * dissimilar


def _objective(problem: tuple[np.ndarray, Triplets], terms: Terms, n_triplets: int, n_pairs: int, B) -> Objective:
    """The triplet terms over one block; its means weigh as much as its share of ``|R|`` and of ``|S|``."""
    X, triplets = _own(problem)
    share = {"R": len(triplets) / n_triplets, "S": triplets.targets.size / n_pairs}
    weighted = [(weight * share[term.over], term) for weight, term in terms if isinstance(term, TripletTerm)]
    return Objective(X, triplets, weighted, B, n_jobs=1)


def _value_and_gradient(objective: Objective, M: np.ndarray) -> tuple[float, np.ndarray]:
    return objective(M)


def _largest_distance(objective: Objective, M: np.ndarray) -> float:
    return objective.largest_distance(M)
