"""What commands share: options, the terminal, interrupts."""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated

import typer

INTERRUPTED = 130
STOPPED = "stopped; no file was left half-written."


@contextmanager
def stops_at_once() -> Iterator[None]:
    """Within it Ctrl-C ends the program on the spot, with one line and exit code 130.

    Imports take seconds, and an exception in the middle of one comes out as a traceback, or is swallowed by the module.
    For imports only: nothing is cleaned up.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # ignored, as in the background, or somebody else's
        yield
        return
    signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def remembered() -> Iterator[Callable[[], None]]:
    """Yield a function that raises ``KeyboardInterrupt`` if Ctrl-C was pressed within the block and had no effect.

    The exception of a Ctrl-C is lost where Python code is called back from C, as while the compiler works. So long work
    calls the function now and then; that it was lost is not printed.
    """
    pressed: list[int] = []
    print_lost = sys.unraisablehook

    def print_other_losses(lost) -> None:
        if lost.exc_type is not KeyboardInterrupt:
            print_lost(lost)

    def note(number: int, frame) -> None:
        pressed.append(number)
        raise KeyboardInterrupt

    def raise_if_pressed() -> None:
        if pressed and threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not main or before is not signal.default_int_handler:
        yield raise_if_pressed
        return
    signal.signal(signal.SIGINT, note)
    sys.unraisablehook = print_other_losses
    try:
        yield raise_if_pressed
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = print_lost


def _stop(number: int, frame) -> None:
    os.write(2, f"holdfast: {STOPPED}\n".encode())
    os._exit(INTERRUPTED)


def print_line(text: str) -> None:
    """Print one line on standard output."""
    from holdfast.base.text import printable

    typer.echo(printable(text))


def print_lines(lines: list) -> None:
    """Print each as one line on standard output."""
    from holdfast.base.text import printable

    typer.echo("\n".join(map(printable, lines)))


def print_error(sentence: str) -> None:
    """Print one line on standard error, after the name of the program."""
    from holdfast.base.text import printable

    typer.echo(f"holdfast: {printable(' '.join(sentence.split()))}", err=True)


def print_notes(notes: list[str], err: bool = False) -> None:
    """Print remarks, on standard error if standard output holds a result for other programs."""
    for note in notes:
        if err:
            print_error(f"note: {note}")
        else:
            print_line(f"Note: {note}")


def print_table(headings: dict[str, str], rows: list) -> None:
    """Print rows of text under headings; each heading is given with its alignment, "left" or "right"."""
    from rich.console import Console
    from rich.table import Table

    from holdfast.base.text import printable

    table = Table(box=None, pad_edge=False)
    for heading, alignment in headings.items():
        table.add_column(printable(heading), justify=alignment)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*map(printable, row))
    wide = None if sys.stdout.isatty() else 100  # wide enough for a table when it is not a terminal
    Console(width=wide, highlight=False, markup=False, emoji=False).print(table)


def print_json(value) -> None:
    """Print one JSON document; numbers that are not finite become null."""
    from holdfast.base.text import json_text

    typer.echo(json_text(value))


class Warnings:
    """Collects warnings, and prints them as one line at the end; used as ``warnings.showwarning``."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def __call__(self, message, category, filename, lineno, file=None, line=None) -> None:
        """Remember a warning."""
        text = " ".join(str(message).split())
        self._counts[text] = self._counts.get(text, 0) + 1

    def print_note(self) -> None:
        """Print the first warning, and how many more there were."""
        if not self._counts:
            return
        first, *others = self._counts
        total = sum(self._counts.values())
        more = (
            f" ({total - 1} more warning{'s' if total > 2 else ''}, {len(others) + 1} different)" if total > 1 else ""
        )
        print_error(f"note: {first}{more}")


def print_usage_error(error) -> int:
    """Print how a command was called wrongly, as the parser says it; its exit code."""
    from holdfast.base.text import printable

    error.message = printable(error.message, keep="\n")
    error.show()
    return error.exit_code


USER_ERROR = 1
STANDARD_STREAM = "-"  # input or output

Target = Annotated[str | None, typer.Option("--target", "-t", help="Column to predict; needed for tables.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing results.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; by default one for each processor.", min=1)]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be given several times.")
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column of numbers that are codes of categories; may be given several times."),
]
Dates = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column of dates, read as days since 1970; may be given several times."),
]
Id = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN", help="Column that identifies the rows; not used as a feature.")
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUE", help="Value that stands for a missing one, as in --missing=-999; may be given several times."
    ),
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of a text file; detected if not given.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal sign, . or ,; detected if not given.")]
Thousands = Annotated[str | None, typer.Option(help="Thousands separator; detected if not given.")]
DropSmall = Annotated[bool, typer.Option("--drop-small", help="Leave out classes with too few rows.")]
MergeSmall = Annotated[bool, typer.Option("--merge-small", help="Merge classes with too few rows into one.")]
DropDuplicates = Annotated[bool, typer.Option("--drop-duplicates", help="Leave out rows that repeat an earlier one.")]
DropUnlabelled = Annotated[bool, typer.Option("--drop-unlabelled", help="Leave out rows without a label.")]
Seed = Annotated[int, typer.Option(help="Random seed.", min=0)]
Tune = Annotated[
    str,
    typer.Option(
        help="Choose models by certified accuracy with accuracy (certified), or by accuracy alone; none: fixed values."
    ),
]
Neighbors = Annotated[int, typer.Option(help="Neighbours that vote, in plain k-NN and LMNN.")]
ClassWeight = Annotated[
    str,
    typer.Option(
        help="When choosing a model, every class counts alike (balanced), or every row (none); auto: balanced if a "
        "class is rare."
    ),
]
Draws = Annotated[int, typer.Option(help="Random settings tried for each family of models.")]
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
Budget = Annotated[
    int, typer.Option(help="Work a row may take in searches, in microseconds or so; more decides more rows.", min=0)
]


def reports_errors(command: Callable) -> Callable:
    """Decorate a command: an error becomes one sentence and exit code 1; a traceback only with HOLDFAST_DEBUG."""

    @wraps(command)
    def run(*args, **kwargs):
        _open_streams()
        try:
            with warnings.catch_warnings():
                gathered = Warnings()
                warnings.showwarning = gathered
                try:
                    result = command(*args, **kwargs)
                finally:
                    gathered.print_note()
            sys.stdout.flush()  # here, so that a reader that has gone is noticed
            return result
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


def _open_streams() -> None:
    """A closed stream swallows what is written; a letter that a terminal lacks is written by its number."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _sentence(error: BaseException) -> str:
    """The message of an error; for an error of the system, with the file it is about."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__


def _fail(sentence: str, code: int) -> None:
    print_error(sentence)
    raise typer.Exit(code)


def none_or_value(value: str) -> str | None:
    """An option's value; None for the word "none"."""
    return None if value == "none" else value


def read_threat(path: Path, model):
    """The threat of a file on the columns of the table, for the encoded rows of a saved model; and its sentences."""
    from holdfast.auditing.allowed_moves import category_groups
    from holdfast.auditing.encoded_threat import encoded_threat
    from holdfast.auditing.prepare import matrix_names
    from holdfast.auditing.rows import split_encoder, takes_words
    from holdfast.certificates.threat import Threat

    threat = Threat.from_file(path)
    encoder, inner = split_encoder(model)
    if takes_words(inner):  # it reads a threat on its own columns
        return threat, threat.describe()
    names = matrix_names(model, getattr(inner, "n_features_in_", 0))
    return encoded_threat(threat, names, {} if encoder is None else category_groups(encoder)), threat.describe()


def out_path(text: str) -> Path:
    """The value of ``--out``; an empty one, as of a variable that is not set, is no name."""
    if not text.strip():
        raise typer.BadParameter("the name is empty.")
    return Path(text)


def refuse_dead_link(path: Path) -> None:
    """Refuse a link to something that is not there."""
    if path.is_symlink() and not path.exists():
        raise FileNotFoundError(f"{path} is a link to {os.readlink(path)}, which is not there: name another (--out).")


def check_file(path: Path | None, force: bool) -> None:
    """Refuse to replace a file unless ``force``, and a folder that does not exist; called before the work."""
    if path is None or is_stream(path):
        return
    refuse_dead_link(path)
    if path.exists() and not force:
        raise FileExistsError(f"{path} is already there: choose another name (--out), or --force.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file (--out).")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent}.")


def is_stream(path: Path | None) -> bool:
    """True for ``-``, standard output."""
    return path is not None and str(path) == STANDARD_STREAM


def number_rows(frame, table, id: str | None = None):
    """The frame with the number of each row in the user's table, from 1, and its name, if it has one, in front.

    Parameters
    ----------
    frame : data frame
        One row for each row of the table.
    table : data frame
        As it was read.
    id : str, optional
        Column of the table that names the rows.
    """
    from holdfast.datasets.tables import row_names

    frame, names = frame.reset_index(drop=True), row_names(table, id)
    frame.insert(0, "row", range(1, len(frame) + 1), allow_duplicates=True)
    if names is not None:
        frame.insert(1, "id", names, allow_duplicates=True)
    return frame


def row_labels(frame) -> list[str]:
    """The rows of :func:`number_rows` as they are printed: ``7``, or with a name ``7 (Bern)``."""
    numbers = [str(row) for row in range(1, len(frame) + 1)]
    if frame.columns[1] != "id":
        return numbers
    return [f"{row} ({name})" for row, name in zip(numbers, frame.iloc[:, 1], strict=True)]


def write_frame(frame, path: Path) -> None:
    """Write a data frame as Parquet if the name ends so, else as CSV, to standard output for ``-``; all or nothing.

    In CSV a word that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    from holdfast.base.disk import written_atomically

    if is_stream(path):
        sys.stdout.flush()
        sys.stdout.buffer.write(_without_formulas(frame).to_csv(index=False).encode())
        return
    with written_atomically(path) as file:
        if path.suffix.lower() == ".parquet":
            frame.to_parquet(file, index=False)
        else:
            _without_formulas(frame).to_csv(file, index=False)


def _without_formulas(frame):
    """The frame with ``'`` before words, and names of columns, that begin as formulas do; numbers stay."""
    from holdfast.datasets.formats import NUMBER

    def harmless(cell):
        risky = isinstance(cell, str) and cell.lstrip(" ")[:1] in tuple("=+-@\t\r") and cell.strip()
        return f"'{cell}" if risky and not NUMBER.fullmatch(cell.strip()) else cell

    frame = frame.copy()
    for k in range(frame.shape[1]):
        if frame.dtypes.iloc[k].kind == "O":
            frame.isetitem(k, frame.iloc[:, k].map(harmless))
    return frame.set_axis([harmless(name) for name in frame.columns], axis=1)
