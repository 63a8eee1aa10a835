"""Files that are whole or not there, and arrays whose size is known before they are read."""

import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO

import numpy as np


@contextmanager
def written_atomically(path) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of ``path`` at the end, or leaves no trace.

    It is made beside ``path``, written out to the disk, and then renamed; whoever looks at ``path`` sees
    what was there before or all of what is new, even if the process is killed.

    Parameters
    ----------
    path : str or path

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.txt"
    ...     with written_atomically(path) as file:
    ...         _ = file.write(b"whole")
    ...     path.read_text(), len(list(path.parent.iterdir()))
    ('whole', 1)
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent}: make it first, or write elsewhere.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file.")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # mkstemp's files are for the owner alone
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def array_size(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype, int]:
    """Shape, dtype and bytes of the ``.npy`` file that starts here, from its header alone.

    Raises ``ValueError`` for what is no array, or one of Python objects (a pickle).
    """
    version = np.lib.format.read_magic(member)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(member)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(member)
    else:
        raise ValueError(f"an array in version {version} of the npy format")
    if dtype.hasobject:
        raise ValueError("an array of Python objects, which only a pickle can hold")
    return shape, dtype, prod(shape) * dtype.itemsize


def array_sizes(path) -> dict[str, tuple[tuple[int, ...], np.dtype, int]]:
    """What :func:`array_size` says of each array of an ``.npz`` file; nothing is unpacked but headers."""
    sizes = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.filename.endswith(".npy"):
                with archive.open(info) as member:
                    sizes[info.filename.removesuffix(".npy")] = array_size(member)
    return sizes
