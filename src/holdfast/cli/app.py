"""The program: its commands, in the order of use."""

from typing import Annotated

import typer

from holdfast.cli.attack import attack
from holdfast.cli.audit import audit
from holdfast.cli.bench import bench
from holdfast.cli.certify import certify
from holdfast.cli.datasets import datasets
from holdfast.cli.fit import fit
from holdfast.cli.predict import predict
from holdfast.cli.report import report

app = typer.Typer(
    help="Learn distances that hold: robust nearest-neighbour models, and a certificate of every prediction.",
    epilog="Start with:  holdfast audit wine.   A traceback for a bug report:  HOLDFAST_DEBUG=1 holdfast ...",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (audit, fit, predict, certify, attack, report, datasets):
    app.command()(command)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(bench)


def _version(asked: bool) -> None:
    if asked:
        from holdfast import __version__

        typer.echo(f"holdfast {__version__}")
        raise typer.Exit()


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Learn distances that hold: robust nearest-neighbour models, and a certificate of every prediction."""
