"""``holdfast attack``: the shortest move found that changes each answer."""

from typing import Annotated

import numpy as np
import typer

from holdfast.cli import common
from holdfast.cli.predict import Model, Out, Rows

_SHOWN = 10


@common.told
def attack(
    model: Model,
    data: Rows,
    out: Out = None,
    radius: Annotated[float, typer.Option(help="Where to count, in standard deviations.", min=0)] = 0.5,
    budget: Annotated[float, typer.Option(help="Seconds a row may take in the exact search.", min=0)] = 0.1,
    jobs: common.Jobs = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Attack predictions: find moved rows that the model answers differently, and write them.

    Examples:

        holdfast attack wine-audit/model.holdfast new.csv

        holdfast attack patients.holdfast test.csv --out adversarial.csv
    """
    from pandas import DataFrame

    from holdfast import load
    from holdfast.tables import as_rows, attack_table, feature_names, front_and_model, rows_of, scale_of

    common.check_file(out, force)
    loaded = load(model)
    table = rows_of(data)
    rows = as_rows(loaded, table)
    with common.shown_progress(quiet=json) as progress:
        progress("Attacking", 0, 1)
        found = attack_table(loaded, table, budget=budget, n_jobs=jobs)
    names = feature_names(loaded, rows.shape[1])
    frame = DataFrame(found.adversarial, columns=names)
    for position, (name, column) in enumerate(
        (("prediction", found.prediction), ("changed_to", found.changed_to), ("size", found.size))
    ):
        frame.insert(position, name, column, allow_duplicates=True)
    if out is not None:
        common.write_frame(frame, out)
    within = float((found.size <= radius).mean())
    if json:
        totals = {"rows": len(frame), "radius": radius, "changed": within, "file": out}
        common.print_json(
            {
                **totals,
                "size": found.size,
                "prediction": found.prediction,
                "changed_to": found.changed_to,
                "features": names,
                "adversarial": found.adversarial,
            }
        )
        return
    from holdfast.report.changes import changes, sentence

    console = common.console()
    console.print(f"{common.percent(within)} of {len(frame):,} answers were changed by a move of up to {radius:g}.")
    console.print("The easiest to change:")
    scale = scale_of(front_and_model(loaded)[1])
    scale = np.ones(rows.shape[1]) if scale is None else scale
    for row in np.argsort(found.size, kind="stable")[:_SHOWN]:
        if np.isfinite(found.size[row]):
            told = sentence(changes(rows[row], found.adversarial[row], names, scale)[0])
            answers = f"{found.prediction[row]} becomes {found.changed_to[row]}"
            console.print(f"  row {row + 1}, {found.size[row]:.3g}: {answers}; {told}", soft_wrap=True)
    console.print(f"All rows: {out}" if out is not None else "All rows: --out FILE, or --json.", soft_wrap=True)
