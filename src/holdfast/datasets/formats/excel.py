"""Excel workbooks: their first sheet."""

import zipfile
from importlib.util import find_spec

from holdfast.datasets.formats.options import ReadOptions
from holdfast.datasets.formats.source import Source, import_pandas, one_line


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
