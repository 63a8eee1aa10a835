"""``holdfast certify``: how far may each row move before its answer can change?"""

from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from holdfast.cli import common
from holdfast.cli.predict import Model, Out, Rows

_SHOWN = 10


@common.told
def certify(
    model: Model,
    data: Rows,
    target: Annotated[str | None, typer.Option("--target", "-t", help="Column of true labels, if known.")] = None,
    out: Out = None,
    radius: Annotated[float, typer.Option(help="Where to count, in standard deviations.", min=0)] = 0.5,
    budget: Annotated[float, typer.Option(help="Seconds a row may take in the exact search.", min=0)] = 0.1,
    jobs: common.Jobs = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Certify predictions: no move shorter than the radius of a row changes its answer.

    Examples:

        holdfast certify wine-audit/model.holdfast new.csv --radius 0.25

        holdfast certify patients.holdfast test.csv --target diagnosis --out certificates.csv
    """
    from holdfast import load
    from holdfast.tables import certify_table, labelled_rows

    common.check_file(out, force)
    loaded = load(model)
    rows, y = labelled_rows(loaded, data, target)
    with common.shown_progress(quiet=json) as progress:
        found = certify_table(
            loaded, rows, y, budget=budget, n_jobs=jobs, progress=lambda n, of: progress("Certifying", n, of)
        )
    frame = found.to_frame()
    if out is not None:
        common.write_frame(frame, out)
    holds = float((found.radius > radius).mean())
    right = None if y is None else float(found.certified_accuracy(radii=radius))
    if json:
        totals = {"rows": len(found), "radius": radius, "hold": holds, "certified_accuracy": right, "file": out}
        common.print_json({**totals, "units": found.units, "certificates": frame.to_dict(orient="list")})
        return
    console = common.console()
    console.print(f"{common.percent(holds)} of {len(found):,} predictions hold against any move up to {radius:g}.")
    if right is not None:
        console.print(f"{common.percent(right)} are right and hold: the certified accuracy.")
    console.print(f"Radii are in {found.units}; the least certain rows:")
    table = Table(box=None, pad_edge=False)
    for heading in ("row", "prediction", "no move below", "a move that changes it"):
        table.add_column(heading, justify="right")
    for row in np.argsort(found.radius, kind="stable")[:_SHOWN]:
        cells = (str(row + 1), str(found.prediction[row]), f"{found.radius[row]:.4g}", f"{found.upper[row]:.4g}")
        table.add_row(*cells)
    console.print(table)
    console.print(f"All rows: {out}" if out is not None else "All rows: --out FILE, or --json.", soft_wrap=True)
