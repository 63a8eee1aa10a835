"""Run the frontier, and print its tables.

python -m benchmarks.frontier run --rounds 20 --folder .bench/frontier     # goes on where it was
python -m benchmarks.frontier keep --folder .bench/frontier                # finished rows into results/rows.csv
python -m benchmarks.frontier table --write                                # into results/*.csv and README.md
"""

import argparse
from pathlib import Path

import pandas as pd

from benchmarks.frontier.cell import Cell, run_cell
from benchmarks.frontier.methods import METHODS
from benchmarks.frontier.tables import RESULTS, table, write_tables
from benchmarks.yang.sets import UCI
from benchmarks.yang.store import CELLS, write

SETS = [name for name in UCI if name != "credit"]


def run(folder: Path, rounds: int, sets: list[str], methods: list[str], development: bool, first: int = 0) -> None:
    """Run the cells that have no file yet, round by round; a killed run loses one cell."""
    cells = [Cell(d, m, r, development) for r in range(first, rounds) for m in methods for d in sets]
    for cell in cells:
        path = folder / CELLS / cell.path
        if path.is_file():
            continue
        rows = run_cell(cell)
        write(path, pd.DataFrame(rows))
        shown = ", ".join(f"{row['radius']:g}: {100 * row['value']:.1f}" for row in rows)
        print(f"{cell.dataset}, {cell.method}, round {cell.round}: {shown} ({rows[0]['seconds']:.0f} s)", flush=True)


def keep(folder: Path) -> None:
    """Copy the finished rows of the table to ``results/rows.csv``."""
    files = sorted((folder / CELLS / "table").rglob("*.parquet"))
    rows = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
    write(RESULTS / "rows.csv", rows.sort_values(["dataset", "method", "round", "radius"], ignore_index=True))


def main() -> None:
    """The three commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "keep", "table"])
    parser.add_argument("--folder", type=Path, default=Path(".bench/frontier"))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first round")
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--development", action="store_true", help="other splits, for choosing defaults")
    parser.add_argument("--write", action="store_true", help="with table: into results/*.csv and README.md")
    given = parser.parse_args()
    if given.command == "run":
        run(given.folder, given.rounds, given.sets, given.methods, given.development, given.first)
    elif given.command == "keep":
        keep(given.folder)
    elif given.write:
        write_tables()
    else:
        print(table())


if __name__ == "__main__":
    main()
