"""Rows in blocks on workers."""

import numpy as np

from holdfast.backends import blocks
from holdfast.backends.checks import check_rows
from holdfast.backends.engine import Engine


class BlockedRows:
    """Rows, checked and without empty blocks.

    Parameters
    ----------
    engine : Engine
    tasks : list
        The blocks of rows.
    n_features : int
    owner : str
        Named in messages.

    Attributes
    ----------
    rows : list
        Tasks, one for each block that has rows.
    lengths : list of int
        Of these blocks.
    starts : ndarray
        The index of the first row of each block, and the number of rows.
    shape : tuple
        Number of rows and of features.
    """

    def __init__(self, engine: Engine, tasks: list, n_features: int, owner: str):
        self.engine = engine
        checked = engine.keep([engine.task(check_rows, block, owner) for block in tasks])
        lengths = engine.compute([engine.task(len, block) for block in checked])
        self.rows = [block for block, length in zip(checked, lengths, strict=True) if length]
        self._set_lengths([length for length in lengths if length])
        self.shape = (int(self.starts[-1]), n_features)
        if self.shape[0] < 2:
            raise ValueError(
                f"Found array with {self.shape[0]} sample(s) (shape={self.shape}) while a minimum of 2 is "
                f"required by {owner}."
            )

    def _set_lengths(self, lengths: list[int]) -> None:
        self.lengths, self.starts = lengths, blocks.starts_of(lengths)

    def variances(self) -> np.ndarray:
        """The variance of every feature, added up from block to block in the order in which numpy adds rows."""
        engine, (n, p) = self.engine, self.shape
        total = squares = np.zeros(p)
        for block in self.rows:
            total = engine.task(blocks.add_rows, total, block)
        centre = engine.task(np.divide, total, n)
        for block in self.rows:
            squares = engine.task(blocks.add_squares, squares, block, centre)
        return engine.compute([squares])[0] / n


def recut(engine: Engine, tasks: list, lengths: list[int], wanted: list[int]) -> list:
    """The same rows in blocks of the wanted lengths."""
    if lengths == wanted:
        return tasks
    return [engine.task(blocks.join, tasks[used], cuts) for used, cuts in blocks.cuts_for(lengths, wanted)]
