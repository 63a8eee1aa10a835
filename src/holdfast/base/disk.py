"""Files are written whole or not at all; sizes are checked before arrays are read."""

import os
import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO

import numpy as np

try:
    import fcntl
except ImportError:  # Windows, which does not delete a file that is open
    fcntl = None  # type: ignore[assignment]


@contextmanager
def written_atomically(path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside ``path`` that is flushed and renamed to it at the end: ``path`` holds the old
    content or all of the new. What a killed process left there is deleted by the next one that writes to it.

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
    if path.exists() and not path.is_file():  # renaming onto a device would replace it, /dev/null for everyone
        raise OSError(f"{path} is not a regular file: give another name, or - for standard output.")
    _delete_leftovers(path)
    handle, name = _open_part(path)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)  # mkstemp's files are for the owner alone
            if fcntl is not None:
                os.replace(name, path)  # while it is locked
        if fcntl is None:
            os.replace(name, path)  # Windows renames closed files only
    except BaseException as failed:
        Path(name).unlink(missing_ok=True)
        if isinstance(failed, OSError) and failed.strerror and failed.filename is None:
            failed.filename = str(path)  # of a full disk, which the system does not name
        raise


def _open_part(path: Path) -> tuple[int, str]:
    """Handle and name of a new temporary file, locked for as long as it is open."""
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        if fcntl is None:
            return handle, name
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            return handle, name
        if os.path.exists(name):  # else another process took it for a leftover before it was locked
            return handle, name
        os.close(handle)


def _delete_leftovers(path: Path) -> None:
    """Delete temporary files of ``path`` that no process is writing to: their locks ended with their processes."""
    pattern = re.compile(re.escape(f".{path.name}.") + r"[a-z0-9_]{8}\.part")  # as mkstemp names them
    for leftover in path.parent.iterdir():
        if not pattern.fullmatch(leftover.name) or leftover.is_symlink() or not leftover.is_file():
            continue
        try:
            with open(leftover, "rb") as file:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    leftover.unlink()
            if fcntl is None:
                leftover.unlink()
        except OSError:  # it is being written to, is gone already, or belongs to someone else
            continue


def array_size(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype, int]:
    """Shape, dtype and bytes of the ``.npy`` file that starts here, from its header alone; ``ValueError`` if it is not
    an array, or an array of Python objects (a pickle).
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
    """Shape, dtype and bytes of each array of an ``.npz`` file, from the headers alone."""
    sizes = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.filename.endswith(".npy"):
                with archive.open(info) as member:
                    sizes[info.filename.removesuffix(".npy")] = array_size(member)
    return sizes
