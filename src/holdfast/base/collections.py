"""Dask collections: how they are taken apart into blocks of rows, and mapped block by block.

Dask is imported only where a collection is at hand. The blocks of a collection are *tasks*: values yet to be computed.
"""

import functools
from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils import check_array

_LOCAL_OPTIONS = ("verbose", "progress")  # of certify, which make no sense for a block on a worker
_MAX_GATHERED_BYTES = 2**31  # of rows that a nearest-neighbour classifier brings into this process


def is_dask(X) -> bool:
    """True if X is a Dask collection."""
    return hasattr(X, "__dask_graph__")


def refuse_collection(owner: str, X) -> None:
    """Raise ``TypeError`` if X is a Dask collection, for a learner that needs all rows in memory."""
    if is_dask(X):
        raise TypeError(
            f"{owner} needs all rows in one place and cannot learn from a Dask collection. Bring the rows, or a sample "
            "of them, with X.compute(); or use a learner that can, such as LMNN or ProxyNCA."
        )


# -- functions of rows ------------------------------------------------------------------------------


def by_blocks(method: Callable) -> Callable:
    """Decorate ``f(self, X)``, which maps rows one by one: a collection is mapped lazily, block by block."""

    @functools.wraps(method)
    def mapped(self, X):
        return _map_blocks(self, method.__name__, X) if is_dask(X) else method(self, X)

    return mapped


def certified_by_blocks(join: Callable[[list], Any]) -> Callable[[Callable], Callable]:
    """Decorate ``certify(model, X, y, ...)``: a collection is certified block by block, on one thread each, and
    ``join`` makes one certificate of the list.
    """

    def decorate(certify: Callable) -> Callable:
        @functools.wraps(certify)
        def certified(model, X, y=None, **options):
            if not is_dask(X):
                return certify(model, X, y, **options)
            found = _certify_blocks(certified, model, X, y, options)
            if not found:
                raise ValueError("X has no rows: there is nothing to certify.")
            return join(found)

        return certified

    return decorate


def _map_blocks(model, method: str, X):
    """``model.method(block)`` of every block, lazily: a Dask array whose blocks are those of X."""
    import dask.array as da
    from dask import delayed

    example = np.asarray(getattr(model, method)(_example(X)))
    tasks = blocks_of(X)
    lengths: list = _known_lengths(X) or [np.nan] * len(tasks)
    if getattr(model, "n_jobs", 1) is None:  # Dask itself runs as many blocks as it has threads
        model = copy(model)
        model.n_jobs = 1
    shared = delayed(model, traverse=False)
    parts = [
        da.from_delayed(
            delayed(_call_method)(shared, method, block, example.shape[1:], example.dtype),
            shape=(length, *example.shape[1:]),
            meta=example[:0],
        )
        for block, length in zip(tasks, lengths, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _call_method(model, method: str, block, width: tuple[int, ...], dtype) -> np.ndarray:
    """``model.method(block)``; an empty array of the right shape for a block without rows."""
    return np.asarray(getattr(model, method)(block)) if len(block) else np.empty((0, *width), dtype)


def _certify_blocks(certify: Callable, model, X, y, options: dict) -> list:
    """The certificates of all blocks that have rows."""
    from dask import compute, delayed

    tasks = blocks_of(X)
    labels = [None] * len(tasks) if y is None else labels_in_blocks(y, lengths_of(X))
    sent = {"n_jobs": 1} | {name: value for name, value in options.items() if name not in _LOCAL_OPTIONS}
    shared = [delayed(item, traverse=False) for item in (certify, model, sent)]
    parts = [delayed(_certify_block)(block, label, *shared) for block, label in zip(tasks, labels, strict=True)]
    return [certificate for certificate in compute(*parts) if certificate is not None]


def _certify_block(block, y, certify: Callable, model, options: dict):
    """``certify(model, block, y, **options)``; None for a block without rows."""
    return certify(model, block, y, **options) if len(block) else None


# -- blocks -----------------------------------------------------------------------------------------


def blocks_of(X) -> list:
    """The blocks of rows of a collection, each with all columns, as tasks."""
    if hasattr(X, "numblocks") and X.ndim == 2 and X.numblocks[1] > 1:  # an array
        X = X.rechunk({1: -1})
    tasks = X.to_delayed()
    return list(tasks.ravel() if hasattr(tasks, "ravel") else tasks)


def lengths_of(X) -> list[int]:
    """The number of rows of each block."""
    from dask import compute, delayed

    return _known_lengths(X) or list(compute(*[delayed(len)(block) for block in blocks_of(X)]))


def _known_lengths(X) -> list[int] | None:
    """The number of rows of each block, if the collection knows them."""
    if not hasattr(X, "chunks") or np.isnan(X.chunks[0]).any():
        return None
    return [int(length) for length in X.chunks[0]]


def labels_in_blocks(y, lengths: Sequence[int]) -> list:
    """Tasks for the labels, an array or a collection, in blocks of these lengths."""
    from dask import delayed

    tasks, found = (blocks_of(y), lengths_of(y)) if is_dask(y) else ([delayed(np.asarray(y), traverse=False)], [len(y)])
    if sum(found) != sum(lengths):
        raise ValueError(f"X has {sum(lengths)} rows, but y has {sum(found)}: they must have the same number.")
    if found == list(lengths):
        return tasks
    edges, starts = starts_of(found), starts_of(lengths)
    cut = []
    for start, stop in pairwise(starts):
        first, last = np.searchsorted(edges, start, "right") - 1, np.searchsorted(edges, stop, "left")
        ranges = [(max(0, start - edges[b]), min(found[b], stop - edges[b])) for b in range(first, last)]
        cut.append(delayed(_joined)(tasks[first:last], ranges))
    return cut


def _joined(blocks: Sequence, ranges: Sequence[tuple[int, int]]) -> np.ndarray:
    """Rows ``start`` to ``stop`` of each block, one after the other."""
    parts = [np.asarray(block)[start:stop] for block, (start, stop) in zip(blocks, ranges, strict=True)]
    return np.concatenate(parts) if parts else np.empty(0)


def starts_of(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """The index of the first row of every block, and after the last block the number of rows."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(int)


def count_features(X, validate: Callable) -> int:
    """The number of features, checked by ``validate``: of a collection by its type and column names alone."""
    if not is_dask(X):
        return validate(X, dtype=np.float64).shape[1]
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and features; this collection has {X.ndim}.")
    return validate(_example(X)[:0], dtype=np.float64, ensure_min_samples=0).shape[1]


def check_rows(block, owner: str) -> np.ndarray:
    """The rows of a block as float64, or the ``ValueError`` that arrays would get."""
    return check_array(block, dtype=np.float64, order="C", ensure_min_samples=0, estimator=owner, input_name="X")


def gathered(X, y, owner: str) -> tuple:
    """All rows and labels in this process, if they are not too many; X and y themselves if they are there already."""
    if not is_dask(X):
        return X, y
    from dask import compute, delayed

    lengths = lengths_of(X)
    size = 8 * sum(lengths) * X.shape[1]
    if size > _MAX_GATHERED_BYTES:
        raise ValueError(
            f"k-NN keeps all {sum(lengths)} reference rows in memory: {size / 2**30:.1f} GB, limit "
            f"{_MAX_GATHERED_BYTES / 2**30:.0f} GB. Fit the learner on the collection; then fit the classifier, "
            "with this learner, on a sample of the rows. CertifiedPrototypeClassifier needs no rows at all."
        )
    rows = compute(*[delayed(check_rows)(block, owner) for block in blocks_of(X)])
    labels = compute(*[delayed(np.asarray)(block) for block in labels_in_blocks(y, lengths)])
    return with_columns(np.concatenate(rows), X), np.concatenate(labels)


def with_columns(rows: np.ndarray, X):
    """The rows as a data frame, if X is one."""
    return type(X._meta)(rows, columns=X._meta.columns) if hasattr(X, "columns") else rows


def _example(X):
    """One or two made-up rows of the type that X holds."""
    return X._meta_nonempty if hasattr(X, "columns") else np.zeros((1, X.shape[1]))
