"""Columns that name rows: they say nothing of new ones."""

import re
from collections.abc import Iterator

import numpy as np

from holdfast.datasets.checks.finding import Finding, flag_for
from holdfast.datasets.checks.table_view import TableView

_NAME = re.compile(
    r"(?i)(^|[_\s.-])(id|idx|index|key|uuid|nr|no|number|rownames?|rowid|case)$|^id|id$|^unnamed: ?\d+$|^$"
)
_MIN_ROWS = 20  # below, distinct whole numbers are no sign of anything


def check_identifiers(table: TableView) -> Iterator[Finding]:
    """Columns of whole numbers, all different, that run through a range or are named like an identifier."""
    for name, values in table.numbers.items():
        if len(values) < max(_MIN_ROWS, 0.9 * table.n_rows) or not (values == np.round(values)).all():
            continue
        distinct = np.unique(values)
        counts_rows = len(distinct) == len(values) and distinct[-1] - distinct[0] < 2 * len(values)
        named = bool(_NAME.search(name)) and len(distinct) > 0.9 * len(values)
        if counts_rows or named:
            yield Finding(
                name,
                "identifier",
                "looks like an identifier (another whole number in each row)",
                flag_for("--drop", name),
            )
