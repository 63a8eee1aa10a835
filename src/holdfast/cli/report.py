"""``holdfast report``: render a report again from its ``report.json``."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli import common
from holdfast.cli.interrupts import stops_at_once
from holdfast.cli.terminal import print_json, print_line

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
        from holdfast.report.summary_format import check_summary

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
