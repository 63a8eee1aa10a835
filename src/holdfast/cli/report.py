"""``holdfast report``: the pages of an audit once more, from its numbers."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli import common

_MAX_BYTES = 2**28


@common.told
def report(
    source: Annotated[Path, typer.Argument(help="The folder of an audit, or its report.json.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; by default that of report.json.")] = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Make report.html and report.md again from report.json, or print what it says.

    Examples:

        holdfast report wine-audit --out elsewhere

        holdfast report wine-audit --json
    """
    from json import loads

    from holdfast.report import write_report
    from holdfast.report.html import check_summary

    path = source / "report.json" if source.is_dir() else source
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}: give the folder of an audit, or its report.json.")
    if path.stat().st_size > _MAX_BYTES:
        raise ValueError(f"{path} is larger than any report of holdfast.")
    try:
        summary = loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as broken:
        raise ValueError(f"{path} is damaged or not a report: {broken}") from broken
    check_summary(summary)
    if json:
        common.print_json(summary)
        return
    folder = out if out is not None else path.parent
    try:
        paths = write_report(summary, folder, force)
    except FileExistsError as there:
        raise FileExistsError(f"{folder} holds a report already: choose another folder (--out), or --force.") from there
    except (KeyError, TypeError, AttributeError, IndexError) as broken:
        raise ValueError(f"{path} is damaged: it lacks part of a report ({broken}).") from broken
    console = common.console()
    console.print(summary["verdict"]["sentence"], soft_wrap=True)
    console.print(f"Report: {paths['html']}", soft_wrap=True)
