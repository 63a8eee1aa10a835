"""A model file as a zip of parts with a digest."""

import hashlib
import io
import json
import os
import platform
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from reprlib import repr as short

from holdfast.base.disk import array_size


def versions() -> dict[str, str]:
    """Versions of Python, of this package and of those that results depend on."""
    numbers = {"python": platform.python_version()}
    for name in ("holdfast", "numpy", "scipy", "scikit-learn", "numba", "skops"):
        try:
            numbers[name] = version(name)
        except PackageNotFoundError:
            continue
    return numbers


FORMAT = 1
HEADER, SCHEMA = "holdfast.json", "schema.json"
MAX_BYTES = 2**32  # of a model file: more reference rows than k-NN could vote with
MAX_JSON_BYTES = 2**24  # of header and schema each: names of 100,000 columns; as Python objects some 25 times as much
_KINDS = "biufUSmM"  # of arrays: numbers, words, times; no Python objects, no records
_MAX_MESSAGE = 600  # characters; names in a file may be of any length


class ModelFileError(ValueError):
    """A model file cannot be trusted, or not be read.

    Parameters
    ----------
    message : str
        May quote the file: what is not printable in it, such as an escape sequence, is replaced.
    """

    def __init__(self, message: str):
        shown = "".join(c if c.isprintable() else "?" for c in " ".join(message.split()))
        super().__init__(shown if len(shown) <= _MAX_MESSAGE else shown[:_MAX_MESSAGE] + " ...")


def read_file(path: Path) -> bytes:
    """The bytes of a regular file; folders, pipes, devices and files larger than any model are not read."""
    if not path.exists():
        raise FileNotFoundError(f"There is no model file {path}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; the model is a file in it.")
    if not path.is_file():
        raise ModelFileError(f"{path.name} is not a regular file but a pipe or a device: copy the model to a file.")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_BYTES:
            raise ModelFileError(f"{path.name} has {size / 1e9:.1f} GB, which no model file of holdfast has.")
        return file.read(size)  # no more, should it grow meanwhile


def open_archive(name: str, content: bytes) -> zipfile.ZipFile:
    """The archive, if its members are those of a model file, stored, and together no larger than the file."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise ModelFileError(
            f"{name} is not a model file of holdfast, or it was cut short. (Pickles are never loaded.)"
        )
    file = zipfile.ZipFile(io.BytesIO(content))
    members = file.infolist()
    if any(m.compress_type != zipfile.ZIP_STORED or m.file_size != m.compress_size for m in members):
        raise ModelFileError(f"{name} is compressed, as no model file of holdfast is: it was not opened.")
    if sum(m.file_size for m in members) > len(content) or len({m.filename for m in members}) < len(members):
        raise ModelFileError(f"{name} has parts that overlap: it was not opened.")
    if any(m.filename in (HEADER, SCHEMA) and m.file_size > MAX_JSON_BYTES for m in members):
        raise ModelFileError(f"{name} has a description larger than any model's: it was not opened.")
    if HEADER not in file.namelist() or SCHEMA not in file.namelist():
        raise ModelFileError(
            f"{name} is an archive, but not a model file that holdfast.save wrote: it has no {HEADER}."
        )
    strange = [m.filename for m in members if m.filename not in (HEADER, SCHEMA) and not m.filename.endswith(".npy")]
    if strange:
        raise ModelFileError(
            f"{name} contains {strange[0]!r}, which no model file of holdfast does: it was not opened."
        )
    return file


def read_header(name: str, file: zipfile.ZipFile) -> dict:
    """The content of ``holdfast.json``, if this version can read the file's format."""
    header = json.loads(file.read(HEADER))
    number = header.get("format") if isinstance(header, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ModelFileError(f"{name} is damaged: it does not say which format it has.")
    if number > FORMAT:
        versions = header.get("versions")
        maker = versions.get("holdfast") if isinstance(versions, dict) else None
        raise ModelFileError(
            f"{name} has format {number}, this version of holdfast reads up to {FORMAT}: install holdfast "
            f"{maker if isinstance(maker, str) else 'of a later version'} or later."
        )
    return header


def digest(file: zipfile.ZipFile) -> str:
    """SHA-256 over names and bytes of all members but the header."""
    sha = hashlib.sha256()
    for name in sorted(set(file.namelist()) - {HEADER}):
        content = file.read(name)
        sha.update(f"{name}\0{len(content)}\0".encode())
        sha.update(content)
    return sha.hexdigest()


def check_arrays(name: str, file: zipfile.ZipFile, arrays: set[str]) -> None:
    """Refuse an array that claims to be larger, or longer, than what is stored, and one that is not of plain values."""
    for array in sorted(arrays):
        stored = file.getinfo(array).file_size
        with file.open(array) as member:
            shape, dtype, size = array_size(member)
        if size > stored or any(not 0 <= n <= stored for n in shape):
            raise ModelFileError(f"{name} is damaged: an array in it claims {size / 1e6:.0f} MB, shape {short(shape)}.")
        if dtype.kind not in _KINDS:
            raise ModelFileError(f"{name} is damaged: an array in it has the type {dtype}.")


def with_schema(file: zipfile.ZipFile, schema) -> bytes:
    """The archive with another schema, stored."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as copy:
        for name in file.namelist():
            copy.writestr(name, json.dumps(schema) if name == SCHEMA else file.read(name))
    return content.getvalue()


def import_skops():
    """The module ``skops.io``, or an error that names the extra."""
    try:
        import skops.io
    except ImportError as missing:
        raise ImportError("Model files need skops: pip install 'holdfast[cli]'.") from missing
    return skops.io
