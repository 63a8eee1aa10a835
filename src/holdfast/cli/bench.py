"""``holdfast bench``: the paper's experiments, from a checkout."""

import subprocess
import sys
from pathlib import Path

import typer

from holdfast.cli import common


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
