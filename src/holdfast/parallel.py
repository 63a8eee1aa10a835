"""Rows on the workers of a cluster: the only file that knows Dask.

What is a sum or a map over rows happens where the rows are. A fit brings the blocks of a collection to the
workers' memory once, checked; a step sends a metric to them and adds up what comes back, in an order that
depends on the blocks alone. Everything on a worker can be made again from the collection itself, so that a
worker may die. With an active ``distributed.Client`` its workers are used, without one Dask's own threads.

See :mod:`holdfast.rows.tasks` for what a worker does, and :mod:`holdfast.rows.here` for the same names on arrays.
"""

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from itertools import pairwise

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from holdfast.certificates.certificate import Certificate
from holdfast.constraints import Triplets
from holdfast.constraints.neighbor_search import as_search
from holdfast.constraints.neighbors import say_small_classes
from holdfast.geometry.proxy_geometry import ProxyGeometry
from holdfast.parameters import check_count
from holdfast.rows import tasks
from holdfast.rows.sums import LEAF, tree_sum
from holdfast.terms import MatrixTerm

try:
    import dask
    import dask.array
    from dask import delayed
except ImportError as missing:
    raise ImportError("Fitting on many machines needs Dask: pip install 'holdfast[dask]'") from missing

_GATHERED = 2**31  # bytes of rows that a nearest-neighbour classifier brings here, at most
_PER_CLASS = 100  # rows of a class in a sample, at least, if it has them


class LabelledRows:
    """Rows and their classes, block by block on the workers.

    Attributes
    ----------
    shape : tuple
        Rows, features.
    classes : ndarray
    counts : ndarray of shape (n_blocks, n_classes)
    """

    def __init__(self, learner, X, y):
        name = type(learner).__name__
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None.")
        self._take_rows(learner, X)
        labels = _persist([delayed(tasks.checked_labels)(block) for block in _aligned(y, self.lengths)])
        found = _compute([delayed(tasks.tally)(block) for block in labels])
        self.classes = np.unique(np.concatenate([classes for classes, _ in found]))
        self.codes = _persist([delayed(tasks.encode)(block, self.classes) for block in labels])
        self.counts = np.zeros((len(found), self.classes.size), int)
        for row, (classes, sizes) in zip(self.counts, found, strict=True):
            row[np.searchsorted(self.classes, classes)] = sizes

    def _take_rows(self, learner, X) -> None:
        """``rows``, the blocks that have any; ``lengths`` and ``starts`` of them."""
        p = count_features(learner, X)
        blocks = _persist([delayed(tasks.checked_rows)(block, type(learner).__name__) for block in _blocks(X)])
        lengths = _compute([delayed(len)(block) for block in blocks])
        self.rows = [block for block, length in zip(blocks, lengths, strict=True) if length]
        self.lengths = [length for length in lengths if length]
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(int)
        self.shape = (int(self.starts[-1]), p)
        if self.shape[0] < 2:
            raise ValueError(
                f"Found array with {self.shape[0]} sample(s) (shape={self.shape}) while a minimum of 2 is "
                f"required by {type(learner).__name__}."
            )

    def var(self, axis: int) -> np.ndarray:
        """The variance of every feature: from block to block, as numpy would add the rows."""
        n, p = self.shape
        total = np.zeros(p)
        for block in self.rows:
            total = delayed(tasks.add_rows)(total, block)
        centre, squares = delayed(np.divide)(total, n), np.zeros(p)
        for block in self.rows:
            squares = delayed(tasks.add_squares)(squares, block, centre)
        return _compute([squares])[0] / n

    def sum(self, function: Callable[[np.ndarray], tuple]) -> tuple:
        """``Σ function(rows)``, leaf by leaf."""
        self._cut_at_leaves()
        parts = [delayed(tasks.sum_over_leaves)(block, function) for block in self.rows]
        return _summed(parts)

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> None:
        """Put ``function(rows)`` in the place of the rows."""
        self.rows = _persist([delayed(function)(block) for block in self.rows])

    def sample(self, most: int, random_state) -> tuple[np.ndarray, np.ndarray]:
        """Rows and class codes to look at here: all, or about ``most`` of them, drawn class by class.

        A class has its share, or all of its rows if these are no more than a hundred.
        """
        places = _draw(self.counts, most, random_state)
        picked = [
            delayed(tasks.pick)(X, codes, chosen)
            for X, codes, chosen in zip(self.rows, self.codes, places, strict=True)
        ]
        rows, codes = zip(*_compute(picked), strict=True)
        return np.concatenate(rows), np.concatenate(codes)

    def proxies(self, labels: np.ndarray, B: np.ndarray | None, n_jobs: int | None) -> "Proxies":
        """The geometry of these rows and proxies of these classes; Dask decides on threads."""
        self._cut_at_leaves()
        return Proxies(
            [
                delayed(tasks.Part)(ProxyGeometry, X, codes, labels, B, 1)
                for X, codes in zip(self.rows, self.codes, strict=True)
            ],
            B,
        )

    def _cut_at_leaves(self) -> None:
        """Cut every 2^s leaves, no larger than the largest block: sums then have the bits that those of arrays have."""
        size = LEAF * 2 ** max(0, int(np.log2(max(self.lengths) / LEAF)))
        n = self.shape[0]
        wanted = [min(size, n - start) for start in range(0, n, size)]
        if wanted != self.lengths:
            recut = [_recut(blocks, self.lengths, wanted) for blocks in (self.rows, self.codes)]
            self.rows, self.codes = (_persist(blocks) for blocks in recut)
            self.counts = np.array(_compute([delayed(np.bincount)(c, minlength=len(self.classes)) for c in self.codes]))
            self.lengths = wanted
            self.starts = np.concatenate([[0], np.cumsum(wanted)]).astype(int)


class Proxies:
    """What :class:`~holdfast.geometry.ProxyGeometry` is to arrays."""

    def __init__(self, parts: list, B: np.ndarray | None):
        self._parts, self.B = Parts(parts), B

    def total(self, function: Callable, *arguments) -> tuple:
        """``Σ function(geometry, *arguments)`` over the blocks."""
        return _summed(self._parts.ask(function, *arguments))

    def __enter__(self) -> "Proxies":
        return self

    def __exit__(self, *exc) -> None:
        self._parts.close()


class TripletData(LabelledRows):
    """Points and their triplets, block by block: an anchor's triplets, and all they name, are in its block."""

    def __init__(self, learner, X, y, triplets):
        self.labelled = y is not None
        if self.labelled:
            super().__init__(learner, X, y)
        elif triplets is not None:
            self._take_rows(learner, X)
        else:
            raise ValueError(
                f"{type(learner).__name__} requires y to be passed, but the target y is None; "
                "pass class labels, or triplets=... instead."
            )
        rows = self._given(triplets) if triplets is not None else self._mine(learner)
        self._problems = _persist([self._problem(block) for block in rows])

    def points_and_triplets(self):
        """Not here."""
        raise ValueError(
            "The bases of SCML are made from class labels when X is a Dask collection: pass y beside the triplets, "
            "or bases of your own as basis=..."
        )

    def objective(self, terms: Sequence, B: np.ndarray | None, n_jobs: int | None) -> "Objective":
        """The terms, over the triplets; Dask decides on threads."""
        sizes = _compute([delayed(tasks.sizes)(problem) for problem in self._problems])
        whole = tuple(np.sum(sizes, axis=0).tolist())
        used = [problem for problem, (n_triplets, _) in zip(self._problems, sizes, strict=True) if n_triplets]
        shared = [delayed(item, traverse=False) for item in (list(terms), whole, B)]
        parts = [delayed(tasks.Part)(tasks.share_of_objective, problem, *shared) for problem in used]
        objective = Objective(parts, whole[0], self.shape[1], terms)
        self._problems = self.rows = self.codes = []  # the parts have what they need
        return objective

    def _given(self, triplets) -> list:
        """Triplets of the user, by the block of the anchor."""
        n = self.shape[0]
        if not isinstance(triplets, Triplets):
            triplets = Triplets(triplets, n)
        if triplets.n_samples != n:
            raise ValueError(f"The triplets refer to {triplets.n_samples} points, but X has {n} rows.")
        block = np.searchsorted(self.starts, triplets.i, side="right") - 1
        return [delayed(triplets.rows[block == b]) for b in range(len(self.rows))]

    def _mine(self, learner) -> list:
        """The triplets that ``knn_triplets`` would make, block by block."""
        n_neighbors, n_impostors = learner.n_neighbors, learner.n_impostors
        check_count("knn_triplets", "n_neighbors", n_neighbors)
        if n_impostors is None:
            raise ValueError(
                "n_impostors=None takes every row of the other classes, which would bring all rows to every worker: "
                "choose a number, such as n_impostors=10."
            )
        check_count("knn_triplets", "n_impostors", n_impostors)
        sizes = self.counts.sum(axis=0)
        if self.classes.size < 2:
            raise ValueError(
                f"The target has only one class ({self.classes[0]!r}), so there are no impostors to push "
                "away: metric learning needs at least two classes."
            )
        say_small_classes(self.classes, sizes, n_neighbors)
        blocks = list(zip(self.rows, self.codes, self.starts.tolist(), strict=False))
        found = []
        for (X, codes, start), own in zip(blocks, self._anchors(learner), strict=True):
            anchors = delayed(tasks.anchors)(X, codes, start, own)
            nearest = delayed(tasks.nothing_found)(len(own), n_neighbors, n_impostors)
            for block in blocks:
                nearest = delayed(tasks.search_block)(nearest, anchors, block)
            found.append(delayed(tasks.triplets_of)(nearest, own + start))
        return found

    def _anchors(self, learner) -> list[np.ndarray]:
        """The rows of each block that become anchors."""
        search = as_search(learner.neighbors)
        if search.method != "exact":
            raise ValueError(
                "neighbors: the approximate search needs all rows in one place; on a Dask collection use the exact "
                "one, with NeighborSearch(n_anchors=...) for fewer anchors if it takes too long."
            )
        if search.n_anchors is None:
            return [np.arange(length) for length in self.lengths]
        chosen = search.anchors(np.concatenate(_compute(self.codes)))
        return [chosen[(chosen >= a) & (chosen < b)] - a for a, b in pairwise(self.starts)]

    def _problem(self, rows):
        """Triplets with the points they name, each of which comes from the block it is in."""
        named = delayed(tasks.rows_named)(rows)
        points = [
            delayed(tasks.rows_wanted)(X, start, named)
            for X, start in zip(self.rows, self.starts.tolist(), strict=False)
        ]
        return delayed(tasks.problem)(rows, named, points)


class Objective:
    """What :class:`holdfast.objective.Objective` is to arrays: M goes to the workers, sums come back."""

    def __init__(self, parts: list, n_triplets: int, n_features: int, terms: Sequence):
        self._parts, self._n_triplets, self.n_features = Parts(parts), n_triplets, n_features
        self._of_M = [(weight, term) for weight, term in terms if isinstance(term, MatrixTerm)]

    def __call__(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and symmetric gradient at M."""
        value, G = _summed(self._parts.ask(tasks.value_and_gradient, M))
        for weight, term in self._of_M:
            total, gradient = term.value_and_grad(M)
            value, G = value + weight * total, G + weight * gradient
        return value, G

    @cached_property
    def scatters(self) -> tuple[np.ndarray, np.ndarray]:
        """The means over R of ``X_ij`` and of ``X_il``."""
        similar, dissimilar = _summed(self._parts.ask(tasks.sums_of_squares))
        return similar / self._n_triplets, dissimilar / self._n_triplets

    def largest_distance(self, M: np.ndarray) -> float:
        """The largest ``d²_M`` of a pair."""
        return max(_compute(self._parts.ask(tasks.largest_distance, M)))

    def close(self) -> None:
        """Let the workers forget."""
        self._parts.close()

    def __enter__(self) -> "Objective":
        return self

    def __exit__(self, *exc) -> None:
        self.close()


# -- what needs no fit, or all rows ---------------------------------------------------------------


def count_features(learner, X) -> int:
    """How many features X has; the learner is told, and their names."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and features; this collection has {X.ndim}.")
    return validate_data(learner, _example(X)[:0], dtype=np.float64, ensure_min_samples=0).shape[1]


def reference(X, y) -> tuple[np.ndarray, np.ndarray]:
    """The rows themselves, here: a vote among neighbours needs them wherever it is taken."""
    blocks = _blocks(X)
    lengths = _compute([delayed(len)(block) for block in blocks])
    size = 8 * sum(lengths) * X.shape[1]
    if size > _GATHERED:
        raise ValueError(
            f"Nearest neighbours need their {sum(lengths)} reference rows wherever they vote, and "
            f"{size / 2**30:.1f} GB are too many to bring here. Fit the learner on the collection; then fit the "
            "classifier, with this learner, on a sample of the rows. CertifiedPrototypeClassifier needs no rows at all."
        )
    rows = _compute([delayed(tasks.checked_rows)(block, "CertifiedKNeighborsClassifier") for block in blocks])
    labels = _compute([delayed(np.asarray)(block) for block in _aligned(y, lengths)])
    return _named(np.concatenate(rows), X), np.concatenate(labels)


def class_means(X, y) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each class, here, and the classes."""
    rows = LabelledRows(_Nobody(), X, y)
    count = len(rows.classes)
    parts = [delayed(tasks.class_sums)(*block, count) for block in zip(rows.rows, rows.codes, strict=True)]
    (total,) = _summed(parts)
    return _named(total / rows.counts.sum(axis=0)[:, None], X), rows.classes


class _Nobody(BaseEstimator):
    """Rows that are checked for no learner in particular."""


def map_rows(model, method: str, X) -> "dask.array.Array":
    """``model.method`` of every block, lazily: an array whose blocks are those of X."""
    example = np.asarray(getattr(model, method)(_example(X)))
    width, dtype = example.shape[1:], example.dtype
    shared = delayed(_on_one_thread(model), traverse=False)
    blocks = _blocks(X)
    lengths: list = _known_lengths(X) or [np.nan] * len(blocks)
    parts = [
        dask.array.from_delayed(
            delayed(tasks.call)(shared, method, block, width, dtype), shape=(length, *width), meta=example[:0]
        )
        for block, length in zip(blocks, lengths, strict=True)
    ]
    return dask.array.concatenate(parts, allow_unknown_chunksizes=True)


def certify(model, X, y=None, *, n_jobs: int | None = 1, verbose: int = 0, **options) -> Certificate:
    """:func:`holdfast.certify` of every block, the certificates put together here."""
    blocks = _blocks(X)
    labels: list = [None] * len(blocks)
    if y is not None:
        lengths = _known_lengths(X) or _compute([delayed(len)(block) for block in blocks])
        labels = _aligned(y, lengths)
    shared = [delayed(item, traverse=False) for item in (model, {**options, "n_jobs": n_jobs})]
    parts = [
        delayed(tasks.certificate)(shared[0], block, label, shared[1])
        for block, label in zip(blocks, labels, strict=True)
    ]
    found = [certificate for certificate in _compute(parts) if certificate is not None]
    if not found:
        raise ValueError("X has no rows: there is nothing to certify.")
    fields = ["radius", "upper", "adversarial", "prediction"] + (["true"] if y is not None else [])
    columns = {field: np.concatenate([getattr(part, field) for part in found]) for field in fields}
    return Certificate(norm=found[0].norm, units=found[0].units, **columns)


# -- blocks ---------------------------------------------------------------------------------------


def _blocks(X) -> list:
    """The blocks of rows of a collection, each with all columns, as delayed values."""
    if isinstance(X, dask.array.Array):
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    return list(X.to_delayed())


def _known_lengths(X) -> list[int] | None:
    """The lengths of the blocks, if the collection knows them."""
    if not isinstance(X, dask.array.Array) or np.isnan(X.chunks[0]).any():
        return None
    return [int(length) for length in X.chunks[0]]


def _example(X):
    """A row or two of the kind that X holds, made up."""
    if isinstance(X, dask.array.Array):
        return np.zeros((1, X.shape[1]))
    return X._meta_nonempty


def _named(rows: np.ndarray, X):
    """The rows as a data frame, if X is one."""
    if isinstance(X, dask.array.Array):
        return rows
    return type(X._meta)(rows, columns=X._meta.columns)


def _aligned(y, lengths: list[int]) -> list:
    """The labels, cut where the rows are."""
    n = sum(lengths)
    if hasattr(y, "__dask_graph__"):
        blocks = _blocks(y)
        has = _known_lengths(y) or _compute([delayed(len)(block) for block in blocks])
    else:
        blocks, has = [delayed(np.asarray(y))], [len(y)]
    if sum(has) != n:
        raise ValueError(f"X has {n} rows, but y has {sum(has)}: they must have the same number.")
    return _recut(blocks, has, lengths)


def _recut(blocks: list, has: list[int], wanted: list[int]) -> list:
    """The same rows, cut anew."""
    if has == wanted:
        return blocks
    edges = np.concatenate([[0], np.cumsum(has)]).astype(int)
    out, start = [], 0
    for length in wanted:
        stop = start + length
        first, last = np.searchsorted(edges, start, "right") - 1, np.searchsorted(edges, stop, "left")
        cuts = [(max(0, start - edges[b]), min(has[b], stop - edges[b])) for b in range(first, last)]
        out.append(delayed(tasks.join)(blocks[first:last], cuts))
        start = stop
    return out


def _draw(counts: np.ndarray, most: int, random_state) -> list[list[np.ndarray]]:
    """For each block, and each class in it, the numbers of the rows drawn; all, if they are no more than ``most``."""
    sizes = counts.sum(axis=0)
    n = sizes.sum()
    if n <= most:
        return [[np.arange(count) for count in row] for row in counts]
    rng = check_random_state(random_state)
    shares = np.minimum(sizes, np.maximum(np.round(most * sizes / n).astype(int), _PER_CLASS))
    places: list[list[np.ndarray]] = [[] for _ in counts]
    for c, share in enumerate(shares):
        chosen = np.sort(rng.choice(sizes[c], share, replace=False))
        edges = np.concatenate([[0], np.cumsum(counts[:, c])])
        for b, (start, stop) in enumerate(pairwise(edges)):
            places[b].append(chosen[(chosen >= start) & (chosen < stop)] - start)
    return places


# -- Dask -----------------------------------------------------------------------------------------


def _persist(values: list) -> list:
    """The values, kept where they are made."""
    return list(dask.persist(*values))


def _compute(values: list) -> list:
    """The values, here."""
    return list(dask.compute(*values))


class Parts:
    """Objects of :class:`~holdfast.rows.tasks.Part` that stay on the workers and are asked there, step by step.

    Questions go where a part is, as long as that worker lives: what was made of the data is there too.
    """

    def __init__(self, values: list):
        self._values = _persist(values)
        self._wishes: list[dict] = []

    def ask(self, function: Callable, *arguments) -> list:
        """``function(what the part makes, *arguments)`` of every part, as delayed values."""
        question = delayed((function, *arguments), traverse=False)
        wishes = self._wishes or [{}] * len(self._values)
        self._wishes = self._wishes or _places(self._values)
        answers = []
        for part, wish in zip(self._values, wishes, strict=True):
            with dask.annotate(**wish):
                answers.append(delayed(tasks.ask)(part, question))
        return answers

    def close(self) -> None:
        """Let the workers forget."""
        self._values, self._wishes = [], []


def _places(values: list) -> list[dict]:
    """Where each value is, as a wish for the scheduler; empty as long as one is nowhere yet, or without a cluster."""
    try:
        from distributed import default_client

        holders = default_client().who_has(values)
    except (ImportError, ValueError):  # no cluster, or none in use
        return []
    wishes = [{"workers": list(holders.get(value.key, ()))[:1], "allow_other_workers": True} for value in values]
    return wishes if all(wish["workers"] for wish in wishes) else []


def _summed(values: list) -> tuple:
    """The sum of tuples, neighbours first: in the order of :func:`~holdfast.rows.sums.tree_sum`, eight in one task."""
    while len(values) > 1:
        values = [delayed(tree_sum)(values[start : start + 8]) for start in range(0, len(values), 8)]
    return _compute(values)[0]


def _on_one_thread(model):
    """The model, one thread a block unless it says otherwise: Dask runs as many blocks as it has threads."""
    if getattr(model, "n_jobs", 1) is not None:
        return model
    model = copy(model)
    model.n_jobs = 1
    return model
