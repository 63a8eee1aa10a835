"""``{measured} benchmarks/…/table.csv``: a table of measurements, read from its file when the site is built.

So that no number is copied by hand. Options: ``columns``, a list such as ``learner, seconds=seconds a fit``
(name in the file = title on the page; all columns by default), ``where``, such as ``problem=digits, threads!=1``,
and ``digits``, the number of significant digits (3).
"""

import csv
import io
import math
from pathlib import Path

from docutils.parsers.rst import directives
from docutils.parsers.rst.directives.tables import CSVTable

ROOT = Path(__file__).resolve().parents[2]


def pairs(text: str) -> dict[str, str]:
    """``a=b, c`` as ``{"a": "b", "c": "c"}``."""
    split = [part.partition("=") for part in text.split(",")]
    return {name.strip(): (value if sign else name).strip() for name, sign, value in split}


def chosen(rows: list[dict[str, str]], columns: dict[str, str], where: dict[str, str]) -> list[dict[str, str]]:
    """The rows and columns asked for; what the file does not have is an error that names it."""
    missing = sorted({*columns, *(name.removesuffix("!") for name in where)} - rows[0].keys())
    if missing:
        raise ValueError(f"no column {', '.join(missing)}; there are {', '.join(rows[0])}")
    kept = [row for row in rows if all(_fits(row, name, value) for name, value in where.items())]
    if not kept:
        raise ValueError(f"no row where {where}")
    return [{title: row[name] for name, title in columns.items()} for row in kept]


def _fits(row: dict[str, str], name: str, value: str) -> bool:
    """Whether ``name=value`` holds, or for a name that ends in ! does not."""
    return (row[name.removesuffix("!")] == value) != name.endswith("!")


def readable(cell: str, digits: int) -> str:
    """A number with so many significant digits, thousands apart; anything else as it is."""
    try:
        number = float(cell)
    except ValueError:
        return cell
    if not math.isfinite(number):
        return cell
    if cell.lstrip("-").isdigit():
        return f"{int(number):,}"
    rounded = float(f"{number:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10 ** (digits - 1) else f"{rounded:.{digits}g}"


class Measured(CSVTable):
    """The directive: a ``csv-table`` whose lines are chosen and rounded."""

    required_arguments = 1
    has_content = False
    option_spec = {  # noqa: RUF012 - as docutils has it
        "columns": directives.unchanged,
        "where": directives.unchanged,
        "digits": directives.positive_int,
        "title": directives.unchanged,
        "widths": directives.unchanged,
        "header-rows": directives.nonnegative_int,
        "class": directives.class_option,
    }

    def run(self):
        """The table, under the title that was given."""
        self.path = ROOT / self.arguments[0]
        title = self.options.pop("title", None)
        self.options["header-rows"] = 1
        self.options["class"] = ["measured"]
        self.arguments = [title] if title else []
        return super().run()

    def get_csv_data(self):
        """The lines of the file, chosen and rounded."""
        self.state.document.settings.env.note_dependency(str(self.path))
        if not self.path.is_file():
            raise self.error(f"There is no file {self.path.relative_to(ROOT)}: run the benchmark that writes it.")
        with self.path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        columns = pairs(self.options["columns"]) if self.options.get("columns") else {name: name for name in rows[0]}
        try:
            rows = chosen(rows, columns, pairs(self.options["where"]) if self.options.get("where") else {})
        except ValueError as wrong:
            raise self.error(f"{self.path.name}: {wrong}.") from wrong
        digits = self.options.get("digits", 3)
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(columns.values())
        writer.writerows([readable(cell, digits) for cell in row.values()] for row in rows)
        return text.getvalue().splitlines(), str(self.path)


def setup(app) -> dict:
    """Sphinx's entry point."""
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True}
