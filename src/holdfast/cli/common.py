"""What the commands share: how errors are told, how progress is shown, how results are printed."""

import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from holdfast.files import written_atomically

USER_ERROR, STOPPED = 1, 130

Target = Annotated[str | None, typer.Option("--target", "-t", help="Column to predict; needed for tables.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Replace results that are already there.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; by default one for each processor.", min=1)]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be given several times.")]
Categorical = Annotated[
    list[str] | None, typer.Option(help="Column of numbers that stand for categories; may be given several times.")
]
DropUnlabelled = Annotated[bool, typer.Option("--drop-unlabelled", help="Leave rows without a label out.")]


def told(command: Callable) -> Callable:
    """The command, its errors told in a sentence: exit code 1, no traceback unless HOLDFAST_DEBUG is set."""

    @wraps(command)
    def run(*args, **kwargs):
        try:
            return command(*args, **kwargs)
        except KeyboardInterrupt:
            _fail("stopped; no file was left half-written.", STOPPED)
        except BrokenPipeError:  # the reader of our output has gone
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except (ValueError, OSError, ImportError) as error:
            if os.environ.get("HOLDFAST_DEBUG"):
                raise
            _fail(_sentence(error), USER_ERROR)
        except MemoryError:
            _fail("the memory is not enough for this: take fewer rows.", USER_ERROR)
        except Exception as error:
            if isinstance(error, typer.Exit) or os.environ.get("HOLDFAST_DEBUG"):
                raise
            if type(error).__module__.startswith(("typer", "click")):  # wrong usage: typer tells, exit code 2
                raise
            kind = type(error).__name__
            _fail(f"unexpected {kind}: {error}. This is a bug in holdfast; HOLDFAST_DEBUG=1 shows where.", USER_ERROR)

    return run


def _sentence(error: BaseException) -> str:
    """The message of an error; of one of the system, with the file it is about."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__


def _fail(sentence: str, code: int) -> None:
    typer.echo(f"holdfast: {sentence}", err=True)
    raise typer.Exit(code)


@contextmanager
def shown_progress(quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """``progress(stage, done, total)`` as bars on the terminal; nothing if there is none, or if quiet."""
    console = Console(stderr=True)
    bars = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=console, transient=True, disable=quiet or not console.is_terminal,
    )  # fmt: skip
    tasks: dict = {}

    def progress(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total)
        bars.update(tasks[stage], completed=done, total=total)

    with bars:
        yield progress


def console() -> Console:
    """Where results are printed; wide enough for a table when it is not a terminal."""
    wide = None if sys.stdout.isatty() else 100
    return Console(width=wide, highlight=False, markup=False, emoji=False)


def print_json(value) -> None:
    """One JSON document on standard output; what is not finite is null."""
    typer.echo(json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=1))


def plain(value):
    """The value in JSON's own types."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


def check_file(path: Path | None, force: bool) -> None:
    """Refuse to replace a file unless asked to, and a folder that is not there; called before the work."""
    if path is None:
        return
    if path.exists() and not force:
        raise FileExistsError(f"{path} is already there: choose another name (--out), or --force.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file (--out).")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent}.")


def write_frame(frame, path: Path) -> None:
    """A data frame as CSV, or Parquet by its name; whole or not at all."""
    with written_atomically(path) as file:
        if path.suffix.lower() == ".parquet":
            frame.to_parquet(file, index=False)
        else:
            frame.to_csv(file, index=False)


def percent(share: float) -> str:
    """12.3 %."""
    return f"{100 * share:.1f} %"
