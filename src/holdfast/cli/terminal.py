"""Everything that is printed: no text of the user's reaches a terminal unless it is printable.

Names of columns, labels and files may hold escape sequences, which a terminal would obey; see
:func:`holdfast.numerics.formatting.printable`. Imported before every command, so nothing heavy is imported at the top.
"""

import sys

import typer


def print_line(text: str) -> None:
    """Print one line on standard output."""
    from holdfast.numerics.formatting import printable

    typer.echo(printable(text))


def print_lines(lines: list) -> None:
    """Print each as one line on standard output."""
    from holdfast.numerics.formatting import printable

    typer.echo("\n".join(map(printable, lines)))


def print_error(sentence: str) -> None:
    """Print one line on standard error, after the name of the program."""
    from holdfast.numerics.formatting import printable

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

    from holdfast.numerics.formatting import printable

    table = Table(box=None, pad_edge=False)
    for heading, alignment in headings.items():
        table.add_column(printable(heading), justify=alignment)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*map(printable, row))
    wide = None if sys.stdout.isatty() else 100  # wide enough for a table when it is not a terminal
    Console(width=wide, highlight=False, markup=False, emoji=False).print(table)


def print_json(value) -> None:
    """Print one JSON document; numbers that are not finite become null."""
    from holdfast.numerics.formatting import json_text

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
    from holdfast.numerics.formatting import printable

    error.message = printable(error.message, keep="\n")
    error.show()
    return error.exit_code
