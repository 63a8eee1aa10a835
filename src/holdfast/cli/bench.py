"""``holdfast bench``: the paper's experiments, from a checkout."""

import subprocess
import sys
from pathlib import Path

import typer

from holdfast.cli import common


@common.told
def bench(context: typer.Context) -> None:
    """Run the paper's experiments; needs a checkout of the project. Options go to benchmarks.yang.

    Examples:

        holdfast bench --help-bench

        holdfast bench --profile quick
    """
    checkouts = (Path.cwd(), Path(__file__).resolve().parents[3])
    checkout = next((c for c in checkouts if (c / "benchmarks" / "yang" / "__main__.py").is_file()), None)
    if checkout is None:
        raise FileNotFoundError(
            "The benchmarks are not part of the installed package: run this in a checkout of the project."
        )
    arguments = ["--help" if a == "--help-bench" else a for a in context.args]
    run = subprocess.run([sys.executable, "-m", "benchmarks.yang", *arguments], cwd=checkout, check=False)
    raise typer.Exit(min(max(run.returncode, 0), 2) if run.returncode >= 0 else 1)
