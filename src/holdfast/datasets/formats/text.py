"""CSV and other text files: encoding, separator and way of writing numbers are found from the content."""

import codecs
import csv
import gzip
import re
import warnings

from holdfast.datasets.formats.number_words import NUMBER, convert_number_words
from holdfast.datasets.formats.options import ReadOptions
from holdfast.datasets.formats.source import Source, import_pandas, one_line

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
    """The table as pandas reads it, and notes.

    Where rows have more cells than the header has names, pandas would take the first for an index, which shifts all
    columns; without an index it warns if the last cells are not empty.
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
        codecs.getincrementaldecoder("utf-8")().decode(start)  # a letter cut in two at the end is no error
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
        raise ValueError(f"{source.name}: its first line is longer than a megabyte, which is no table.")
    if len(lines[0]) > _MAX_FIELD:
        raise ValueError(
            f"{source.name}: its first line has {len(lines[0]):,} characters, which is no header of a table."
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
