"""``holdfast datasets``: which sets have a name."""

from rich.table import Table

from holdfast.cli import common


@common.told
def datasets(json: common.Json = False) -> None:
    """List the data sets that have a name, and where each would come from.

    Examples:

        holdfast datasets

        HOLDFAST_DATA=~/data holdfast datasets --json
    """
    from holdfast.datasets import CATALOGUE
    from holdfast.datasets.load import where

    rows = [
        {
            "name": name,
            "rows": entry.shape[0],
            "features": entry.shape[1],
            "classes": len(entry.counts),
            "paper": entry.paper,
            "from": where(name),
            "about": entry.about,
        }
        for name, entry in CATALOGUE.items()
    ]
    if json:
        common.print_json(rows)
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "rows", "features", "classes"):
        table.add_column(heading, justify="left" if heading == "name" else "right")
    table.add_column("from")
    table.add_column("about")
    for row in rows:
        name, n, p, classes, _, origin, about = row.values()
        table.add_row(str(name), f"{n:,}", str(p), str(classes), str(origin), str(about))
    common.console().print(table)
