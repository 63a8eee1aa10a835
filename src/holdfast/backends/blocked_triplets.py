"""Rows and triplets in blocks on workers."""

from itertools import pairwise

import numpy as np

from holdfast.backends import blocks
from holdfast.backends.base import Terms
from holdfast.backends.blocked_labelled_rows import BlockedLabelledRows
from holdfast.backends.blocked_objective import BlockedObjective
from holdfast.backends.blocked_rows import BlockedRows
from holdfast.learn import NeighborSearch, Triplets
from holdfast.learn.supervision import as_search, warn_small_classes
from holdfast.parameters import check_count


class BlockedTriplets:
    """Rows with their triplets; see :class:`~holdfast.backends.base.TripletData`.

    The triplets of an anchor, and all points they name, are in one block, so that a block needs no other.

    Parameters
    ----------
    rows : BlockedRows
    triplets : list
        Tasks: for each block of rows the triplets whose anchors it holds, as rows (i, j, l) of indices.
    """

    def __init__(self, rows: BlockedRows, triplets: list):
        self._rows, self.shape = rows, rows.shape
        engine, starts = rows.engine, rows.starts.tolist()
        problems = []
        for of_block in triplets:
            named = engine.task(blocks.named_points, of_block)
            points = [
                engine.task(blocks.select_named, X, start, named) for X, start in zip(rows.rows, starts, strict=False)
            ]
            problems.append(engine.task(blocks.renumber, of_block, named, points))
        self._problems = engine.keep(problems)

    @property
    def labelled(self) -> bool:
        """True if the classes of the rows are known."""
        return isinstance(self._rows, BlockedLabelledRows)

    def variances(self) -> np.ndarray:
        """The variance of every feature."""
        return self._rows.variances()

    def sample(self, size: int, random_state) -> tuple[np.ndarray, np.ndarray]:
        """About ``size`` rows, drawn class by class, and their class codes."""
        assert isinstance(self._rows, BlockedLabelledRows)
        return self._rows.sample(size, random_state)

    def points_and_triplets(self) -> tuple[np.ndarray, Triplets]:
        """Refused: the rows are on workers."""
        raise ValueError(
            "The bases of SCML are made from class labels when X is a Dask collection: pass y beside the triplets, "
            "or bases of your own as basis=..."
        )

    def objective(self, terms: Terms, B: np.ndarray | None, n_jobs: int | None) -> BlockedObjective:
        """The weighted terms, summed over the triplets; the engine decides on threads."""
        return BlockedObjective(self._rows.engine, self._problems, self.shape[1], terms, B)


def split_triplets(rows: BlockedRows, triplets: Triplets) -> list:
    """Given triplets, as tasks: for each block of rows those whose anchors it holds."""
    block = np.searchsorted(rows.starts, triplets.i, side="right") - 1
    return [rows.engine.share(triplets.rows[block == b]) for b in range(len(rows.rows))]


def find_triplets(
    rows: BlockedLabelledRows, n_neighbors: int, n_impostors: int | None, neighbors: str | NeighborSearch
) -> list:
    """The triplets of :func:`~holdfast.learn.knn_triplets`, as tasks, one for each block of anchors."""
    check_count("knn_triplets", "n_neighbors", n_neighbors)
    if n_impostors is None:
        raise ValueError(
            "n_impostors=None takes every row of the other classes, which would bring all rows to every worker: "
            "choose a number, such as n_impostors=10."
        )
    check_count("knn_triplets", "n_impostors", n_impostors)
    if rows.classes.size < 2:
        raise ValueError(
            f"The target has only one class ({rows.classes[0]!r}), so there are no impostors to push "
            "away: metric learning needs at least two classes."
        )
    warn_small_classes(rows.classes, rows.counts.sum(axis=0), n_neighbors)
    task = rows.engine.task
    of_blocks = list(zip(rows.rows, rows.codes, rows.starts.tolist(), strict=False))
    found = []
    for (X, codes, start), chosen in zip(of_blocks, _anchors(rows, neighbors), strict=True):
        anchors = task(blocks.take_anchors, X, codes, start, chosen)
        nearest = task(blocks.nothing_found, len(chosen), n_neighbors, n_impostors)
        for block in of_blocks:
            nearest = task(blocks.search_block, nearest, anchors, block)
        found.append(task(blocks.triplets_of, nearest, chosen + start))
    return found


def _anchors(rows: BlockedLabelledRows, neighbors: str | NeighborSearch) -> list[np.ndarray]:
    """The rows of each block that become anchors, numbered within the block."""
    search = as_search(neighbors)
    if search.method != "exact":
        raise ValueError(
            "neighbors: the approximate search needs all rows in one place; on a Dask collection use the exact "
            "one, with NeighborSearch(n_anchors=...) for fewer anchors if it takes too long."
        )
    if search.n_anchors is None:
        return [np.arange(length) for length in rows.lengths]
    chosen = search.anchors(np.concatenate(rows.engine.compute(rows.codes)))
    return [chosen[(chosen >= a) & (chosen < b)] - a for a, b in pairwise(rows.starts)]
