"""Readers of tables: CSV, Parquet, Feather, Excel, arrays."""

import codecs
import csv
import gzip
import io
import re
import sys
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import IO

import numpy as np

from holdfast.base.disk import array_sizes
from holdfast.base.text import listed, short_name


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a file; those that are None are found from its content.

    Attributes
    ----------
    encoding : str or None
        Of a text file: "utf-8", "latin-1", "utf-16".
    decimal, thousands : str or None
        The sign before decimals, and the one between thousands.
    missing : sequence of str
        Values that stand for a missing one, such as "-999".
    columns : sequence of str or None
        The columns whose numbers are read; others, which nobody needs, are left as they are. None: all.
    drop : sequence of str
        Columns that are left as they are, too.
    """

    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    missing: Sequence[str] = ()
    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()

    def __post_init__(self):
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal must be a point or a comma; got {self.decimal!r}.")
        if self.thousands is not None and len(self.thousands) != 1:
            raise ValueError(f"thousands must be one sign; got {self.thousands!r}.")
        if self.decimal is not None and self.decimal == self.thousands:
            raise ValueError(f"decimal and thousands cannot both be {self.decimal!r}.")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except LookupError:
                raise ValueError(
                    f"There is no encoding {self.encoding!r}; try utf-8, latin-1, cp1252 or utf-16."
                ) from None


# -- where the bytes come from ----------------------------------------------------------------------

MAX_BYTES = 2**29  # of a file; in memory its values may take four times as much
STDIN = "-"
_GZIP, _PARQUET, _ARROW, _ZIP = b"\x1f\x8b", b"PAR1", b"ARROW1", b"PK\x03\x04"


@dataclass(frozen=True)
class Source:
    """A file, or the bytes of standard input."""

    name: str  # for messages
    suffix: str  # .parquet, .csv, …: in lower case, without .gz
    path: Path | None = None
    content: bytes | None = None  # of standard input
    compressed: bool = False  # by gzip

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


# -- numbers written in words -----------------------------------------------------------------------

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")  # as programs write one
USUAL = (".", ",", "'", " ")  # between thousands; the last two stand for all of their kind
_SPACES = "\u00a0\u202f\u2009 "
_QUOTES = "'\u2019"
_DECIMAL_COMMA = re.compile(
    rf"[+-]?([0-9]+|[1-9][0-9]{{0,2}}([.{_SPACES}{_QUOTES}][0-9]{{3}})+),[0-9]+([eE][+-]?[0-9]+)?"
)
_COMMA_GROUPS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_POINT_GROUPS = re.compile(r"[+-]?[1-9][0-9]{0,2}(\.[0-9]{3}){2,}")
_ONE_POINT_GROUP = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")  # may be a point before decimals, too
_SPACED = re.compile(
    rf"[+-]?[1-9][0-9]{{0,2}}([{_SPACES}{_QUOTES}])[0-9]{{3}}(\1[0-9]{{3}})*(\.[0-9]*)?([eE][+-]?[0-9]+)?"
)
_ADDRESS = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}")  # of a computer
_KINDS = (NUMBER, _DECIMAL_COMMA, _COMMA_GROUPS, _POINT_GROUPS, _SPACED)
_MOST = 0.5  # of the values; if a few are words, the encoder names their rows
_DIGITS = str.maketrans("23456789", "11111111")
_NAMES = {".": "points", ",": "commas", " ": "spaces", "'": "apostrophes"}


def parse_number(word: str, decimal: str | None = ".", thousands: str | None = None) -> float | None:
    """The number that a word is under these signs, None if it is not one. Between thousands, of exactly three digits,
    may stand ``thousands``, or, if that is None, any sign but the decimal one.
    """
    word = word.strip()
    if NUMBER.fullmatch(word) and "." not in word:
        return float(word)
    decimal = decimal or "."
    pattern, between = _pattern(decimal, thousands)
    return float(between.sub("", word).replace(decimal, ".")) if pattern.fullmatch(word) else None


@cache
def _pattern(decimal: str, thousands: str | None) -> tuple[re.Pattern, re.Pattern]:
    """What a number with these signs looks like, and its signs between thousands."""
    signs = thousands or ("." if decimal == "," else ",") + _SPACES + _QUOTES
    signs = _SPACES if signs in _SPACES else _QUOTES if signs in _QUOTES else signs
    between, point = f"[{re.escape(signs)}]", re.escape(decimal)
    grouped = rf"[1-9][0-9]{{0,2}}({between})[0-9]{{3}}(\2[0-9]{{3}})*"
    number = rf"[+-]?({grouped}|[0-9]+|(?={point}[0-9]))({point}[0-9]*)?([eE][+-]?[0-9]+)?"
    return re.compile(number), re.compile(between)


def convert_number_words(frame, text_of, separator: str, options: ReadOptions):
    """The frame with columns of words that are numbers written with other signs as numbers; notes; the signs.
    ``text_of(names)`` gives the cells as they are in the file. One decision for the file: the options, else a comma is
    decimal if other than three digits follow it anywhere, and stands between thousands if a point or second comma
    follows; both or neither: refused.
    """
    needed = [
        n for n in frame.columns if (options.columns is None or str(n) in options.columns) and n not in options.drop
    ]
    words = {name: _strings(frame[name]) for name in needed if frame[name].dtype.kind not in "biufcmM"}
    words = {name: values for name, values in words.items() if _are_numbers(values, options)}
    floats = [name for name in needed if frame[name].dtype.kind == "f"]
    decimal = options.decimal or {".": ",", ",": "."}.get(options.thousands or "") or _decimal_sign(words, separator)
    if decimal == "," and floats:  # their points were taken for decimal ones
        text = {name: _strings(column) for name, column in text_of(floats).items()}
        _refuse_points_that_may_be_either(text, words, options)
        words |= text
    converted, seen = {}, ""
    for name, values in words.items():
        signed = [v for v, _ in _examples(values) if _has_signs(v, decimal or ".", options)]
        parsed = [v for v in signed if parse_number(v, decimal, options.thousands) is not None]
        if not signed or not (parsed or any(NUMBER.fullmatch(v) for v in signed)):
            continue  # plain numbers; or other words, such as 4,2 where points stand before decimals
        converted[name] = _numbers(name, values, decimal, options)
        seen += "".join(signed)
    thousands = options.thousands
    if thousands is None:
        thousands = next((s for s in USUAL if s != (decimal or ".") and _has_sign(s, seen)), None)
    if decimal is None and (thousands is not None or any(_has_fractions(frame[name]) for name in floats)):
        decimal = "."
    if not converted:
        return frame, [], decimal, thousands
    frame = frame.copy()
    for name, numbers in converted.items():
        frame[name] = numbers
    return frame, [_note(list(converted), decimal, thousands)], decimal, thousands


def _note(names: list, decimal: str | None, thousands: str | None) -> str:
    """The signs that were taken, and how to take others."""
    signs = ["decimal commas"] if decimal == "," else []
    signs += [f"{_NAMES.get(thousands, repr(thousands))} between the thousands"] if thousands is not None else []
    other = "--decimal ." if decimal == "," else "--decimal ,"
    columns = listed(map(short_name, names))
    return f"Numbers with {' and '.join(signs) or 'decimal points'} were read as such in {columns} (else: {other})."


def _has_sign(sign: str, text: str) -> bool:
    return any(each in text for each in (_SPACES if sign == " " else _QUOTES if sign == "'" else sign))


def _examples(values: list[str | None]) -> list[tuple[str, int]]:
    """A value of each shape, and its row from 1: digits other than 0 are alike to all that is asked of it."""
    first: dict[str, tuple[str, int]] = {}
    for row, value in enumerate(values, 1):
        if value is not None:
            first.setdefault(value.translate(_DIGITS), (value, row))
    return list(first.values())


def _strings(column) -> list[str | None]:
    return [value.strip() if isinstance(value, str) else None for value in column.tolist()]


def _looks_like_a_number(value: str, options: ReadOptions) -> bool:
    """True for a number in any of the known notations."""
    if any(kind.fullmatch(value) for kind in _KINDS):
        return True
    return parse_number(value, options.decimal, options.thousands) is not None


def _are_numbers(values: list[str | None], options: ReadOptions) -> bool:
    """True if more than half of the words are numbers."""
    known = Counter(value.translate(_DIGITS) for value in values if value is not None)
    if all(_ADDRESS.fullmatch(shape) for shape in known):
        return False
    return sum(n for shape, n in known.items() if _looks_like_a_number(shape, options)) > _MOST * known.total()


def _has_signs(value: str, decimal: str, options: ReadOptions) -> bool:
    """True for a number that programs would not read as it is meant."""
    if NUMBER.fullmatch(value):
        return decimal == "," and "." in value
    return _looks_like_a_number(value, options)


def _has_fractions(column) -> bool:
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return bool((np.isfinite(values) & (values != np.round(values))).any())


def _decimal_sign(words: dict, separator: str) -> str | None:
    """The decimal sign that the cells show; None if no cell needs one."""
    cells = [(name, row, value) for name, values in words.items() for value, row in _examples(values)]
    comma = next((c for c in cells if _shows_comma(c[2])), None)
    point = next((c for c in cells if _shows_point(c[2])), None)
    if comma and point:
        raise ValueError(
            f"Column {short_name(comma[0])!r} has {comma[2]!r} in row {comma[1]}, but column {short_name(point[0])!r} "
            f"has {point[2]!r} in row {point[1]}: which sign stands before decimals? Write all numbers with the same."
        )
    if comma or point:
        return "," if comma else "."
    either = next((c for c in cells if _COMMA_GROUPS.fullmatch(c[2])), None)
    if either is None:
        return None
    if separator != ",":
        raise ValueError(
            f"Column {short_name(either[0])!r} has numbers such as {either[2]!r}: say whether the comma stands before "
            "decimals (--decimal ,) or between thousands (--thousands ,)."
        )
    return "."


def _shows_comma(value: str) -> bool:
    """4,2 and 1.234.567: the comma is the decimal sign."""
    if _ADDRESS.fullmatch(value):
        return False
    return bool(_DECIMAL_COMMA.fullmatch(value) and not _COMMA_GROUPS.fullmatch(value)) or bool(
        _POINT_GROUPS.fullmatch(value)
    )


def _shows_point(value: str) -> bool:
    """4.2, 1,234.5 and 1,234,567: the point is the decimal sign."""
    if NUMBER.fullmatch(value):
        return "." in value and not _ONE_POINT_GROUP.fullmatch(value)
    commas = _COMMA_GROUPS.fullmatch(value)
    return bool(commas and (value.count(",") > 1 or "." in value)) or bool(_SPACED.fullmatch(value) and "." in value)


def _numbers(name, values: list[str | None], decimal: str | None, options: ReadOptions) -> np.ndarray:
    """The column as floats, or, if there are words in it, as floats and words; a number with other signs is refused."""
    out: list = []
    for row, value in enumerate(values, 1):
        number = None if value is None else parse_number(value, decimal, options.thousands)
        if value is not None and number is None and _looks_like_a_number(value, options):
            groups = "signs" if options.thousands is None else _NAMES.get(options.thousands, repr(options.thousands))
            raise ValueError(
                f"Column {short_name(name)!r} has {value!r} in row {row}, but its numbers have "
                f"{_NAMES[decimal or '.']} before decimals, and {groups} between thousands, which three digits follow: "
                "correct the cell, leave the column out (--drop), or say which signs the file has (--decimal, "
                "--thousands)."
            )
        out.append(np.nan if value is None else value if number is None else number)
    words = any(isinstance(each, str) for each in out)
    return np.array(out, dtype=object if words else np.float64)


def _refuse_points_that_may_be_either(text: dict, words: dict, options: ReadOptions) -> None:
    """In a file with decimal commas, 1.234 is a number a thousand times too small, or it is not: ask."""
    if options.decimal is not None or options.thousands is not None:
        return
    if any(value is not None and "." in value for values in words.values() for value in values):
        return  # 1.234,5: points stand between thousands in this file
    for name, values in text.items():
        known = [value for value in values if value is not None and "." in value]
        if known and all(_ONE_POINT_GROUP.fullmatch(value) for value in known):
            raise ValueError(
                f"Other columns have decimal commas, but {short_name(name)!r} has numbers such as {known[0]}: if "
                "its points stand between thousands say --thousands . , otherwise write it with commas too."
            )


# -- text -------------------------------------------------------------------------------------------

_CHUNK = 20_000  # rows read at a time
_START = 2**20  # bytes read to find encoding and separator
_MAX_FIELD = 2**17  # characters of a cell; the csv module refuses longer ones
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_FALLBACK = "cp1252"  # of files from Windows that are not UTF-8; agrees with latin-1 on letters


def read_text(source: Source, options: ReadOptions, max_rows: int):
    """Read a text file in pieces, so that one that is too large is refused in time."""
    source.refuse_if_large()
    start = source.start(_START)
    encoding = options.encoding or _encoding(source, start)
    separator = _separator(source, start.decode(encoding, errors="replace"), len(start) == _START)
    try:
        frame, notes = _read(source, encoding, separator, options, max_rows)
    except UnicodeDecodeError as broken:
        if options.encoding is not None or encoding != "utf-8":
            raise ValueError(
                f"{source.name} is not in {encoding}: {one_line(broken)}. Name its encoding (--encoding latin-1)."
            ) from broken
        encoding = _FALLBACK
        frame, notes = _read(source, encoding, separator, options, max_rows)
    _refuse_without_header(source, frame)
    if options.encoding is None and encoding not in ("utf-8", "utf-8-sig"):
        notes.append(f"{source.name} is not UTF-8; it was read as {encoding} (another: --encoding).")

    def text_of(names) -> dict:
        """Columns as they are written."""
        text, _ = _read(source, encoding, separator, options, max_rows, dtype=str)
        return {name: text[name] for name in names}

    mixed = [name for name in frame.columns if frame[name].dtype.kind == "O" and _is_mixed(frame[name])]
    if mixed:  # a column of which some piece holds numbers only
        frame = frame.assign(**text_of(mixed))
    frame, more, decimal, thousands = convert_number_words(frame, text_of, separator, options)
    return frame, notes + more, (decimal, thousands)


def _read(source: Source, encoding: str, separator: str, options: ReadOptions, max_rows: int, **how) -> tuple:
    """The table as pandas reads it, and notes. Where rows have more cells than the header has names, pandas would take
    the first for an index, which shifts all columns; without an index it warns if the last cells are not empty.
    """
    pandas = import_pandas()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            return _pieces(source, encoding, separator, options, max_rows, index_col=False, **how), []
    except pandas.errors.ParserWarning:
        frame = _pieces(source, encoding, separator, options, max_rows, **how)
    names = [str(name) for name in frame.index.tolist()]
    counted = len(names) > 1 and names == [str(row) for row in range(1, len(names) + 1)]
    named = frame.index.nlevels == 1 and len({*names}) == len(names) and not any(map(NUMBER.fullmatch, names))
    if not (counted or named):
        raise ValueError(
            f"{source.name}: its rows have more cells than its header has names ({len(frame.columns)}): name every "
            "column."
        )
    said = "The header has no name for the first column, which was taken for names of rows, and left out."
    return frame.reset_index(drop=True), [said]


def _pieces(source: Source, encoding: str, separator: str, options: ReadOptions, max_rows: int, **how):
    """The table, read in pieces."""
    pandas = import_pandas()
    pieces, rows, size = [], 0, 0
    try:
        with source.open() as file, pandas.read_csv(
            file, sep=separator, chunksize=_CHUNK, na_values=["?", *options.missing], skipinitialspace=True,
            encoding=encoding, low_memory=False, **how,
        ) as reader:  # fmt: skip
            for piece in reader:
                pieces.append(piece)
                rows, size = rows + len(piece), size + int(piece.memory_usage(deep=True).sum())
                source.refuse_if_long(rows, size, max_rows)
    except pandas.errors.EmptyDataError as empty:
        raise ValueError(f"{source.name} is empty.") from empty
    except (pandas.errors.ParserError, csv.Error, EOFError, gzip.BadGzipFile) as broken:
        raise ValueError(f"{source.name} cannot be read as a table: {one_line(broken)}.") from broken
    return pandas.concat(pieces)


def _is_mixed(column) -> bool:
    """True for words in some pieces and numbers in others."""
    kinds = {type(value) for value in column.tolist() if value == value}
    return str in kinds and bool(kinds & {int, float})


def _refuse_without_header(source: Source, frame) -> None:
    """Names such as 3.2421925 are values of a first row."""
    numbers = [str(name) for name in frame.columns if re.fullmatch(r"-?\d+\.\d{2,}(e-?\d+)?", str(name))]
    if len(numbers) > 1:
        raise ValueError(
            f"{source.name} has no header: its first line holds values such as {numbers[0]}. Add a line with the names "
            "of the columns."
        )


def _encoding(source: Source, start: bytes) -> str:
    """By the byte order mark; else UTF-8 if the first bytes are, else that of Windows."""
    for mark, name in _BOMS.items():
        if start.startswith(mark):
            return name
    if b"\0" in start:
        raise ValueError(
            f"{source.name} is not a text file: a CSV, Parquet, Feather, Excel or npz file is needed (text in UTF-16 "
            "without a mark: --encoding utf-16-le)."
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)  # a letter cut in two at the end is not an error
    except UnicodeDecodeError:
        return _FALLBACK
    return "utf-8"


def _separator(source: Source, start: str, cut: bool) -> str:
    """Comma, semicolon, tab or bar: the one that cuts the first lines into equally many cells; else a comma."""
    if not start.strip("\ufeff \t\r\n"):
        raise ValueError(f"{source.name} is empty.")
    if start.lstrip("\ufeff \t\r\n")[0] in "{[" and not start.partition("\n")[0].rstrip().endswith(("]", ",")):
        raise ValueError(f"{source.name} looks like JSON, not like a table: save it as CSV or Parquet.")
    lines = start.splitlines()[:20]
    if cut and len(lines) == 1:
        raise ValueError(f"{source.name}: its first line is longer than a megabyte, which is not a table.")
    if len(lines[0]) > _MAX_FIELD:
        raise ValueError(
            f"{source.name}: its first line has {len(lines[0]):,} characters, which is not the header of a table."
        )
    lines = [line for line in lines if len(line) <= _MAX_FIELD]
    best, columns = ",", 1
    for separator in ",;\t|":
        rows = csv.reader(lines[: max(1, len(lines) - 1)], delimiter=separator)
        header, *widths = [len(row) for row in rows if row]
        wide = max(widths, default=header)
        if {*widths} <= {wide} and header in (wide, wide - 1) and header > columns:  # a row may end with a separator
            best, columns = separator, header
    return best


# -- Parquet, Feather and Excel ---------------------------------------------------------------------

_ROWS_AT_ONCE = 20_000  # rows read at a time


def read_parquet(source: Source, options: ReadOptions, max_rows: int):
    """Read a Parquet file in pieces, unless its metadata already says that it is too long."""
    pyarrow = _pyarrow("Parquet")
    source.refuse_if_large()
    try:
        with source.open() as raw, pyarrow.parquet.ParquetFile(raw) as file:
            source.refuse_if_long(file.metadata.num_rows, 0, max_rows)
            pieces, size = [], 0
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
                pieces.append(batch)
                size += batch.nbytes
                source.refuse_if_long(0, size, max_rows)
            frame = pyarrow.Table.from_batches(pieces, schema=file.schema_arrow).to_pandas()
    except (pyarrow.ArrowException, OSError) as broken:
        raise ValueError(f"{source.name} is damaged or not a Parquet file: {one_line(broken)}.") from broken
    return frame, [], (None, None)


def read_feather(source: Source, options: ReadOptions, max_rows: int):
    """Read a Feather (Arrow) file, batch by batch."""
    pyarrow = _pyarrow("Feather")
    source.refuse_if_large()
    try:
        with source.open() as raw, pyarrow.ipc.open_file(raw) as file:
            pieces, rows, size = [], 0, 0
            for k in range(file.num_record_batches):
                batch = file.get_batch(k)
                pieces.append(batch)
                rows, size = rows + batch.num_rows, size + batch.nbytes
                source.refuse_if_long(rows, size, max_rows)
            frame = pyarrow.Table.from_batches(pieces, schema=file.schema).to_pandas()
    except (pyarrow.ArrowException, OSError) as broken:
        raise ValueError(f"{source.name} is damaged or not a Feather file: {one_line(broken)}.") from broken
    return frame, [], (None, None)


def _pyarrow(kind: str):
    import_pandas()
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as missing:
        raise ImportError(f"{kind} files need pyarrow: pip install 'holdfast[cli]'.") from missing
    return pyarrow


def read_excel(source: Source, options: ReadOptions, max_rows: int):
    """Read the first sheet of a workbook; its first row holds the names of the columns."""
    pandas = import_pandas()
    if find_spec("openpyxl") is None:
        raise ImportError(
            f"{source.name} is an Excel file: save it as CSV, or install what reads it: pip install 'holdfast[excel]'."
        )
    source.refuse_if_large()
    try:
        with source.open() as file:
            frame = pandas.read_excel(file, na_values=["?", *options.missing], nrows=max_rows + 1)
    except (ValueError, OSError, KeyError, zipfile.BadZipFile) as broken:
        raise ValueError(f"{source.name} is damaged or not an Excel file: {one_line(broken)}.") from broken
    source.refuse_if_long(len(frame), 0, max_rows)
    return frame, ["The first sheet of the workbook was read."], (None, None)


# -- arrays -----------------------------------------------------------------------------------------

_MOST_PACKED = 100  # a larger file may not take more than so many times its size in memory


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of an ``.npz`` file after a check of their sizes; pickles in it are refused."""
    Source(path.name, ".npz", path=path).refuse_if_large()
    sizes = {name: (shape, prod(shape) * max(8, kind.itemsize)) for name, (shape, kind, _) in array_sizes(path).items()}
    allowed = min(4 * MAX_BYTES, max(MAX_BYTES // 2, _MOST_PACKED * path.stat().st_size))
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


# -- any file ---------------------------------------------------------------------------------------

#: ending of the name -> reader; any other file is taken for text.
READERS = {".parquet": read_parquet, ".feather": read_feather, ".xlsx": read_excel, ".npz": read_arrays}

#: endings by which a word is known to be a file; see :func:`holdfast.datasets.open_data`.
SUFFIXES = (".csv", ".tsv", ".txt", ".gz", *READERS)

_REFUSED = {
    ".zip": "is a zip archive: unpack it, and give the table in it",
    ".pkl": "is a pickle, which could run code when it is read: save the table as CSV or Parquet",
    ".pickle": "is a pickle, which could run code when it is read: save the table as CSV or Parquet",
    ".json": "is JSON: save the table as CSV or Parquet",
    ".jsonl": "is JSON: save the table as CSV or Parquet",
    ".xls": "is in Excel's old format: save it as CSV or .xlsx",
}


def read_any(path, options: ReadOptions, max_rows: int):
    """Read a file, or standard input for ``-``: the frame, sentences on what was found out about the file, and the
    signs of its numbers (decimal, thousands; None where there is none). A table of more than ``max_rows`` is refused.
    """
    source = open_source(path)
    if source.suffix in _REFUSED:
        raise ValueError(f"{source.name} {_REFUSED[source.suffix]}.")
    return READERS.get(source.suffix, read_text)(source, options, max_rows)
