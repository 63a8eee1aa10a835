"""Open a named data set or a table."""

from collections.abc import Sequence
from pathlib import Path

from holdfast.datasets.catalogue import CATALOGUE
from holdfast.datasets.dataset import Dataset
from holdfast.datasets.load import load_dataset
from holdfast.datasets.table import read_table

_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".npz")


def open_data(
    data, target: str | None = None, *, drop: Sequence[str] = (), drop_unlabelled: bool = False, data_dir=None
) -> Dataset:
    """Open a named data set or a table; a :class:`Dataset` is returned unchanged.

    Parameters
    ----------
    data : Dataset, str or path
        What ends in ``.csv``, ``.tsv``, ``.txt``, ``.parquet`` or ``.npz``, or is a file, is a table; other
        words are names.
    target, drop, drop_unlabelled
        As for :func:`read_table`; only for tables.
    data_dir : str or path, optional
        As for :func:`load_dataset`; only for names.
    """
    if isinstance(data, Dataset):
        return data
    path = Path(data)
    if path.suffix.lower() in _SUFFIXES or path.is_file() or len(path.parts) > 1:
        return read_table(path, target, drop=drop, drop_unlabelled=drop_unlabelled)
    if str(data) not in CATALOGUE:
        raise ValueError(f"{data!s} is neither a file nor the name of a data set. Names are: {', '.join(CATALOGUE)}.")
    if target is not None or drop:
        raise ValueError(f"{data!s} is a named set whose target is known: --target and --drop are for tables.")
    return load_dataset(str(data), data_dir)
