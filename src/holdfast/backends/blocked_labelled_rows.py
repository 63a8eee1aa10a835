"""Labelled rows in blocks on workers."""

from collections.abc import Callable
from copy import copy

import numpy as np

from holdfast.backends import blocks
from holdfast.backends.blocked_proxies import BlockedProxies
from holdfast.backends.blocked_rows import BlockedRows, recut
from holdfast.backends.checks import check_labels
from holdfast.backends.engine import Engine, sum_tasks
from holdfast.backends.worker_objects import WorkerObject


class BlockedLabelledRows(BlockedRows):
    """Rows and their classes; see :class:`~holdfast.backends.base.LabelledRows`.

    Parameters
    ----------
    engine, tasks, n_features, owner
        As for :class:`BlockedRows`.
    labels : callable
        ``labels(lengths)``: tasks for blocks of labels of these lengths.

    Attributes
    ----------
    classes : ndarray
    codes : list
        Tasks: the class codes of each block.
    counts : ndarray of shape (n_blocks, n_classes)
    """

    def __init__(self, engine: Engine, tasks: list, n_features: int, owner: str, labels: Callable[[list[int]], list]):
        super().__init__(engine, tasks, n_features, owner)
        checked = engine.keep([engine.task(check_labels, block) for block in labels(self.lengths)])
        found = engine.compute([engine.task(blocks.count_classes, block) for block in checked])
        self.classes = np.unique(np.concatenate([classes for classes, _ in found]))
        self.codes = engine.keep([engine.task(blocks.encode, block, self.classes) for block in checked])
        self.counts = np.zeros((len(found), self.classes.size), int)
        for row, (classes, sizes) in zip(self.counts, found, strict=True):
            row[np.searchsorted(self.classes, classes)] = sizes

    def sum(self, function: Callable[[np.ndarray], tuple]) -> tuple:
        """``Σ function(rows)``, leaf by leaf."""
        self._cut_at_leaves()
        tasks = [self.engine.task(blocks.sum_over_leaves, block, function) for block in self.rows]
        return sum_tasks(self.engine, tasks)

    def class_means(self) -> np.ndarray:
        """The mean of each class, in the order of ``classes``."""
        tasks = [
            self.engine.task(blocks.sum_by_class, *block, len(self.classes))
            for block in zip(self.rows, self.codes, strict=True)
        ]
        (total,) = sum_tasks(self.engine, tasks)
        return total / self.counts.sum(axis=0)[:, None]

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> "BlockedLabelledRows":
        """The same labels with ``function(rows)`` for rows."""
        mapped = copy(self)
        mapped.rows = self.engine.keep([self.engine.task(function, block) for block in self.rows])
        return mapped

    def sample(self, size: int, random_state) -> tuple[np.ndarray, np.ndarray]:
        """Rows and class codes as arrays: all, or about ``size`` of them, drawn class by class in proportion.

        Of a class with few rows at least a hundred, if it has them.
        """
        drawn = blocks.draw_rows(self.counts, size, random_state)
        tasks = [
            self.engine.task(blocks.pick, X, codes, chosen)
            for X, codes, chosen in zip(self.rows, self.codes, drawn, strict=True)
        ]
        rows, codes = zip(*self.engine.compute(tasks), strict=True)
        return np.concatenate(rows), np.concatenate(codes)

    def proxies(self, labels: np.ndarray, B: np.ndarray | None, n_jobs: int | None) -> BlockedProxies:
        """The geometry of these rows and of proxies with these class codes; the engine decides on threads."""
        self._cut_at_leaves()
        tasks = [
            self.engine.task(WorkerObject, blocks.make_proxy_geometry, X, codes, labels, B)
            for X, codes in zip(self.rows, self.codes, strict=True)
        ]
        return BlockedProxies(self.engine, tasks, B)

    def _cut_at_leaves(self) -> None:
        """Cut the rows anew, at leaves, so that sums have the bits of sums over arrays."""
        engine, wanted = self.engine, blocks.lengths_at_leaves(self.lengths)
        if wanted != self.lengths:
            self.rows, self.codes = (
                engine.keep(recut(engine, tasks, self.lengths, wanted)) for tasks in (self.rows, self.codes)
            )
            n_classes = len(self.classes)
            self.counts = np.array(engine.compute([engine.task(np.bincount, c, None, n_classes) for c in self.codes]))
            self._set_lengths(wanted)
