"""Numbers in units that floating point cannot work with."""

from collections.abc import Iterator

import numpy as np

from holdfast.datasets.checks.finding import Finding, flag_for
from holdfast.datasets.checks.table_view import TableView

_LARGEST, _SMALLEST = 1e75, 1e-75  # of a spread: its fourth power must neither overflow nor vanish
_DIGITS = 1e-9  # spread over size; double precision has 16 digits, and squared distances lose half of them


def check_precision(table: TableView) -> Iterator[Finding]:
    """Spreads that are too large, too small, or lost beside the size of the numbers."""
    for name, values in table.numbers.items():
        if not values.size or values.min() == values.max():
            continue
        size = float(np.abs(values).max())
        spread = size * float(np.std(values / size))
        if not _SMALLEST < spread < _LARGEST:
            said = f"varies by {spread:.0e}, which squares cannot hold: give it in other units, or leave it out"
            yield Finding(name, "units", said, flag_for("--drop", name), fatal=True)
        elif spread < _DIGITS * size:
            said = (
                f"varies by {spread:.0e} around {size:.0e}, at the edge of what numbers can tell: subtract a constant"
            )
            yield Finding(name, "precision", said)
