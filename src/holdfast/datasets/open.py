"""Open a named data set or a table."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from holdfast.datasets.catalogue import CATALOGUE
from holdfast.datasets.dataset import Dataset
from holdfast.datasets.formats import SUFFIXES, ReadOptions
from holdfast.datasets.formats.source import STDIN
from holdfast.datasets.load import load_dataset
from holdfast.datasets.table import frame_dataset, read_table
from holdfast.numerics.frames import as_pandas


def open_data(
    data,
    target: str | None = None,
    *,
    drop: Sequence[str] = (),
    id: str | None = None,
    drop_unlabelled: bool = False,
    options: ReadOptions | None = None,
    data_dir=None,
) -> Dataset:
    """Open a named data set, a table in a file, or a data frame; a :class:`Dataset` is returned unchanged.

    Parameters
    ----------
    data : Dataset, data frame, str or path
        What ends in ``.csv``, ``.tsv``, ``.txt``, ``.gz``, ``.parquet``, ``.feather``, ``.xlsx`` or ``.npz``, or is a
        file, is a table; ``-`` is standard input; other words are names.
    target, drop, id, drop_unlabelled, options
        As for :func:`read_table`; only for tables.
    data_dir : str or path, optional
        As for :func:`load_dataset`; only for names.
    """
    if isinstance(data, Dataset):
        return data
    data = as_pandas(data)
    if hasattr(data, "columns"):
        return frame_dataset(data, target, drop=drop, id=id, drop_unlabelled=drop_unlabelled)
    if isinstance(data, np.ndarray):
        raise TypeError("An array has no names: give a data frame with the target as a column, or a file.")
    if str(data) == STDIN:
        return read_table(STDIN, target, drop=drop, id=id, drop_unlabelled=drop_unlabelled, options=options)
    path = Path(data)
    if path.suffix.lower() in SUFFIXES or path.is_file() or len(path.parts) > 1:
        return read_table(path, target, drop=drop, id=id, drop_unlabelled=drop_unlabelled, options=options)
    if str(data) not in CATALOGUE:
        raise ValueError(f"{data!s} is neither a file nor the name of a data set. Names are: {', '.join(CATALOGUE)}.")
    if target is not None or drop or id is not None:
        raise ValueError(f"{data!s} is a named set whose target is known: --target and --drop are for tables.")
    return load_dataset(str(data), data_dir)
