"""Numbers that may be codes: few whole numbers, which a certificate would let move by fractions."""

from collections.abc import Iterator

import numpy as np

from holdfast.datasets.checks.finding import Finding, flag_for
from holdfast.datasets.checks.table_view import TableView

_FEW = 5  # different values, at most, of a column that is reported as a code; counts of things have more


def check_codes(table: TableView) -> Iterator[Finding]:
    """Columns of two values, and of a few whole numbers."""
    for name, values in table.numbers.items():
        distinct = np.unique(values)
        if len(distinct) == 2:
            said = "has two values, which are taken for measurements that move by fractions; if it is a code, freeze it"
            yield Finding(name, "code", said, flag_for("--categorical", name))
        elif 2 < len(distinct) <= _FEW and (distinct == np.round(distinct)).all() and len(values) > 10 * _FEW:
            said = "has few whole numbers, which are taken for measurements; if they are codes, freeze it"
            yield Finding(name, "code", said, flag_for("--categorical", name))
