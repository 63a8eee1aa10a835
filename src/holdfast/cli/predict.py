"""``holdfast predict``: labels for rows."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli import common

Model = Annotated[Path, typer.Argument(help="A model file, from `holdfast fit` or `holdfast audit`.")]
Rows = Annotated[str, typer.Argument(help="The rows: a CSV, Parquet or npz file, or the name of a data set.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="File to write, CSV or Parquet by its name.")]


@common.told
def predict(model: Model, data: Rows, out: Out = None, force: common.Force = False, json: common.Json = False) -> None:
    """Predict the class of each row.

    Examples:

        holdfast predict wine-audit/model.holdfast new.csv

        holdfast predict patients.holdfast new.parquet --out labels.csv
    """
    from pandas import DataFrame

    from holdfast import load
    from holdfast.tables import predict_table, rows_of

    common.check_file(out, force)
    labels = predict_table(load(model), rows_of(data))
    if out is not None:
        common.write_frame(DataFrame({"prediction": labels}), out)
    if json:
        common.print_json({"rows": len(labels), "prediction": labels, "file": out})
    elif out is not None:
        common.console().print(f"{len(labels):,} predictions: {out}", soft_wrap=True)
    else:
        typer.echo("\n".join(["prediction", *map(str, labels.tolist())]))
