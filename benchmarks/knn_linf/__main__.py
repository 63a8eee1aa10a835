"""``python -m benchmarks.knn_linf [sets …]``: the published tables again; writes ``results/SET.csv``.

What a file has already is not measured again, so a run can be stopped at any time. ``HOLDFAST_DATA`` names the folder
that holds ``knn_linf/``.
"""

import argparse
import csv
import os
from pathlib import Path

from benchmarks.knn_linf.measure import measure
from benchmarks.knn_linf.sets import SETS, prepare
from benchmarks.speed.rows import table

RESULTS = Path(__file__).with_name("results")
COLUMNS = ["dataset", "property", "epsilon", "k", "ours", "undecided", "knave", "optcert", "ms_a_row"]


def read_rows(path: Path) -> list[dict]:
    """The rows of a file of results; none if it is not there."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: list[dict]) -> None:
    """Write rows by size of moves and number of neighbours."""
    rows = sorted(rows, key=lambda row: (float(row["epsilon"]), int(row["k"]), row["property"] != "stability"))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Measure the sets that are named, all by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.knn_linf", description=__doc__)
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}; all by default")
    parser.add_argument("--work", type=int, default=40_000, help="units of work, a row (default: 40,000)")
    parser.add_argument("--k", type=int, nargs="+", default=[1, 3, 5, 7])
    parser.add_argument(
        "--epsilon", type=float, nargs="+", help="sizes of moves; those of the published tables by default"
    )
    parser.add_argument("--again", action="store_true", help="measure also what is in the files")
    chosen = parser.parse_args()
    if unknown := set(chosen.sets) - set(SETS):
        parser.error(f"no such set: {', '.join(sorted(unknown))}")
    folder = Path(os.environ["HOLDFAST_DATA"]) / "knn_linf"
    RESULTS.mkdir(exist_ok=True)
    for name in chosen.sets or SETS:
        entry = SETS[name]
        path = RESULTS / f"{name}.csv"
        data = None
        for epsilon in chosen.epsilon or entry.epsilons:
            for k in chosen.k:
                known = read_rows(path)
                others = [row for row in known if (float(row["epsilon"]), int(row["k"])) != (epsilon, k)]
                if len(others) < len(known) and not chosen.again:
                    continue
                data = prepare(entry, folder) if data is None else data
                rows = measure(entry, data, k, epsilon, chosen.work)
                print(table(rows, COLUMNS), flush=True)
                write_rows(path, [*others, *rows])


if __name__ == "__main__":
    main()
