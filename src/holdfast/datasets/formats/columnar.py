"""Parquet and Feather files."""

from holdfast.datasets.formats.options import ReadOptions
from holdfast.datasets.formats.source import Source, import_pandas, one_line

_CHUNK = 20_000  # rows read at a time


def read_parquet(source: Source, options: ReadOptions, max_rows: int):
    """Read a Parquet file in pieces, unless its metadata already says that it is too long."""
    pyarrow = _pyarrow("Parquet")
    source.refuse_if_large()
    try:
        with source.open() as raw, pyarrow.parquet.ParquetFile(raw) as file:
            source.refuse_if_long(file.metadata.num_rows, 0, max_rows)
            pieces, size = [], 0
            for batch in file.iter_batches(batch_size=_CHUNK):
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
