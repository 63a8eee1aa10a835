"""``holdfast predict``: labels for rows."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli import common
from holdfast.cli.interrupts import stops_at_once
from holdfast.cli.terminal import print_json, print_line, print_lines, print_notes

Model = Annotated[Path, typer.Argument(help="A model file, from `holdfast fit` or `holdfast audit`.")]
Rows = Annotated[str, typer.Argument(help="The rows: a CSV, Parquet or npz file, or the name of a data set.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="File to write, CSV or Parquet by its name.")]


@common.reports_errors
def predict_command(
    model: Model,
    data: Rows,
    out: Out = None,
    allow_unknown: common.AllowUnknown = False,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Predict the class of each row.

    Examples:

        holdfast predict wine-audit/model.holdfast new.csv

        holdfast predict patients.holdfast new.parquet --out labels.csv
    """
    with stops_at_once():
        from pandas import DataFrame

        from holdfast.audit.new_rows import read_new_rows
        from holdfast.audit.tables import predict_table, read_frame
        from holdfast.persistence import load

    common.check_file(out, force)
    loaded = load(model)
    rows = read_new_rows(loaded, read_frame(data)[0], allow_unknown)
    labels = predict_table(loaded, rows)
    if out is not None:
        common.write_frame(DataFrame({"prediction": labels}), out)
    if json:
        print_json({"rows": len(labels), "prediction": labels, "file": out, **rows.to_dict()})
        return
    print_notes(rows.notes(), err=out is None)
    if out is not None:
        print_line(f"{len(labels):,} predictions: {out}")
    else:
        print_lines(["prediction", *labels.tolist()])
