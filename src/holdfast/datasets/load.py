"""Named data sets, generated ones, and tables from files."""

import os
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

import numpy as np

from holdfast.base.inputs import as_pandas, check_number
from holdfast.datasets.formats import STDIN, SUFFIXES, ReadOptions, read_any, read_npz
from holdfast.datasets.tables import MAX_ROWS, Dataset, frame_dataset, read_table


@dataclass(frozen=True)
class Entry:
    """A named data set, as it must be when it is read.

    Attributes
    ----------
    about : str
    shape : tuple (n_rows, n_features)
    counts : tuple of int
        Rows of each class, largest first; checked when the set is read.
    builtin : str or None
        scikit-learn's function that loads it.
    openml : int or None
        Number of the set at OpenML; None if no copy there is known to agree.
    missing : float or None
        Replaces missing values; None leaves them missing.
    complete : bool
        Leave out rows with a missing value.
    keep : tuple of str
        The classes that are kept, if not all.
    codes : dict
        Numbers for the words in OpenML's copy.
    file : str or None
        Name of the local file, if it is not that of the set.
    note : str
    paper : bool
        True for the paper's 16 sets.
    """

    about: str
    shape: tuple[int, int]
    counts: tuple[int, ...]
    builtin: str | None = None
    openml: int | None = None
    missing: float | None = None
    complete: bool = False
    keep: tuple[str, ...] = ()
    codes: tuple[tuple[str, float], ...] = ()
    file: str | None = None
    note: str = ""
    paper: bool = True


_DIGITS = (7877, 7293, 7141, 6990, 6958, 6903, 6876, 6825, 6824, 6313)
_DIGITS_2K2K = (454, 431, 429, 417, 404, 398, 378, 366, 364, 359)
_LETTERS = (
    813, 805, 803, 796, 792, 789, 787, 786, 783, 783, 775, 773, 768, 766, 764, 761, 758, 755, 753, 752,
    748, 747, 739, 736, 734, 734,
)  # fmt: skip
_YES_NO = (("y", 1.0), ("n", 0.0))
_KEEL = "X is as KEEL ships it, with decimal points lost; the paper's numbers rest on these values."
_PART = "9,000 of the 60,000 training rows and no test rows: a set of its own, not comparable with the full one."

#: name -> entry; the first 16 are the paper's.
CATALOGUE: dict[str, Entry] = {
    "australian": Entry("credit approval", (690, 14), (383, 307), openml=40981),
    "breast_cancer": Entry("cells under a microscope", (683, 9), (444, 239), openml=15, complete=True),
    "ecoli": Entry("where a protein is, 2-3-5-6 against the rest", (336, 7), (307, 29), note=_KEEL),
    "fourclass": Entry("two irregular classes in the plane", (862, 2), (555, 307)),
    "haberman": Entry("survival after surgery", (306, 3), (225, 81), openml=43),
    "iris": Entry("flowers", (150, 4), (50, 50, 50), builtin="load_iris", openml=61),
    "segment": Entry("patches of outdoor images", (2310, 19), (330,) * 7, openml=36),
    "sonar": Entry("mine or rock", (208, 60), (111, 97), openml=40),
    "voting": Entry(
        "party from 16 votes",
        (435, 16),
        (267, 168),
        openml=56,
        missing=0.5,
        codes=_YES_NO,
        note="A vote that was not recorded is 0.5, between no (0) and yes (1).",
    ),
    "wdbc": Entry("breast cancer, 30 measurements", (569, 30), (357, 212), "load_breast_cancer", openml=1510),
    "wine": Entry("chemistry of three wines", (178, 13), (71, 59, 48), builtin="load_wine", openml=187),
    "yeast": Entry("where a protein is, CYT or POX", (483, 8), (463, 20), openml=181, keep=("CYT", "POX")),
    "credit": Entry("default of card payments", (30000, 23), (23364, 6636), openml=42477),
    "isolet": Entry("spoken letters", (7797, 617), (300,) * 24 + (299, 298), openml=300),
    "mnist_2k2k": Entry("4,000 handwritten digits", (4000, 784), _DIGITS_2K2K),
    "aps": Entry("failure of truck brakes", (9000, 170), (8827, 173), file="aps_partial9000", note=_PART),
    "digits": Entry(
        "8 × 8 digits", (1797, 64), (183, 182, 182, 181, 181, 180, 179, 178, 177, 174), "load_digits", paper=False
    ),
    "letter": Entry("printed letters", (20000, 16), _LETTERS, openml=6, paper=False),
    "pendigits": Entry(
        "pen strokes", (10992, 16), (1144, 1144, 1143, 1143, 1142, 1056, 1055, 1055, 1055, 1055), openml=32, paper=False
    ),
    "satimage": Entry("satellite image", (6435, 36), (1533, 1508, 1358, 707, 703, 626), paper=False),
    "optdigits": Entry(
        "scanned digits", (5620, 64), (572, 571, 568, 566, 562, 558, 558, 557, 554, 554), openml=28, paper=False
    ),
    "usps": Entry(
        "digits on envelopes",
        (9298, 256),
        (1553, 1269, 929, 852, 834, 824, 821, 792, 716, 708),
        openml=41082,
        paper=False,
    ),
    "fashion_mnist": Entry("pictures of clothes", (70000, 784), (7000,) * 10, openml=40996, paper=False),
    "mnist": Entry("handwritten digits", (70000, 784), _DIGITS, openml=554, paper=False),
}


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
            f"{name} from {source} has shape {X.shape}, but should have {entry.shape}: another set, or incomplete."
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
    """Where :func:`load_dataset` would take a set from: "folder", "built in", "OpenML" or "needs a file"."""
    entry = CATALOGUE[name]
    try:
        path = _local(entry.file or name, data_dir)
    except FileNotFoundError:
        path = None
    if path is not None:
        return "folder"
    return "built in" if entry.builtin else "OpenML" if entry.openml else "needs a file"


# -- generated data ----------------------------------------------------------------------------------


def make_separability(random_state=None) -> tuple[np.ndarray, np.ndarray]:
    """Two features, each of which separates the classes: the first by a small margin, the second by a large one.

    Parameters
    ----------
    random_state : int, numpy Generator or None, default=None
        A generator is advanced: a second call with it draws new points.

    Returns
    -------
    X : ndarray of shape (220, 2)
    y : ndarray of shape (220,)
        100 ones in ``[-3, 0] × [0, 1]``, then 120 zeros: 100 below them in ``[-3, 0] × [-0.6, -0.5]``, 20
        beside them in ``[0, 0.1] × [0, 1]``.

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", section 4.1.

    Examples
    --------
    >>> from holdfast.datasets import make_separability
    >>> X, y = make_separability(random_state=0)
    >>> bool(X[y == 1, 1].min() > 0)
    True
    """
    rng = np.random.default_rng(random_state)
    positive = rng.uniform([-3, 0], [0, 1], (100, 2))
    below = rng.uniform([-3, -0.6], [0, -0.5], (100, 2))
    beside = rng.uniform([0, 0], [0.1, 1], (20, 2))
    return np.vstack([positive, below, beside]), np.repeat([1, 0], [100, 120])


def make_multicollinearity(noise: float = 0.01, random_state=None) -> tuple[np.ndarray, np.ndarray]:
    """Three features, ``x_3 = x_1 + x_2 + noise``: the points lie on a plane, but for the noise.

    Parameters
    ----------
    noise : float, default=0.01
        Standard deviation of the noise; the paper's is 0.01.
    random_state : int, numpy Generator or None, default=None
        As for :func:`make_separability`.

    Returns
    -------
    X : ndarray of shape (200, 3)
    y : ndarray of shape (200,)
        100 ones, whose first two features are Gaussian around (0.45, 0.45) with variances 1 and covariance
        −0.9, then 100 zeros around (−0.45, −0.45).

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", section 4.1.

    Examples
    --------
    >>> from holdfast.datasets import make_multicollinearity
    >>> X, y = make_multicollinearity(random_state=0)
    >>> bool(abs(X[:, 2] - X[:, 0] - X[:, 1]).max() < 0.05)
    True
    """
    check_number("make_multicollinearity", "noise", noise, at_least=0)
    rng = np.random.default_rng(random_state)
    covariance = [[1.0, -0.9], [-0.9, 1.0]]
    first = np.vstack([rng.multivariate_normal([m, m], covariance, 100) for m in (0.45, -0.45)])
    third = first.sum(axis=1) + rng.normal(0, noise, 200)
    return np.column_stack([first, third]), np.repeat([1, 0], 100)
