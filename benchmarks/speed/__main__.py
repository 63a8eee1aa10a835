"""``python -m benchmarks.speed``: every speed table, printed and stored under results/.

The comparison with another version of holdfast has a command of its own: ``python -m benchmarks.speed.versions``.
"""

import argparse
import os

from benchmarks.speed.checks import checks
from benchmarks.speed.internals import floor, growth, paper, threads
from benchmarks.speed.rows import table, write
from benchmarks.speed.solver import solver
from benchmarks.speed.training import COLUMNS, training

PARTS = ("training", "floor", "threads", "growth", "paper", "solver", "checks")


def main() -> None:
    """Measure the parts asked for."""
    parser = argparse.ArgumentParser(description="holdfast's speed, side by side with its peers'.")
    parser.add_argument("parts", nargs="*", default=PARTS, help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--slow", action="store_true", help="also the peers that take minutes on 7,000 rows")
    chosen = parser.parse_args()
    unknown = set(chosen.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    if "training" in chosen.parts:
        rows = training(sorted({1, os.cpu_count() or 1}), chosen.slow)
        write("training", rows)
        print(table(rows, COLUMNS))
    for part in (floor, threads, growth, paper, solver, checks):
        if part.__name__ in chosen.parts:
            rows = part()
            if rows:
                write(part.__name__, rows)
                print(f"\n{part.__doc__.splitlines()[0]}\n")
                print(table(rows, list(dict.fromkeys(key for row in rows for key in row))))


if __name__ == "__main__":
    main()
