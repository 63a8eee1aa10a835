"""``.npz`` files: a matrix X, labels y, names of the features if there are any."""

import zipfile
import zlib
from math import prod
from pathlib import Path

import numpy as np

from holdfast.datasets.formats import source as limits
from holdfast.datasets.formats.options import ReadOptions
from holdfast.datasets.formats.source import Source, import_pandas, one_line
from holdfast.files import array_sizes

_MOST_PACKED = 100  # a larger file may not take more than so many times its size in memory


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of an ``.npz`` file after a check of their sizes; pickles in it are refused."""
    Source(path.name, ".npz", path=path).refuse_if_large()
    sizes = {name: (shape, prod(shape) * max(8, kind.itemsize)) for name, (shape, kind, _) in array_sizes(path).items()}
    allowed = min(4 * limits.MAX_BYTES, max(limits.MAX_BYTES // 2, _MOST_PACKED * path.stat().st_size))
    if sum(size for _, size in sizes.values()) > allowed:
        name, (shape, size) = max(sizes.items(), key=lambda item: item[1][1])
        raise ValueError(
            f"{path.name}: its arrays would take too much memory; {name!r} of shape {shape} would take "
            f"{size / 1e9:.1f} GB. Take a sample of the rows"
        )
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def read_plain_arrays(source: Source) -> dict[str, np.ndarray]:
    """:func:`read_npz`, a damaged file refused in one sentence."""
    if source.path is None:
        raise ValueError("An .npz file cannot be read from standard input: give its name.")
    try:
        return read_npz(source.path)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as broken:
        raise ValueError(
            f"{source.name} is damaged or not an .npz file of plain arrays: {one_line(broken)}."
        ) from broken


def feature_names(arrays: dict[str, np.ndarray]) -> list[str]:
    """``feature_names`` of the file, if they fit its X; else x0, x1, …"""
    names = [str(f) for f in arrays.get("feature_names", np.zeros(0)).tolist()]
    width = arrays["X"].shape[1]
    return names if len(names) == width else [f"x{k}" for k in range(width)]


def read_arrays(source: Source, options: ReadOptions, max_rows: int):
    """X as a data frame, with a column ``y`` if there are labels."""
    arrays = read_plain_arrays(source)
    if "X" not in arrays or arrays["X"].ndim != 2:
        raise ValueError(f"{source.name} has no matrix 'X'; it has {', '.join(arrays)}.")
    source.refuse_if_long(len(arrays["X"]), 0, max_rows)
    frame = import_pandas().DataFrame(arrays["X"], columns=feature_names(arrays))
    if arrays.get("y", np.zeros(0)).shape == (len(frame),) and "y" not in frame.columns:
        frame["y"] = arrays["y"]
    return frame, [], (None, None)
