"""A table with a target: rows, labels, identifiers."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from holdfast.base.text import listed
from holdfast.datasets.columns import Reading, with_gaps
from holdfast.datasets.formats import (
    STDIN,
    ReadOptions,
    feature_names,
    import_pandas,
    open_source,
    read_any,
    read_plain_arrays,
)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows X, their labels y, and names for both.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n_rows, n_features), or pandas data frame
        Raw values; NaN is a missing one. A data frame if it was read from a table, whose columns may hold
        categories.
    y : ndarray of shape (n_rows,)
    feature_names : list of str
    target_name : str
        Name of y.
    target_names : list of str
        Names of the classes, in the order of ``numpy.unique(y)``.
    description, source : str
    train_idx, test_idx : ndarrays of int or None
        The customary split, if there is one.
    notes : list of str
        Changes made to the values, in sentences.
    row_numbers : ndarray of int or None
        Number of each row in the user's table, from 1, the header not counted; None if it is its position.
    row_ids : ndarray or None
        Names of the rows, if they have names.
    reading : Reading or None
        How the file was read; None if there was no file.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    feature_names: list[str]
    target_name: str = "class"
    target_names: list[str] = field(default_factory=list)
    description: str = ""
    source: str = ""
    train_idx: np.ndarray | None = None
    test_idx: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    row_numbers: np.ndarray | None = None
    row_ids: np.ndarray | None = None
    reading: Reading | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of names, values and labels; the same values give the same digest wherever they are read."""
        sha = hashlib.sha256("\0".join([*self.feature_names, self.target_name]).encode())
        if isinstance(self.X, np.ndarray):
            sha.update(np.ascontiguousarray(self.X, dtype=np.float64).tobytes())
        else:
            for name in self.X.columns:
                column = self.X[name]
                values = column.to_numpy()
                if values.dtype.kind in "iuf":
                    sha.update(values.astype(np.float64).tobytes())
                else:
                    sha.update("\0".join(map(str, values.tolist())).encode())
        sha.update("\0".join(map(str, self.y.tolist())).encode())
        return sha.hexdigest()

    @property
    def labels(self) -> np.ndarray:
        """y with the names of the classes, if they have names: "malignant" for 0.

        A name may repeat its class: "2=benign" is benign, for the class 2. No other "=" is touched: it is part of
        the name, as in "<=50K".
        """
        classes, codes = np.unique(self.y, return_inverse=True)
        if len(self.target_names) != len(classes):
            return self.y
        names = [name.removeprefix(f"{c}=") for name, c in zip(self.target_names, classes, strict=True)]
        if len(set(names)) != len(classes) or names == [str(c) for c in classes]:
            return self.y
        return np.array(names)[codes]

    @property
    def frame(self):
        """X as a data frame."""
        if not isinstance(self.X, np.ndarray):
            return self.X
        from pandas import DataFrame

        return DataFrame(self.X, columns=self.feature_names)

    def select(self, kept: np.ndarray, note: str) -> "Dataset":
        """The rows of a mask, and one note more.

        Parameters
        ----------
        kept : ndarray of bool
        note : str
        """
        numbers = np.arange(1, len(self.y) + 1) if self.row_numbers is None else self.row_numbers
        return replace(
            self,
            X=self.X[kept],
            y=self.y[kept],
            row_numbers=numbers[kept],
            row_ids=None if self.row_ids is None else self.row_ids[kept],
            notes=[*self.notes, note],
        )

    def __repr__(self) -> str:
        n, p = self.X.shape
        return f"<Dataset {self.name}: {n} rows, {p} features, {len(np.unique(self.y))} classes; {self.source}>"


# -- reading ----------------------------------------------------------------------------------------

MAX_ROWS = 500_000  # of a table that is read; longer ones are refused before they fill the memory


def read_table(
    path,
    target: str | None = None,
    *,
    drop: Sequence[str] = (),
    id: str | None = None,
    drop_unlabelled: bool = False,
    options: ReadOptions | None = None,
    max_rows: int = MAX_ROWS,
) -> Dataset:
    """Read a table as a :class:`Dataset`; columns stay as they are, numbers or words.

    Parameters
    ----------
    path : str or path
        A ``.csv`` file (also ``.tsv``, ``.txt``, each also ``.gz``; encoding, separator and decimal sign are found
        from the content), a ``.parquet``, ``.feather`` or ``.xlsx`` file, or an ``.npz`` file with ``X`` and ``y``;
        ``-`` is standard input. Empty cells, ``NA``, ``nan`` and ``?`` are missing.
    target : str or None
        The column to predict. For an ``.npz`` file the name of the array, by default ``y``.
    drop : sequence of str, default=()
        Columns to leave out.
    id : str, optional
        Column that names the rows; it is not a feature.
    drop_unlabelled : bool, default=False
        Leave out rows without a label, which are refused otherwise.
    options : ReadOptions, optional
        How the values are written; what is not given is detected.
    max_rows : int, default=500000
        A longer table is refused before it fills the memory.

    Returns
    -------
    Dataset
        With a data frame X, unless the file is ``.npz``.
    """
    if str(path) != STDIN and Path(path).suffix.lower() == ".npz" and not drop and id is None:
        return _from_arrays(path, target or "y", max_rows)
    source = path if str(path) == STDIN else Path(path)
    options = replace(options or ReadOptions(), drop=(*drop, *([] if id is None else [id])))
    frame, notes, reading = read_frame(source, options, max_rows)
    name = "standard input" if str(path) == STDIN else Path(path).name
    stem = "table" if str(path) == STDIN else Path(path).name.removesuffix(".gz").rsplit(".", 1)[0]
    dataset = frame_dataset(frame, target, name=name, drop=drop, id=id, drop_unlabelled=drop_unlabelled, notes=notes)
    return replace(dataset, name=stem or name, source=name, reading=reading)


def read_frame(path, options: ReadOptions, max_rows: int = MAX_ROWS) -> tuple:
    """A file as a data frame; notes; and how it was read, with gaps where a value stands for a missing one."""
    frame, notes, (decimal, thousands) = read_any(path, options, max_rows)
    reading = Reading(decimal, thousands, tuple(map(str, options.missing)))
    columns = with_gaps({k: frame.iloc[:, k] for k in range(frame.shape[1])} if reading.missing else {}, reading)
    for k, column in columns.items():
        frame.isetitem(k, column)
    return frame, notes, reading


def frame_dataset(
    frame,
    target: str | None,
    *,
    name: str = "table",
    drop: Sequence[str] = (),
    id: str | None = None,
    drop_unlabelled: bool = False,
    notes: Sequence[str] = (),
) -> Dataset:
    """A data frame as a :class:`Dataset`; its index stays with the rows. Other parameters are those of
    :func:`read_table`; ``notes`` is what is known of the frame already.
    """
    frame, notes = frame.rename(columns=str), list(notes)
    if frame.columns.duplicated().any():
        raise ValueError(f"{name} has two columns named {frame.columns[frame.columns.duplicated()][0]!r}.")
    if target is None:
        raise ValueError(f"Say which column to predict (--target); the columns are {listed(frame.columns, 20)}.")
    for column in (target, *drop, *([] if id is None else [id])):
        if column not in frame.columns:
            raise ValueError(f"{name} has no column {column!r}; its columns are {listed(frame.columns, 20)}.")
    if not len(frame):
        raise ValueError(f"{name} has a header, but no rows.")
    numbers = np.arange(1, len(frame) + 1)
    unlabelled = frame[target].isna().to_numpy()
    if unlabelled.any():
        if not drop_unlabelled:
            row = int(np.flatnonzero(unlabelled)[0]) + 1
            raise ValueError(
                f"{int(unlabelled.sum())} rows of {name} have no {target!r}, the first is row {row}: fill "
                "them in, or leave them out (--drop-unlabelled)."
            )
        frame, numbers = frame[~unlabelled], numbers[~unlabelled]
        notes.append(f"{int(unlabelled.sum())} rows without a label were left out.")
    y = class_labels(frame[target], target)
    X = frame.drop(columns=list({target, *drop, *([] if id is None else [id])}))
    if not X.shape[1]:
        raise ValueError(f"{name} has no columns besides {target!r}: there is nothing to predict from.")
    if drop:
        notes.append(f"Left out: {', '.join(map(str, drop))}.")
    return Dataset(
        name=name,
        X=X,
        y=y,
        feature_names=[str(c) for c in X.columns],
        target_name=target,
        target_names=[str(c) for c in np.unique(y)],
        source=name,
        notes=notes,
        row_numbers=numbers,
        row_ids=row_names(frame, id),
    )


def row_names(frame, id: str | None = None) -> np.ndarray | None:
    """Names of the rows: the column ``id``, or an index other than 0, 1, 2, …; None if there is neither."""
    if id is not None:
        if id not in frame.columns:
            raise ValueError(f"There is no column {id!r} of row names; the columns are {listed(frame.columns, 20)}.")
        return frame[id].to_numpy()
    index = frame.index
    if index.name is None and index.dtype.kind in "iu" and type(index).__name__ in ("RangeIndex", "Index"):
        return None  # a count, or what is left of one
    return index.to_numpy()


def read_rows(path, max_rows: int = MAX_ROWS, options: ReadOptions | None = None, notes: list[str] | None = None):
    """Read a table as a data frame, without a target column: rows to predict.

    Parameters
    ----------
    path : str or path
        As for :func:`read_table`; of an ``.npz`` file the array ``X``, and ``y`` if there is one.
    max_rows : int
    options : ReadOptions, optional
        For a model's new rows ``model[0].reading_.options()``: they are read as the training table was.
    notes : list of str, optional
        Gets what was found out about the file.
    """
    frame, found, _ = read_frame(path, options or ReadOptions(), max_rows)
    if notes is not None:
        notes += found
    if not len(frame):
        raise ValueError(f"{open_name(path)} has a header, but no rows.")
    return frame


def open_name(path) -> str:
    """The name of a file for messages."""
    return "standard input" if str(path) == STDIN else Path(path).name


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


def _from_arrays(path, target: str, max_rows: int) -> Dataset:
    source = open_source(path)
    path, arrays = Path(path), read_plain_arrays(source)
    for name in ("X", target):
        if name not in arrays:
            raise ValueError(f"{path.name} has no array {name!r}; it has {listed(arrays, 20)}.")
    X, y = arrays["X"], arrays[target]
    if X.ndim != 2 or X.dtype.kind not in "biuf" or y.shape != X.shape[:1]:
        raise ValueError(
            f"{path.name}: X must be a matrix of numbers with one label a row; X has shape {X.shape} and type "
            f"{X.dtype}, {target} has shape {y.shape}."
        )
    if not len(X):
        raise ValueError(f"{path.name} has no rows.")
    source.refuse_if_long(len(X), 0, max_rows)
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise ValueError(f"{int(np.isnan(y).sum())} labels of {path.name} are NaN: leave those rows out.")
    y = class_labels(import_pandas().Series(y), target)
    return Dataset(
        name=path.stem,
        X=X.astype(np.float64),
        y=y,
        feature_names=feature_names(arrays),
        target_name=target,
        target_names=[str(c) for c in np.unique(y)],
        source=path.name,
        row_numbers=np.arange(1, len(X) + 1),
    )
