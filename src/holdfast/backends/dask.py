"""Rows in Dask collections: the only file that knows Dask.

A fit checks the blocks of a collection on the workers and keeps them there; a step sends a metric to them and adds up
what comes back, in an order that depends on the blocks alone. Everything on a worker can be made again from the
collection itself, so that a worker may die. With an active ``distributed.Client`` its workers are used, without one
Dask's own threads.
"""

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_array

from holdfast.backends import blocks
from holdfast.backends.base import Validate
from holdfast.backends.blocked_labelled_rows import BlockedLabelledRows
from holdfast.backends.blocked_rows import BlockedRows, recut
from holdfast.backends.blocked_triplets import BlockedTriplets, find_triplets, split_triplets
from holdfast.backends.checks import check_rows, check_triplets, labels_missing
from holdfast.learn import NeighborSearch

try:
    import dask
    import dask.array
    from dask import delayed
except ImportError as missing:
    raise ImportError("Fitting on many machines needs Dask: pip install 'holdfast[dask]'") from missing

_MAX_REFERENCE_BYTES = 2**31  # of reference rows that a nearest-neighbour classifier brings into this process
_LOCAL_OPTIONS = ("verbose", "progress")  # of certify, which make no sense for a block on a worker


class DaskEngine:
    """Runs tasks by Dask; see :class:`~holdfast.backends.engine.Engine`."""

    def task(self, function: Callable, *arguments) -> Any:
        """The task ``function(*arguments)``."""
        return delayed(function)(*arguments)

    def share(self, value) -> Any:
        """A task that stands for a value of this process."""
        return delayed(value, traverse=False)

    def keep(self, tasks: list) -> list:
        """Compute the tasks and keep their values on the workers."""
        return list(dask.persist(*tasks))

    def compute(self, tasks: list) -> list:
        """The values of the tasks."""
        return list(dask.compute(*tasks))

    def places(self, tasks: list) -> list:
        """The address of the worker that holds each value; empty without a cluster, or while one is not computed."""
        try:
            from distributed import default_client

            holders = default_client().who_has(tasks)
        except (ImportError, ValueError):  # no cluster, or none in use
            return []
        addresses = [next(iter(holders.get(task.key, ())), None) for task in tasks]
        return addresses if all(addresses) else []

    def task_at(self, place, function: Callable, *arguments) -> Any:
        """The task, on the given worker if that is still running."""
        with dask.annotate(**({"workers": [place], "allow_other_workers": True} if place else {})):
            return self.task(function, *arguments)


class DaskBackend:
    """Works on Dask collections; see :class:`~holdfast.backends.base.Backend`."""

    engine = DaskEngine()

    def count_features(self, X, validate: Validate) -> int:
        """The number of features of X, checked by its type and column names alone."""
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and features; this collection has {X.ndim}.")
        return validate(_example(X)[:0], dtype=np.float64, ensure_min_samples=0).shape[1]

    def labelled_rows(self, X, y, validate: Validate, owner: str) -> BlockedLabelledRows:
        """Rows with their classes, checked on the workers."""
        if y is None:
            raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
        n_features = self.count_features(X, validate)
        return BlockedLabelledRows(self.engine, _blocks(X), n_features, owner, partial(self._labels, y))

    def triplet_data(
        self,
        X,
        y,
        triplets,
        *,
        n_neighbors: int,
        n_impostors: int | None,
        neighbors: str | NeighborSearch,
        n_jobs: int | None,
        validate: Validate,
        owner: str,
    ) -> BlockedTriplets:
        """Rows with the triplets given, or else with those that ``knn_triplets`` would find."""
        if y is None and triplets is None:
            raise ValueError(labels_missing(owner))
        if y is None:
            rows = BlockedRows(self.engine, _blocks(X), self.count_features(X, validate), owner)
            return BlockedTriplets(rows, split_triplets(rows, check_triplets(triplets, rows.shape[0])))
        labelled = self.labelled_rows(X, y, validate, owner)
        if triplets is None:
            return BlockedTriplets(labelled, find_triplets(labelled, n_neighbors, n_impostors, neighbors))
        return BlockedTriplets(labelled, split_triplets(labelled, check_triplets(triplets, labelled.shape[0])))

    def reference(self, X, y) -> tuple:
        """All rows and labels in this process, if they are not too many."""
        tasks = _blocks(X)
        lengths = self._lengths(X, tasks)
        size = 8 * sum(lengths) * X.shape[1]
        if size > _MAX_REFERENCE_BYTES:
            raise ValueError(
                f"k-NN keeps all {sum(lengths)} reference rows in memory: {size / 2**30:.1f} GB, limit "
                f"{_MAX_REFERENCE_BYTES / 2**30:.0f} GB. Fit the learner on the collection; then fit the classifier, "
                "with this learner, on a sample of the rows. CertifiedPrototypeClassifier needs no rows at all."
            )
        owner = "CertifiedKNeighborsClassifier"
        rows = self.engine.compute([self.engine.task(check_rows, block, owner) for block in tasks])
        labels = self.engine.compute([self.engine.task(np.asarray, block) for block in self._labels(y, lengths)])
        return _with_columns(np.concatenate(rows), X), np.concatenate(labels)

    def class_means(self, X, y) -> tuple:
        """The mean of each class, and the classes."""
        rows = self.labelled_rows(X, y, check_array, "CertifiedPrototypeClassifier")
        return _with_columns(rows.class_means(), X), rows.classes

    def map_rows(self, method: Callable, model, X) -> "dask.array.Array":
        """``method(model, block)`` of every block, lazily: an array whose blocks are those of X."""
        name = method.__name__
        example = np.asarray(getattr(model, name)(_example(X)))
        width, dtype = example.shape[1:], example.dtype
        shared = self.engine.share(_on_one_thread(model))
        tasks = _blocks(X)
        lengths: list = _known_lengths(X) or [np.nan] * len(tasks)
        parts = [
            dask.array.from_delayed(
                self.engine.task(blocks.call_method, shared, name, block, width, dtype),
                shape=(length, *width),
                meta=example[:0],
            )
            for block, length in zip(tasks, lengths, strict=True)
        ]
        return dask.array.concatenate(parts, allow_unknown_chunksizes=True)

    def certify_blocks(self, certify: Callable, join: Callable[[list], Any], model, X, y, options: dict) -> Any:
        """``certify`` of every block, on one thread each; ``join`` makes one certificate of theirs."""
        tasks = _blocks(X)
        labels = [None] * len(tasks) if y is None else self._labels(y, self._lengths(X, tasks))
        sent = {"n_jobs": 1} | {name: value for name, value in options.items() if name not in _LOCAL_OPTIONS}
        shared = [self.engine.share(item) for item in (certify, model, sent)]
        parts = [
            self.engine.task(blocks.certify_block, *shared[:2], block, label, shared[2])
            for block, label in zip(tasks, labels, strict=True)
        ]
        found = [certificate for certificate in self.engine.compute(parts) if certificate is not None]
        if not found:
            raise ValueError("X has no rows: there is nothing to certify.")
        return join(found)

    def _lengths(self, X, tasks: list) -> list[int]:
        """The number of rows of each block."""
        return _known_lengths(X) or self.engine.compute([self.engine.task(len, block) for block in tasks])

    def _labels(self, y, lengths: list[int]) -> list:
        """Tasks for the labels, in blocks of these lengths."""
        if hasattr(y, "__dask_graph__"):
            tasks = _blocks(y)
            found = self._lengths(y, tasks)
        else:
            tasks, found = [self.engine.share(np.asarray(y))], [len(y)]
        if sum(found) != sum(lengths):
            raise ValueError(f"X has {sum(lengths)} rows, but y has {sum(found)}: they must have the same number.")
        return recut(self.engine, tasks, found, lengths)


def _blocks(X) -> list:
    """The blocks of rows of a collection, each with all columns, as tasks."""
    if isinstance(X, dask.array.Array):
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    return list(X.to_delayed())


def _known_lengths(X) -> list[int] | None:
    """The number of rows of each block, if the collection knows them."""
    if not isinstance(X, dask.array.Array) or np.isnan(X.chunks[0]).any():
        return None
    return [int(length) for length in X.chunks[0]]


def _example(X):
    """One or two made-up rows of the type that X holds."""
    return np.zeros((1, X.shape[1])) if isinstance(X, dask.array.Array) else X._meta_nonempty


def _with_columns(rows: np.ndarray, X):
    """The rows as a data frame, if X is one."""
    return rows if isinstance(X, dask.array.Array) else type(X._meta)(rows, columns=X._meta.columns)


def _on_one_thread(model):
    """The model with ``n_jobs=1`` where it is None: Dask itself runs as many blocks as it has threads."""
    if getattr(model, "n_jobs", 1) is not None:
        return model
    model = copy(model)
    model.n_jobs = 1
    return model
