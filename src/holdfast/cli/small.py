"""Commands of a few lines: ``report``, ``datasets``, ``bench``."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli import options as common
from holdfast.cli.options import print_json, print_line, print_table, stops_at_once

_MAX_BYTES = 2**28  # a summary is bounded, far below this


@common.reports_errors
def report_command(
    source: Annotated[Path, typer.Argument(help="The folder of an audit, or its report.json.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", parser=common.out_path, metavar="PATH", help="Folder; by default that of report.json."
        ),
    ] = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Make report.html and report.md again from report.json, or print it.

    Examples:

        holdfast report wine-audit --out elsewhere

        holdfast report wine-audit --json
    """
    with stops_at_once():
        from json import loads

        from holdfast.report import write_report
        from holdfast.report.markdown import check_summary

    path = source / "report.json" if source.is_dir() else source
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}: give the folder of an audit, or its report.json.")
    if path.stat().st_size > _MAX_BYTES:
        raise ValueError(f"{path} is larger than any report of holdfast.")
    try:
        summary = loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as broken:
        raise ValueError(f"{path} is damaged or not a report: {broken}.") from broken
    check_summary(summary)
    if json:
        print_json(summary)
        return
    folder = out if out is not None else path.parent
    try:
        paths = write_report(summary, folder, force)
    except FileExistsError as there:
        raise FileExistsError(f"{folder} holds a report already: choose another folder (--out), or --force.") from there
    print_line(str(summary["verdict"]["sentence"]))
    print_line(f"Report: {paths['html']}")


@common.reports_errors
def datasets_command(json: common.Json = False) -> None:
    """List the data sets that have a name, and where each would come from.

    Examples:

        holdfast datasets

        HOLDFAST_DATA=~/data holdfast datasets --json
    """
    with stops_at_once():
        from holdfast.datasets import CATALOGUE
        from holdfast.datasets.load import origin_of

    rows = [
        {
            "name": name,
            "rows": entry.shape[0],
            "features": entry.shape[1],
            "classes": len(entry.counts),
            "paper": entry.paper,
            "from": origin_of(name),
            "about": entry.about,
        }
        for name, entry in CATALOGUE.items()
    ]
    if json:
        print_json(rows)
        return
    headings = {
        "name": "left",
        "rows": "right",
        "features": "right",
        "classes": "right",
        "from": "left",
        "about": "left",
    }
    print_table(headings, [[f"{row[h]:,}" if h == "rows" else str(row[h]) for h in headings] for row in rows])


@common.reports_errors
def bench_command(context: typer.Context) -> None:
    """Run the paper's experiments; needs a checkout of the project.

    Arguments are passed on to `python -m benchmarks.yang`; options without an action are options of its action run.

    Examples:

        holdfast bench --help-bench

        holdfast bench --profile quick

        holdfast bench tables
    """
    # The checkout this program is from, if it is from one: a folder that happens to be the current one comes second.
    checkouts = (Path(__file__).resolve().parents[3], Path.cwd())
    checkout = next((c for c in checkouts if (c / "benchmarks" / "yang" / "__main__.py").is_file()), None)
    if checkout is None:
        raise FileNotFoundError(
            "The benchmarks are not part of the installed package: run this in a checkout of the project."
        )
    arguments = ["--help" if a == "--help-bench" else a for a in context.args]
    if not arguments:
        arguments = ["--help"]
    elif arguments[0].startswith("-") and arguments[0] != "--help":
        arguments = ["run", *arguments]
    run = subprocess.run([sys.executable, "-m", "benchmarks.yang", *arguments], cwd=checkout, check=False)
    raise typer.Exit(min(max(run.returncode, 0), 2) if run.returncode >= 0 else 1)
