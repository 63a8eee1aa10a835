"""``holdfast predict``: labels for rows."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli import options as common
from holdfast.cli.options import print_json, print_line, print_lines, print_notes, stops_at_once

Model = Annotated[Path, typer.Argument(help="A model file, from `holdfast fit` or `holdfast audit`.")]
Rows = Annotated[
    str, typer.Argument(help="The rows: a CSV, Parquet, Feather or npz file, the name of a data set, or - for stdin.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        parser=common.out_path,
        metavar="PATH",
        help="File to write, CSV or Parquet by its name; - for stdout.",
    ),
]


@common.reports_errors
def predict_command(
    model: Model,
    data: Rows,
    out: Out = None,
    id: common.Id = None,
    missing: common.Missing = None,
    encoding: common.Encoding = None,
    decimal: common.Decimal = None,
    thousands: common.Thousands = None,
    allow_unknown: common.AllowUnknown = False,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Predict the class of each row.

    Examples:

        holdfast predict wine-audit/model.holdfast new.csv

        holdfast predict patients.holdfast new.parquet --out labels.csv

        cat new.csv | holdfast predict patients.holdfast - --out - | head
    """
    with stops_at_once():
        from pandas import DataFrame

        from holdfast.auditing.prepare import predict_table, read_table_for, vote_share
        from holdfast.datasets import ReadOptions
        from holdfast.files.model_file import load

    common.check_file(out, force)
    loaded = load(model)
    options = ReadOptions(encoding, decimal, thousands, tuple(missing or ()))
    table, rows, _ = read_table_for(loaded, data, options, id=id, allow_unknown=allow_unknown)
    labels = predict_table(loaded, rows)
    frame = DataFrame({"prediction": labels})
    share = vote_share(loaded, rows)
    if share is not None:
        frame["share"] = share
    frame = common.number_rows(frame, table, id)
    if out is not None:
        common.write_frame(frame, out)
    if json:
        document = {"rows": len(labels), "prediction": labels, "file": out, **rows.to_dict()}
        print_json(document | {name: frame[name] for name in ("id", "share") if name in frame})
        return
    print_notes(rows.notes(), err=out is None or common.is_stream(out))
    if out is None:
        print_lines(["prediction", *labels.tolist()])
    elif not common.is_stream(out):
        print_line(f"{len(labels):,} predictions: {out}")
