"""Run the frontier, and print its tables.

python -m benchmarks.frontier run --rounds 20 --folder .bench/frontier     # goes on where it was
python -m benchmarks.frontier run --rounds 1 --larger                      # the larger sets, a fixed split
python -m benchmarks.frontier run --rounds 5 --linf                        # moves in L-infinity; trees: .trees
python -m benchmarks.frontier keep --folder .bench/frontier                # finished rows into results/rows.parquet
python -m benchmarks.frontier table --write                                # into results/*.csv and README.md
"""

import argparse
from pathlib import Path

import pandas as pd

from benchmarks.frontier.cell import Cell, run_cell
from benchmarks.frontier.data import LARGER
from benchmarks.frontier.methods import METHODS, PAPER
from benchmarks.frontier.tables import RESULTS, table, write_tables
from benchmarks.yang.sets import UCI
from benchmarks.yang.store import CELLS, write

SETS = [name for name in UCI if name != "credit"]
_CELL = ["dataset", "method", "round"]
TWO_CLASSES = [name for name in SETS if name not in ("iris", "segment", "wine")]


def run(folder: Path, cells: list[Cell]) -> None:
    """Run the cells that have no file yet; a killed run loses one cell."""
    for cell in cells:
        path = folder / CELLS / cell.path
        if path.is_file():
            continue
        rows = run_cell(cell)
        write(path, pd.DataFrame(rows))
        shown = ", ".join(f"{row['radius']:g}: {100 * row['value']:.1f}" for row in rows)
        print(f"{cell.dataset}, {cell.method}, round {cell.round}: {shown} ({rows[0]['seconds']:.0f} s)", flush=True)


def keep(folder: Path) -> None:
    """Put the finished rows into ``results/rows.parquet``, those in L∞ into ``results/linf.parquet``.

    Rows that are there stay, unless their cell was run again.
    """
    for kind, name in (("table", "rows.parquet"), ("table-linf", "linf.parquet")):
        files = sorted((folder / CELLS / kind).rglob("*.parquet"))
        if files:
            parts = [pd.read_parquet(file) for file in files]
            rerun = {tuple(part[_CELL].iloc[0]) for part in parts}
            if (RESULTS / name).is_file():
                before = pd.read_parquet(RESULTS / name).astype({"cores": str})  # a number in rows that were CSV once
                parts.append(before[[tuple(cell) not in rerun for cell in before[_CELL].to_numpy()]])
            rows = pd.concat(parts, ignore_index=True)
            write(RESULTS / name, rows.sort_values([*_CELL, "radius"], kind="stable", ignore_index=True))


def main() -> None:
    """The three commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "keep", "table"])
    parser.add_argument("--folder", type=Path, default=Path(".bench/frontier"))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first round")
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--larger", action="store_true", help="the larger sets, also by the paper's methods")
    parser.add_argument("--linf", action="store_true", help="moves in L-infinity, sets of two classes")
    parser.add_argument("--development", action="store_true", help="other splits, for choosing defaults")
    parser.add_argument("--write", action="store_true", help="with table: into results/*.csv and README.md")
    given = parser.parse_args()
    if given.command == "run":
        methods = given.methods or [*METHODS, *(PAPER if given.larger else ())]
        sets = given.sets or (LARGER if given.larger else TWO_CLASSES if given.linf else SETS)
        rounds = range(given.first, given.rounds)
        run(given.folder, [Cell(d, m, r, given.development, given.linf) for r in rounds for m in methods for d in sets])
    elif given.command == "keep":
        keep(given.folder)
    elif given.write:
        write_tables()
    else:
        print(table())


if __name__ == "__main__":
    main()
