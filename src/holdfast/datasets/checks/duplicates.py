"""Rows that occur twice: a test row that also is a training row is no test of the model."""

from collections.abc import Iterator

from holdfast.datasets.checks.finding import Finding
from holdfast.datasets.checks.table_view import TableView

_WORTH_SAYING = 0.02  # of the rows


def check_duplicates(table: TableView) -> Iterator[Finding]:
    """Rows that repeat an earlier one, label included."""
    repeated = repeats(table.frame, table.y)
    if repeated.sum() > _WORTH_SAYING * table.n_rows:
        yield Finding(
            None, "duplicates",
            f"{int(repeated.sum())} of {table.n_rows} rows repeat an earlier one: test rows that also are training "
            "rows are easy, and every number here too good", "--drop-duplicates",
        )  # fmt: skip


def repeats(frame, y):
    """Mask of the rows that repeat an earlier one."""
    return frame.assign(**{"\0label": y}).duplicated().to_numpy()
