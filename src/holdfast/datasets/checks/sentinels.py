"""Numbers that stand for "not known": 1e30, -999."""

from collections.abc import Iterator

import numpy as np

from holdfast.datasets.checks.finding import Finding
from holdfast.datasets.checks.table_view import TableView

_BEYOND = 1e6  # spreads from the median: no measurement lies there, and a standard deviation would be its alone
_CUSTOMARY = {s * v for v in (99, 999, 9999, 99999, 999999, 9999999) for s in (-1.0, 1.0)}


def check_sentinels(table: TableView) -> Iterator[Finding]:
    """The smallest or largest value, if it lies absurdly far out, or is a customary sign that is repeated there."""
    for name, values in table.numbers.items():
        if len(values) < 10:
            continue
        for extreme in (values.min(), values.max()):
            rest = values[values != extreme]
            if rest.size < 0.3 * len(values) or rest.min() == rest.max():
                continue
            reach = float(rest.max() - rest.min())
            gap = float(np.abs(rest - extreme).min())
            spread = float(np.quantile(rest, 0.75) - np.quantile(rest, 0.25)) or reach
            absurd = abs(extreme - float(np.median(rest))) > _BEYOND * max(spread, np.finfo(float).tiny)
            customary = extreme in _CUSTOMARY and (values == extreme).sum() > 1 and gap > reach
            if absurd or customary:
                value = f"{extreme:g}"
                sentence = f"has the value {value}, far from all others: if it stands for a missing one, say so"
                yield Finding(name, "sentinel", sentence, f"--missing={value}", fatal=bool(absurd))
