"""The program: its commands, in the order of use."""

from typing import Annotated

import typer
from typer.main import get_command

from holdfast.cli.attack import attack_command
from holdfast.cli.audit import audit_command
from holdfast.cli.certify import certify_command
from holdfast.cli.explain import explain_command
from holdfast.cli.fit import fit_command
from holdfast.cli.options import print_usage_error
from holdfast.cli.predict import predict_command
from holdfast.cli.small import bench_command, datasets_command, report_command

app = typer.Typer(
    help="Learn distances that hold: robust nearest-neighbour models, and a certificate of every prediction.",
    epilog="Start with:  holdfast audit wine.   A traceback for a bug report:  HOLDFAST_DEBUG=1 holdfast ...",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# The short descriptions are given, because derived ones are cut off after 45 characters.
app.command("audit", short_help="The whole job: check a table, train models, certify them, report.")(audit_command)
app.command("fit", short_help="Choose the model that certifies most, train it on all rows; write it to a file.")(
    fit_command
)
app.command("predict", short_help="Labels of new rows.")(predict_command)
app.command("certify", short_help="How far each row may move before its answer changes.")(certify_command)
app.command("attack", short_help="Moved rows that the model answers differently.")(attack_command)
app.command("explain", short_help="The closest rows with another answer: what would have to change.")(explain_command)
app.command("report", short_help="Make report.html and report.md again, or print report.json.")(report_command)
app.command("datasets", short_help="The data sets that have a name.")(datasets_command)
app.command(
    "bench",
    short_help="The paper's experiments, from a checkout.",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(bench_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from holdfast import __version__

        typer.echo(f"holdfast {__version__}")
        raise typer.Exit()


def run() -> int:
    """Parse the command line, run its command; the exit code."""
    try:
        return get_command(app)(prog_name="holdfast", standalone_mode=False) or 0  # app() replaces sys.excepthook
    except Exception as error:
        if not hasattr(error, "exit_code"):  # the parser's own have one; typer does not export their base
            raise
        return print_usage_error(error)


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Learn distances that hold: robust nearest-neighbour models, and a certificate of every prediction."""
