"""``python -m benchmarks.yang``: run the paper's experiments, and show ours beside theirs."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.yang.methods import METHODS
from benchmarks.yang.protocol import PREPROCESSING
from benchmarks.yang.runner import PROFILES, cells, run
from benchmarks.yang.sets import SETS, raw
from benchmarks.yang.store import RESULTS, collect, load, write


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns 1 if something failed."""
    chosen = _parser().parse_args(arguments)
    return chosen.action(chosen)


def _run(chosen) -> int:
    profile = PROFILES[chosen.profile]
    given = {name: getattr(chosen, name) for name in ("sets", "methods", "rounds", "draws", "folds")}
    profile = replace(profile, **{name: value for name, value in given.items() if value is not None})
    profile = replace(profile, sets=[name for name in profile.sets if _is_available(name, chosen.data_dir)])
    todo = cells(profile, chosen.preprocessing)
    if not todo:
        print("nothing to run", file=sys.stderr)
        return 1
    try:
        failed = run(
            todo, chosen.out, jobs=chosen.jobs, dask=chosen.dask, data_dir=chosen.data_dir,
            say=lambda line: print(line, flush=True),
        )  # fmt: skip
    except KeyboardInterrupt:
        print("\ninterrupted: the same command continues where it stopped", flush=True)
        return 1
    if chosen.tables:
        _tables(chosen)
    if failed:
        print(f"{len(failed)} of {len(todo)} cells failed", file=sys.stderr)
    return 1 if failed else 0


def _is_available(name: str, data_dir: str | None) -> bool:
    """True if a data set can be loaded; prints the reason if not."""
    try:
        raw(name, data_dir)
    except (FileNotFoundError, ConnectionError) as problem:
        print(f"left out: {problem}", flush=True)
        return False
    return True


def _tables(chosen) -> int:
    from benchmarks.yang.figures import draw
    from benchmarks.yang.tables import make

    rows = load(chosen.out)
    if rows.empty:
        print(f"there are no rows in {chosen.out}: run first", file=sys.stderr)
        return 1
    print(make(rows, chosen.out))
    draw(rows, chosen.out)
    return 0


def _keep(chosen) -> int:
    rows = load(chosen.out)
    write(chosen.out / "rows.parquet", rows)
    print(f"{len(rows)} rows of {len(collect(chosen.out))} in cells kept in {chosen.out / 'rows.parquet'}")
    return 0


def _study(chosen) -> int:
    from benchmarks.yang.studies import STUDIES

    for name in chosen.names or STUDIES:
        print(f"{name} …", flush=True)
        write(chosen.out / f"{name}.csv", STUDIES[name](chosen.data_dir, chosen.out))
    return 0


def _readme(chosen) -> int:
    from benchmarks.yang.readme import refresh

    refresh(chosen.out)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.yang", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    def action(name: str, function, text: str) -> argparse.ArgumentParser:
        sub = actions.add_parser(name, help=text, description=text)
        sub.add_argument("--out", type=Path, default=RESULTS, help="folder of results (%(default)s)")
        sub.set_defaults(action=function)
        return sub

    sub = action("run", _run, "run the cells that have no file yet; an interrupted run continues where it stopped")
    sub.add_argument("--profile", choices=PROFILES, default="quick", help="how much to run (%(default)s)")
    sub.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", help=f"of {', '.join(SETS)}")
    sub.add_argument("--methods", nargs="+", choices=METHODS, metavar="METHOD", help=f"of {', '.join(METHODS)}")
    for name, text in (("rounds", "splits of each data set"), ("draws", "candidates"), ("folds", "of tuning")):
        sub.add_argument(f"--{name}", type=int, help=f"{text} (by the profile)")
    sub.add_argument("--preprocessing", choices=PREPROCESSING, default="paper")
    sub.add_argument("--jobs", type=int, default=1, help="processes, each on one thread (%(default)s)")
    sub.add_argument("--dask", metavar="ADDRESS", help="run on the workers of this dask.distributed scheduler")
    sub.add_argument("--data-dir", help="folder of the data (what HOLDFAST_DATA names)")
    sub.add_argument("--tables", action="store_true", help="make tables and figures at the end")
    action("tables", _tables, "tables and figures of the rows found")
    action("keep", _keep, "gather the rows of all cells in rows.parquet")
    sub = action("study", _study, "the experiments outside the grid: toy examples, sensitivity, convergence, bound")
    sub.add_argument("names", nargs="*")
    sub.add_argument("--data-dir", help="folder of the data (what HOLDFAST_DATA names)")
    action("readme", _readme, "write the results section of README.md from the rows found")
    return parser


if __name__ == "__main__":
    sys.exit(main())
