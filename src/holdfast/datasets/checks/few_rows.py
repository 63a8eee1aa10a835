"""More columns than rows."""

from collections.abc import Iterator

from holdfast.datasets.checks.finding import Finding
from holdfast.datasets.checks.table_view import TableView


def check_few_rows(table: TableView) -> Iterator[Finding]:
    """With more features than rows chance alone separates the classes."""
    n, p = table.frame.shape
    if p >= n:
        yield Finding(
            None, "few rows", f"The table has {p} columns and {n} rows: with so few, every difference between models "
            "may be chance"
        )  # fmt: skip
