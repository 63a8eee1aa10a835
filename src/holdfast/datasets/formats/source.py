"""Sources of tables: a file, or standard input, within limits on size."""

import gzip
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

MAX_BYTES = 2**29  # of a file; in memory its values may take four times as much
STDIN = "-"
_GZIP, _PARQUET, _ARROW, _ZIP = b"\x1f\x8b", b"PAR1", b"ARROW1", b"PK\x03\x04"


@dataclass(frozen=True)
class Source:
    """A file, or the bytes of standard input.

    Attributes
    ----------
    name : str
        For messages.
    suffix : str
        ``.parquet``, ``.csv``, …: in lower case, without ``.gz``.
    path : Path or None
    content : bytes or None
        Of standard input.
    compressed : bool
        By gzip.
    """

    name: str
    suffix: str
    path: Path | None = None
    content: bytes | None = None
    compressed: bool = False

    @property
    def stem(self) -> str:
        """The name without its endings."""
        return self.name.removesuffix(".gz").rsplit(".", 1)[0] or self.name

    def open(self) -> IO[bytes]:
        """The bytes, unpacked, from their beginning."""
        if self.path is None:
            raw = io.BytesIO(self.content or b"")
            return gzip.GzipFile(fileobj=raw) if self.compressed else raw  # type: ignore[return-value]
        return gzip.open(self.path) if self.compressed else open(self.path, "rb")  # type: ignore[return-value]

    def start(self, n_bytes: int) -> bytes:
        """The first bytes."""
        try:
            with self.open() as file:
                return file.read(n_bytes)
        except (EOFError, gzip.BadGzipFile) as broken:
            raise ValueError(f"{self.name} is damaged: {broken}.") from broken

    def refuse_if_large(self) -> None:
        """Refuse a file that is too large to be read."""
        size = self.path.stat().st_size if self.path is not None else len(self.content or b"")
        if size > MAX_BYTES:
            raise ValueError(
                f"{self.name} has {size / 1e9:.1f} GB; tables of up to {MAX_BYTES / 1e9:.1f} GB are read. Take a "
                "sample of its rows."
            )

    def refuse_if_long(self, rows: int, size: int, max_rows: int) -> None:
        """Refuse a table of too many rows, or one that takes too many bytes in memory."""
        if rows > max_rows:
            raise ValueError(f"{self.name} has more than {max_rows:,} rows: take a sample of them.")
        if size > 4 * MAX_BYTES:
            raise ValueError(f"{self.name} takes more than {4 * MAX_BYTES / 1e9:.1f} GB in memory: take a sample.")


def open_source(path) -> Source:
    """The source of a path; ``-`` and ``/dev/stdin`` are standard input, which is read whole."""
    if str(path) in (STDIN, "/dev/stdin"):
        return _standard_input()
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a table.")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] == ".gz"
    kept = suffixes[:-1] if packed else suffixes
    return Source(path.name, kept[-1] if kept else "", path=path, compressed=packed)


def _standard_input() -> Source:
    content = sys.stdin.buffer.read(MAX_BYTES + 1)
    packed = content.startswith(_GZIP)
    kinds = {_PARQUET: ".parquet", _ARROW: ".feather", _ZIP: ".xlsx"}
    suffix = next((suffix for sign, suffix in kinds.items() if content.startswith(sign)), ".csv")
    return Source("standard input", suffix, content=content, compressed=packed)


def one_line(error: BaseException) -> str:
    """The message of an error, short and on one line."""
    return " ".join(str(error).split()).rstrip(".")[:200]


def import_pandas():
    """pandas, or the name of the extra it comes with."""
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("Tables need pandas: pip install 'holdfast[cli]'.") from missing
    return pandas
