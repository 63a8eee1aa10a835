"""A table as the checks see it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class TableView:
    """Columns, labels, and what the user has said of them.

    Attributes
    ----------
    frame : pandas data frame
        Features only.
    y : ndarray
        Labels.
    target : str
    categorical, dates : sequence of str
        Columns the user has declared.
    """

    frame: Any
    y: np.ndarray
    target: str
    categorical: Sequence[str] = ()
    dates: Sequence[str] = field(default=())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        """Columns of numbers, finite values only, that are not declared to be something else."""
        columns = {}
        for name in self.frame.columns:
            column = self.frame[name]
            if column.dtype.kind in "iuf" and name not in self.categorical and name not in self.dates:
                values = column.to_numpy(dtype=np.float64, na_value=np.nan)
                columns[str(name)] = values[np.isfinite(values)]
        return columns

    @cached_property
    def words(self) -> dict[str, list[str]]:
        """Columns of words: what is there, gaps left out."""
        columns = {}
        for name in self.frame.columns:
            column = self.frame[name]
            if column.dtype.kind not in "biufmM" and name not in self.dates:
                columns[str(name)] = [str(value) for value in column.dropna().tolist()]
        return columns
