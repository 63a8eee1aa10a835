"""``holdfast datasets``: the data sets that have a name."""

from holdfast.cli import common
from holdfast.cli.interrupts import stops_at_once
from holdfast.cli.terminal import print_json, print_table


@common.reports_errors
def datasets_command(json: common.Json = False) -> None:
    """List the data sets that have a name, and where each would come from.

    Examples:

        holdfast datasets

        HOLDFAST_DATA=~/data holdfast datasets --json
    """
    with stops_at_once():
        from holdfast.datasets import CATALOGUE
        from holdfast.datasets.load import origin_of

    rows = [
        {
            "name": name,
            "rows": entry.shape[0],
            "features": entry.shape[1],
            "classes": len(entry.counts),
            "paper": entry.paper,
            "from": origin_of(name),
            "about": entry.about,
        }
        for name, entry in CATALOGUE.items()
    ]
    if json:
        print_json(rows)
        return
    headings = {
        "name": "left",
        "rows": "right",
        "features": "right",
        "classes": "right",
        "from": "left",
        "about": "left",
    }
    print_table(headings, [[f"{row[h]:,}" if h == "rows" else str(row[h]) for h in headings] for row in rows])
