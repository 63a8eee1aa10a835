"""``load_dataset(name)``: from a folder of yours, from scikit-learn, from OpenML."""

import os
import warnings
import zipfile
import zlib
from pathlib import Path
from urllib.error import URLError

import numpy as np

from holdfast.datasets.catalogue import CATALOGUE, Entry
from holdfast.datasets.dataset import Dataset
from holdfast.datasets.formats import ReadOptions, read_any
from holdfast.datasets.formats.arrays import read_npz
from holdfast.datasets.table import MAX_ROWS

_TARGETS = ("y", "target", "class")  # names a target column of a local table may have
_SUFFIXES = (".npz", ".csv", ".parquet")


def load_dataset(name: str, data_dir=None) -> Dataset:
    """A named set, checked against the size and class counts it must have.

    Looked for in this order: a file ``NAME.npz``, ``.csv`` or ``.parquet`` in ``data_dir``, or in the folder
    that the environment variable ``HOLDFAST_DATA`` names; scikit-learn's own sets; OpenML, through
    scikit-learn's cache.

    Parameters
    ----------
    name : str
        A key of :data:`holdfast.datasets.CATALOGUE`; ``holdfast datasets`` lists them.
    data_dir : str, path or None, default=None
        An ``.npz`` file there holds ``X`` and ``y`` (``feature_names``, ``target_names``, ``train_idx``,
        ``test_idx`` if known); a table has a column ``y``, ``target`` or ``class``.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from holdfast import load_dataset
    >>> load_dataset("wine").X.shape
    (178, 13)
    """
    if name not in CATALOGUE:
        raise ValueError(f"There is no data set named {name!r}. Known are: {', '.join(CATALOGUE)}.")
    entry = CATALOGUE[name]
    path = _local(entry.file or name, data_dir)
    if path is not None:
        raw = _from_file(path)
    elif entry.builtin is not None:
        raw = _from_sklearn(entry)
    elif entry.openml is not None:
        raw = _from_openml(name, entry)
    else:
        raise FileNotFoundError(
            f"{name} is neither part of scikit-learn nor, in this form, at OpenML: put {entry.file or name}.npz "
            "(arrays X and y) into a folder and name it by data_dir or by the variable HOLDFAST_DATA."
        )
    return _check(name, entry, raw)


def _local(stem: str, data_dir) -> Path | None:
    """The file of a set in the user's folder, if there is one."""
    folder = data_dir if data_dir is not None else os.environ.get("HOLDFAST_DATA") or None
    if folder is None:
        return None
    if not Path(folder).is_dir():
        where = "data_dir" if data_dir is not None else "HOLDFAST_DATA"
        raise FileNotFoundError(f"{where} names {folder}, which is not a folder.")
    return next((p for s in _SUFFIXES if (p := Path(folder) / f"{stem}{s}").is_file()), None)


def _from_file(path: Path) -> dict:
    if path.suffix == ".npz":
        try:
            arrays = read_npz(path)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError) as broken:
            raise ValueError(f"{path} is damaged or not an .npz file ({broken}): fetch it anew.") from broken
        missing = {"X", "y"} - set(arrays)
        if missing:
            raise ValueError(f"{path} lacks the array {' and '.join(sorted(missing))}; it has {', '.join(arrays)}.")
        return {**arrays, "source": str(path.name), "notes": []}
    frame, notes, _ = read_any(path, ReadOptions(), MAX_ROWS)
    target = next((t for t in _TARGETS if t in frame.columns), None)
    if target is None:
        raise ValueError(f"{path} has no column named {', '.join(_TARGETS)}; its columns are {list(frame.columns)}.")
    X = frame.drop(columns=target)
    words = [str(c) for c in X.columns if X[c].dtype.kind not in "biuf"]
    if words:
        raise ValueError(f"{path}: column {words[0]!r} holds text where numbers are expected.")
    return {
        "X": X.to_numpy(dtype=np.float64),
        "y": frame[target].to_numpy(),
        "feature_names": [str(c) for c in X.columns],
        "source": str(path.name),
        "notes": notes,
    }


def _from_sklearn(entry: Entry) -> dict:
    from sklearn import datasets

    bunch = getattr(datasets, str(entry.builtin))()
    names = list(getattr(bunch, "feature_names", []))
    return {
        "X": bunch.data,
        "y": bunch.target,
        "feature_names": names,
        "target_names": bunch.target_names,
        "source": f"scikit-learn, {entry.builtin}",
    }


def _from_openml(name: str, entry: Entry) -> dict:
    """Read OpenML's copy, which scikit-learn caches."""
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about other versions of the same set
            bunch = fetch_openml(data_id=entry.openml, as_frame=True, parser="auto")
    except (URLError, ConnectionError, TimeoutError) as offline:
        reason = getattr(offline, "reason", offline)
        raise ConnectionError(
            f"{name} would have to be fetched from OpenML (set {entry.openml}), which cannot be reached "
            f"({reason}). Go online, or put {name}.npz into a folder and name it by data_dir or HOLDFAST_DATA."
        ) from offline
    frame, codes = bunch.data, dict(entry.codes)
    columns = []
    for column in frame.columns:
        values = [codes.get(v, v) if isinstance(v, str) else v for v in frame[column].tolist()]
        try:
            columns.append(np.array([np.nan if _is_missing(v) else float(v) for v in values]))
        except (TypeError, ValueError) as wrong:
            raise ValueError(f"OpenML's copy of {name} has words in column {column!r}: {wrong}.") from wrong
    y = np.asarray(bunch.target.tolist())
    return {
        "X": np.column_stack(columns),
        "y": y,
        "feature_names": [str(c) for c in frame.columns],
        "source": f"OpenML {entry.openml}",
    }


def _is_missing(value) -> bool:
    return value is None or value != value or type(value).__name__ == "NAType"


def _check(name: str, entry: Entry, raw: dict) -> Dataset:
    """Bring a set to the form of its catalogue entry, and refuse it if sizes or class counts differ."""
    X, y = np.asarray(raw["X"]), np.asarray(raw["y"])
    source = raw["source"]
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(f"{name} from {source}: X has shape {X.shape} and y {y.shape}; one label a row is needed.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{name} from {source}: X holds {X.dtype}, not numbers.")
    X, notes = X.astype(np.float64), [entry.note] if entry.note else []
    notes += raw.get("notes", [])
    if entry.keep and len(np.unique(y)) > len(entry.keep):
        keep = np.isin(y.astype(str), entry.keep)
        X, y = X[keep], y[keep]
    if entry.missing is not None:
        X = np.where(np.isnan(X), entry.missing, X)
    if entry.complete:
        whole = ~np.isnan(X).any(axis=1)
        X, y = X[whole], y[whole]
    if X.shape != entry.shape:
        raise ValueError(
            f"{name} from {source} has shape {X.shape}, but should have {entry.shape}: it is another set, or not whole."
        )
    classes, counts = np.unique(y, return_counts=True)
    if tuple(sorted(counts.tolist(), reverse=True)) != entry.counts:
        found_counts = ", ".join(f"{c}: {n}" for c, n in zip(classes, counts, strict=True))
        raise ValueError(
            f"{name} from {source} has the class counts {found_counts}, but should have {entry.counts}: it is another "
            "set, or damaged."
        )
    names = [str(f) for f in np.asarray(raw.get("feature_names", [])).tolist()]
    targets = [str(t) for t in np.asarray(raw.get("target_names", [])).tolist()]
    return Dataset(
        name=name,
        X=X,
        y=y,
        feature_names=names if len(names) == X.shape[1] else [f"x{k}" for k in range(X.shape[1])],
        target_names=targets if len(targets) == len(classes) else [str(c) for c in classes],
        description=entry.about,
        source=source,
        train_idx=raw.get("train_idx"),
        test_idx=raw.get("test_idx"),
        notes=notes,
    )


def origin_of(name: str, data_dir=None) -> str:
    """The place :func:`load_dataset` would take a set from: "folder", "built in", "OpenML" or "needs a file"."""
    entry = CATALOGUE[name]
    try:
        path = _local(entry.file or name, data_dir)
    except FileNotFoundError:
        path = None
    if path is not None:
        return "folder"
    return "built in" if entry.builtin else "OpenML" if entry.openml else "needs a file"
