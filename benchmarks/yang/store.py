"""Rows on disk: one small file per cell during a run, one file for all rows afterwards."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

RESULTS = Path(__file__).with_name("results")
PUBLISHED = Path(__file__).with_name("published")
CELLS = "cells"


def write(path: Path, frame: pd.DataFrame) -> None:
    """Write a table as Parquet (or CSV, by its name), whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(prefix=".unfinished-", dir=path.parent)
    os.close(handle)
    try:
        if path.suffix == ".csv":
            frame.to_csv(unfinished, index=False)
        else:
            frame.to_parquet(unfinished, index=False)
        os.replace(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise


def collect(folder: Path) -> pd.DataFrame:
    """All rows of the cells below a folder."""
    files = sorted((folder / CELLS).rglob("*.parquet"))
    return together(pd.read_parquet(file) for file in files)


def together(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """One table, in the order of data sets, methods, rounds."""
    frames = list(frames)
    if not frames:
        return pd.DataFrame()
    keys = ["dataset", "method", "preprocessing", "draws", "round"]
    return pd.concat(frames, ignore_index=True).sort_values(keys, kind="stable", ignore_index=True)


def load(folder: Path) -> pd.DataFrame:
    """All rows of a folder: those of rows.parquet, if it has one, and those of newer cells."""
    kept = folder / "rows.parquet"
    frames = [collect(folder)]
    if kept.is_file():
        frames.append(pd.read_parquet(kept))
    rows = together(frame for frame in frames if len(frame))
    keys = ["dataset", "method", "round", "draws", "preprocessing", "condition", "score"]
    return rows.drop_duplicates(keys, ignore_index=True) if len(rows) else rows


def published(name: str) -> pd.DataFrame:
    """A table of printed numbers."""
    return pd.read_csv(PUBLISHED / f"{name}.csv")
