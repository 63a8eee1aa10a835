"""Tidy rows: one measurement each, with versions and machine."""

import csv
import os
import platform
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).with_name("results")
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def machine() -> dict[str, str]:
    """Versions and machine, on which the numbers depend."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
    }


def write(name: str, rows: list[dict]) -> Path:
    """Write rows to results/NAME.csv, whole or not at all."""
    RESULTS.mkdir(exist_ok=True)
    rows = [{**row, **machine()} for row in rows]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    unfinished = RESULTS / f".{name}.csv"
    with unfinished.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return unfinished.replace(RESULTS / f"{name}.csv")


def table(rows: list[dict], columns: list[str]) -> str:
    """The rows as a Markdown table; numbers with three digits."""

    def cell(value) -> str:
        return f"{value:.3g}" if isinstance(value, float) else "" if value is None else str(value)

    lines = [[cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(column), *(len(line[k]) for line in lines)) for k, column in enumerate(columns)]
    return "\n".join(
        "| " + " | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) + " |"
        for line in [columns, ["-" * width for width in widths], *lines]
    )
