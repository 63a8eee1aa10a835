"""Read CSV, Parquet and npz files, within limits on their size."""

import csv
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from holdfast.datasets.dataset import Dataset
from holdfast.files import array_sizes

MAX_BYTES = 2**29  # of a file; in memory its values may take four times as much
MAX_ROWS = 500_000
_CHUNK = 20_000  # rows read at a time
_START = 2**20  # bytes read to find the separator


def read_table(
    path,
    target: str | None = None,
    *,
    drop: Sequence[str] = (),
    drop_unlabelled: bool = False,
    max_rows: int = MAX_ROWS,
) -> Dataset:
    """Read a table as a :class:`Dataset`; columns stay as they are, numbers or words.

    Parameters
    ----------
    path : str or path
        A ``.csv`` file (also ``.tsv``, ``.txt``; the separator is found from the first lines), a ``.parquet``
        file, or an ``.npz`` file with ``X`` and ``y``. Empty cells, ``NA``, ``nan`` and ``?`` are missing.
    target : str or None
        The column to predict. For an ``.npz`` file the name of the array, by default ``y``.
    drop : sequence of str, default=()
        Columns to leave out.
    drop_unlabelled : bool, default=False
        Leave out rows without a label, which are refused otherwise.
    max_rows : int, default=500000
        A longer table is refused before it fills the memory.

    Returns
    -------
    Dataset
        With a data frame X, unless the file is ``.npz``.
    """
    path = _existing(path)
    if path.suffix.lower() == ".npz":
        return _from_arrays(path, target or "y", max_rows)
    frame = read_parquet(path, max_rows) if path.suffix.lower() == ".parquet" else read_csv(path, max_rows)
    if frame.columns.duplicated().any():
        raise ValueError(f"{path.name} has two columns named {frame.columns[frame.columns.duplicated()][0]!r}.")
    if target is None:
        raise ValueError(f"Say which column to predict (--target); the columns are {_listed(frame.columns)}.")
    for name in (target, *drop):
        if name not in frame.columns:
            raise ValueError(f"{path.name} has no column {name!r}; its columns are {_listed(frame.columns)}.")
    if not len(frame):
        raise ValueError(f"{path.name} has a header, but no rows.")
    notes = []
    unlabelled = frame[target].isna()
    if unlabelled.any():
        if not drop_unlabelled:
            row = int(np.flatnonzero(unlabelled.to_numpy())[0]) + 1
            raise ValueError(
                f"{int(unlabelled.sum())} rows of {path.name} have no {target!r}, the first is row {row}: fill "
                "them in, or leave them out (--drop-unlabelled)."
            )
        frame = frame[~unlabelled]
        notes.append(f"{int(unlabelled.sum())} rows without a label were left out.")
    y = class_labels(frame[target], target)
    X = frame.drop(columns=[target, *drop])  # the index stays, to tell which row is wrong
    if not X.shape[1]:
        raise ValueError(f"{path.name} has no columns besides {target!r}: there is nothing to predict from.")
    if drop:
        notes.append(f"Left out: {', '.join(map(str, drop))}.")
    return Dataset(
        name=path.stem,
        X=X,
        y=y,
        feature_names=[str(c) for c in X.columns],
        target_name=target,
        target_names=[str(c) for c in np.unique(y)],
        source=path.name,
        notes=notes,
    )


def read_rows(path, max_rows: int = MAX_ROWS):
    """Read a table as a data frame, without a target column: rows to predict.

    Parameters
    ----------
    path : str or path
        As for :func:`read_table`; of an ``.npz`` file the array ``X``, and ``y`` if there is one.
    max_rows : int
    """
    path = _existing(path)
    if path.suffix.lower() == ".npz":
        arrays = _arrays(path)
        if "X" not in arrays or arrays["X"].ndim != 2:
            raise ValueError(f"{path.name} has no matrix 'X'; it has {_listed(arrays)}.")
        frame = _pandas().DataFrame(arrays["X"], columns=_names(arrays))
        if arrays.get("y", np.zeros(0)).shape == (len(frame),) and "y" not in frame.columns:
            frame["y"] = arrays["y"]
    else:
        frame = read_parquet(path, max_rows) if path.suffix.lower() == ".parquet" else read_csv(path, max_rows)
    if not len(frame):
        raise ValueError(f"{path.name} has a header, but no rows.")
    return frame


def class_labels(column, name: str) -> np.ndarray:
    """The class labels in a column without missing values; a single class, or a measured quantity, is refused."""
    values = column.to_numpy()
    if values.dtype.kind == "f" and (values == np.round(values)).all():
        values = values.astype(np.int64)  # whole numbers that a missing value had made floats
    elif values.dtype.kind == "f":
        raise ValueError(
            f"{name!r} holds numbers such as {values[values != np.round(values)][0]:g}: that is a quantity, not a "
            "class. Cut it into classes first."
        )
    elif values.dtype.kind not in "iub":
        values = np.asarray([str(v) for v in values.tolist()])
    classes, counts = np.unique(values, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"{name!r} is {classes[0]!s} in every row: at least two classes are needed.")
    if len(classes) > max(2, len(values) // 2):
        raise ValueError(f"{name!r} has {len(classes)} different values in {len(values)} rows: is it a class?")
    return values


def read_csv(path: Path, max_rows: int = MAX_ROWS):
    """Read a CSV file in pieces, so that one that is too large is refused in time."""
    pandas = _pandas()
    _refuse_if_large(path)
    separator = _separator(path)
    pieces, rows, size = [], 0, 0
    try:
        with pandas.read_csv(
            path, sep=separator, chunksize=_CHUNK, na_values=["?"], skipinitialspace=True, encoding="utf-8-sig"
        ) as reader:
            for piece in reader:
                pieces.append(piece)
                rows, size = rows + len(piece), size + int(piece.memory_usage(deep=True).sum())
                _refuse_if_long(path, rows, size, max_rows)
    except pandas.errors.EmptyDataError as empty:
        raise ValueError(f"{path.name} is empty.") from empty
    except (pandas.errors.ParserError, UnicodeDecodeError, csv.Error) as broken:
        raise ValueError(f"{path.name} cannot be read as a table: {_one_line(broken)}.") from broken
    # If pieces differ in the type of a column it becomes words, and the encoder names the row that is not a number.
    return pandas.concat(pieces, ignore_index=True)


def read_parquet(path: Path, max_rows: int = MAX_ROWS):
    """Read a Parquet file in pieces, unless its metadata already says that it is too long."""
    _pandas()
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as missing:
        raise ImportError("Parquet files need pyarrow: pip install 'holdfast[cli]'.") from missing
    _refuse_if_large(path)
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            _refuse_if_long(path, file.metadata.num_rows, 0, max_rows)
            pieces, size = [], 0
            for batch in file.iter_batches(batch_size=_CHUNK):
                pieces.append(batch)
                size += batch.nbytes
                _refuse_if_long(path, 0, size, max_rows)
            return pyarrow.Table.from_batches(pieces, schema=file.schema_arrow).to_pandas()
    except (pyarrow.ArrowException, OSError) as broken:
        raise ValueError(f"{path.name} is damaged or not a Parquet file: {_one_line(broken)}.") from broken


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of an ``.npz`` file after a check of their sizes; pickles in it are refused."""
    _refuse_if_large(path)
    for name, (shape, _, size) in array_sizes(path).items():
        if size > 4 * MAX_BYTES:
            raise ValueError(f"{path.name}: the array {name!r} of shape {shape} would take {size / 1e9:.1f} GB.")
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _existing(path) -> Path:
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a table.")
    return path


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        return read_npz(path)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as broken:
        message = _one_line(broken)
        raise ValueError(f"{path.name} is damaged or not an .npz file of plain arrays: {message}.") from broken


def _names(arrays: dict[str, np.ndarray]) -> list[str]:
    names = [str(f) for f in arrays.get("feature_names", np.zeros(0)).tolist()]
    width = arrays["X"].shape[1]
    return names if len(names) == width else [f"x{k}" for k in range(width)]


def _from_arrays(path: Path, target: str, max_rows: int) -> Dataset:
    arrays = _arrays(path)
    for name in ("X", target):
        if name not in arrays:
            raise ValueError(f"{path.name} has no array {name!r}; it has {_listed(arrays)}.")
    X, y = arrays["X"], arrays[target]
    if X.ndim != 2 or X.dtype.kind not in "biuf" or y.shape != X.shape[:1]:
        raise ValueError(
            f"{path.name}: X must be a matrix of numbers with one label a row; X has shape {X.shape} and type "
            f"{X.dtype}, {target} has shape {y.shape}."
        )
    if not len(X):
        raise ValueError(f"{path.name} has no rows.")
    _refuse_if_long(path, len(X), 0, max_rows)
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise ValueError(f"{int(np.isnan(y).sum())} labels of {path.name} are NaN: leave those rows out.")
    y = class_labels(_pandas().Series(y), target)
    return Dataset(
        name=path.stem,
        X=X.astype(np.float64),
        y=y,
        feature_names=_names(arrays),
        target_name=target,
        target_names=[str(c) for c in np.unique(y)],
        source=path.name,
    )


def _separator(path: Path) -> str:
    """Comma, semicolon, tab or bar: the one that cuts the first lines into equally many cells; else a comma."""
    with open(path, "rb") as file:
        start = file.read(_START)
    if not start.strip():
        raise ValueError(f"{path.name} is empty.")
    if b"\0" in start:
        raise ValueError(f"{path.name} is not a text file: a CSV, Parquet or npz file is needed.")
    if len(start) == _START and b"\n" not in start:
        raise ValueError(f"{path.name}: its first line is longer than a megabyte, which is no table.")
    lines = start.decode("utf-8", errors="replace").splitlines()[:20]
    best, columns = ",", 1
    for separator in ",;\t|":
        widths = {len(row) for row in csv.reader(lines[: max(1, len(lines) - 1)], delimiter=separator) if row}
        if len(widths) == 1 and max(widths) > columns:
            best, columns = separator, max(widths)
    return best


def _refuse_if_large(path: Path) -> None:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ValueError(
            f"{path.name} has {size / 1e9:.1f} GB; tables of up to {MAX_BYTES / 1e9:.1f} GB are read. Take a sample "
            "of its rows."
        )


def _refuse_if_long(path: Path, rows: int, size: int, max_rows: int) -> None:
    if rows > max_rows:
        raise ValueError(f"{path.name} has more than {max_rows:,} rows: take a sample of them.")
    if size > 4 * MAX_BYTES:
        raise ValueError(f"{path.name} takes more than {4 * MAX_BYTES / 1e9:.1f} GB in memory: take a sample.")


def _pandas():
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("Tables need pandas: pip install 'holdfast[cli]'.") from missing
    return pandas


def _listed(names, limit: int = 20) -> str:
    names = [str(n) for n in names]
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")[:200]
