"""Tables in files: one module per format, chosen by the name of the file or, on standard input, by its first bytes."""

from holdfast.datasets.formats.arrays import read_arrays
from holdfast.datasets.formats.columnar import read_feather, read_parquet
from holdfast.datasets.formats.excel import read_excel
from holdfast.datasets.formats.options import ReadOptions as ReadOptions
from holdfast.datasets.formats.source import Source as Source
from holdfast.datasets.formats.source import open_source as open_source
from holdfast.datasets.formats.text import read_text

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
    """Read a file, or standard input for ``-``.

    Parameters
    ----------
    path : str or path
    options : ReadOptions
    max_rows : int
        A longer table is refused.

    Returns
    -------
    frame : pandas data frame
    notes : list of str
        What was found out about the file, in sentences.
    signs : tuple
        The signs of its numbers, before decimals and between thousands; None where there is none.
    """
    source = open_source(path)
    if source.suffix in _REFUSED:
        raise ValueError(f"{source.name} {_REFUSED[source.suffix]}.")
    return READERS.get(source.suffix, read_text)(source, options, max_rows)
