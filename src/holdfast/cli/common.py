"""Shared by the commands: options, error messages, progress bars, files.

Imported before every command, ``--help`` included, so nothing heavy is imported at the top.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.interrupts import INTERRUPTED, STOPPED
from holdfast.cli.terminal import Warnings, print_error

USER_ERROR = 1

Target = Annotated[str | None, typer.Option("--target", "-t", help="Column to predict; needed for tables.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing results.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; by default one for each processor.", min=1)]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be given several times.")]
Categorical = Annotated[
    list[str] | None, typer.Option(help="Column of numbers that are codes of categories; may be given several times.")
]
DropUnlabelled = Annotated[bool, typer.Option("--drop-unlabelled", help="Leave out rows without a label.")]
Seed = Annotated[int, typer.Option(help="Random seed.", min=0)]
Tune = Annotated[str, typer.Option(help="Tune by: certified (accuracy), accuracy (as in the paper), or none.")]
Neighbors = Annotated[int, typer.Option(help="Neighbours that vote.")]
Draws = Annotated[int, typer.Option(help="Candidates tried for the robust model.")]
AllowUnknown = Annotated[
    bool,
    typer.Option(
        "--allow-unknown", help="Go on if rows hold values the model was not trained on (new categories, gaps, words)."
    ),
]
Radius = Annotated[
    float, typer.Option(help="Radius to count at, in standard deviations, or in the units of --threat.", min=0)
]
ThreatFile = Annotated[
    Path | None,
    typer.Option("--threat", help="TOML or JSON file: which columns may move, how far, at what cost.", dir_okay=False),
]
Budget = Annotated[int, typer.Option(help="Nodes a row may take in the exact search.", min=0)]


def reports_errors(command: Callable) -> Callable:
    """Decorate a command: an error becomes one sentence and exit code 1; a traceback only with HOLDFAST_DEBUG."""

    @wraps(command)
    def run(*args, **kwargs):
        try:
            with warnings.catch_warnings():
                warnings.showwarning = Warnings()
                return command(*args, **kwargs)
        except KeyboardInterrupt:
            _fail(STOPPED, INTERRUPTED)
        except BrokenPipeError:  # the reader of our output has gone
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except (ValueError, OSError, ImportError) as error:
            if os.environ.get("HOLDFAST_DEBUG"):
                raise
            _fail(_sentence(error), USER_ERROR)
        except MemoryError:
            _fail("out of memory: take fewer rows.", USER_ERROR)
        except Exception as error:
            if isinstance(error, typer.Exit) or os.environ.get("HOLDFAST_DEBUG"):
                raise
            if type(error).__module__.startswith(("typer", "click")):  # wrong usage: typer reports it, exit code 2
                raise
            kind = type(error).__name__
            _fail(f"unexpected {kind}: {error}. This is a bug in holdfast; HOLDFAST_DEBUG=1 shows where.", USER_ERROR)

    return run


def _sentence(error: BaseException) -> str:
    """The message of an error; for an error of the system, with the file it is about."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__


def _fail(sentence: str, code: int) -> None:
    print_error(sentence)
    raise typer.Exit(code)


@contextmanager
def progress_bars(quiet: bool = False, certifies: bool = True) -> Iterator[Callable[[str, int, int], None]]:
    """Show ``progress(stage, done, total)`` as bars on standard error, if it is a terminal and not ``quiet``.

    If the kernels, those of certificates or else those of training, have yet to be compiled, say so: no bar moves
    meanwhile.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    shown = console.is_terminal and not quiet
    if shown and (notice := _compiling_notice(certifies)):
        console.print(notice, highlight=False)
    bars = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=console, transient=True, disable=not shown,
    )  # fmt: skip
    tasks: dict = {}

    def progress(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total)
        bars.update(tasks[stage], completed=done, total=total)

    with bars:
        yield progress


def _compiling_notice(certifies: bool) -> str | None:
    """A notice if the kernels of certificates (else those of training) have yet to be compiled."""
    from holdfast.numerics.compiling import compiling_notice

    if certifies:
        from holdfast.certificates.kernels.voting import vote_rows  # every certificate takes it

        return compiling_notice([vote_rows])
    from holdfast.geometry.kernels import pair_forms, pair_squares

    return compiling_notice([pair_forms, pair_squares])


def read_threat(path: Path, model):
    """The threat of a file on the columns of the table, for the encoded rows of a saved model; and its sentences."""
    from holdfast.audit.new_rows import split_encoder
    from holdfast.audit.tables import matrix_names
    from holdfast.certificates.threat import Threat

    threat = Threat.from_file(path)
    encoder, inner = split_encoder(model)
    names = matrix_names(model, getattr(inner, "n_features_in_", 0))
    categories = {} if encoder is None else encoder.categories_
    groups = {name: [names.index(f"{name}={value}") for value in values] for name, values in categories.items()}
    return threat.encoded(names, groups), threat.describe()


def check_file(path: Path | None, force: bool) -> None:
    """Refuse to replace a file unless ``force``, and a folder that does not exist; called before the work."""
    if path is None:
        return
    if path.exists() and not force:
        raise FileExistsError(f"{path} is already there: choose another name (--out), or --force.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file (--out).")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent}.")


def write_frame(frame, path: Path) -> None:
    """Write a data frame as Parquet if the name ends so, else as CSV; the whole file or none."""
    from holdfast.files import written_atomically

    with written_atomically(path) as file:
        if path.suffix.lower() == ".parquet":
            frame.to_parquet(file, index=False)
        else:
            frame.to_csv(file, index=False)
