"""``holdfast attack``: the shortest move found that changes each answer."""

from holdfast.cli import options as common
from holdfast.cli.options import print_json, print_line, print_notes, stops_at_once
from holdfast.cli.predict import Model, Out, Rows
from holdfast.cli.progress import progress_bars

_SHOWN = 10  # rows printed


@common.reports_errors
def attack_command(
    model: Model,
    data: Rows,
    out: Out = None,
    id: common.Id = None,
    missing: common.Missing = None,
    encoding: common.Encoding = None,
    decimal: common.Decimal = None,
    thousands: common.Thousands = None,
    radius: common.Radius = 0.5,
    threat: common.ThreatFile = None,
    budget: common.Budget = 200_000,
    allow_unknown: common.AllowUnknown = False,
    jobs: common.Jobs = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Attack predictions: find moved rows that the model answers differently, and write them.

    Examples:

        holdfast attack wine-audit/model.holdfast new.csv

        holdfast attack patients.holdfast test.csv --out adversarial.csv

        holdfast attack loans.holdfast new.csv --threat applicants.toml
    """
    with stops_at_once():
        import numpy as np
        from pandas import DataFrame

        from holdfast.auditing.prepare import attack_table, matrix_names, read_table_for
        from holdfast.auditing.rows import how_read, split_encoder
        from holdfast.base.inputs import with_names
        from holdfast.certificates.api import attack
        from holdfast.datasets import ReadOptions
        from holdfast.datasets.columns import day_as_date
        from holdfast.files.model_file import load

    common.check_file(out, force)
    loaded = load(model)
    moves, allowed = (None, []) if threat is None else common.read_threat(threat, loaded)
    reading = ReadOptions(encoding, decimal, thousands, tuple(missing or ()))
    table, rows, _ = read_table_for(loaded, data, reading, id=id, allow_unknown=allow_unknown)
    with progress_bars(quiet=json) as progress:
        progress("Attacking", 0, len(rows.matrix))
        options: dict = {"budget": budget, "n_jobs": jobs, "progress": lambda n, of: progress("Attacking", n, of)}
        if moves is None:
            result = attack_table(loaded, rows, **options)
        else:
            inner = split_encoder(loaded)[1]
            result = attack(inner, with_names(rows.matrix, inner), threat=moves, **options)
    names = matrix_names(loaded, rows.matrix.shape[1])
    moved = np.asarray(result.adversarial, dtype=object)
    frame = DataFrame(moved, columns=names).infer_objects()
    for name in how_read(loaded)[0].dates:  # so that the file can be read again
        frame[name] = [None if day != day else day_as_date(day) for day in frame[name]]
    for position, (name, column) in enumerate(
        (("prediction", result.prediction), ("changed_to", result.changed_to), ("size", result.size))
    ):
        frame.insert(position, name, column, allow_duplicates=True)
    frame = common.number_rows(frame, table, id)
    if out is not None:
        common.write_frame(frame, out)
    changed = float((result.size <= radius).mean())
    if json:
        print_json(
            {
                "rows": len(frame),
                "radius": radius,
                "changed": changed,
                "file": out,
                "size": result.size,
                "prediction": result.prediction,
                "changed_to": result.changed_to,
                "features": names,
                "adversarial": moved,
                **rows.to_dict(),
                **({"threat": allowed} if allowed else {}),
            }
        )
    else:
        print_notes([*rows.notes(), *allowed], err=common.is_stream(out))
        if common.is_stream(out):
            return
        _print_attack(loaded, rows.matrix, result, names, changed, radius, common.row_labels(frame))
        print_line(f"All rows: {out}" if out is not None else "All rows: --out FILE, or --json.")


def _print_attack(model, rows, result, names: list[str], changed: float, radius: float, labels: list[str]) -> None:
    """Print the share of changed answers, and the moves that change the easiest ones."""
    import numpy as np

    from holdfast.auditing.rows import split_encoder
    from holdfast.auditing.sections import cell_changes, sentence
    from holdfast.base.text import percent
    from holdfast.certificates.training import deviations

    print_line(f"{percent(changed)} of {len(rows):,} answers were changed by a move of up to {radius:g}.")
    print_line("The easiest to change:")
    scale = deviations(split_encoder(model)[1])
    scale = np.ones(rows.shape[1]) if scale is None else scale
    before, after = np.asarray(rows, dtype=object), np.asarray(result.adversarial, dtype=object)
    for row in np.argsort(result.size, kind="stable")[:_SHOWN]:
        if np.isfinite(result.size[row]):
            move = sentence(cell_changes(before[row], after[row], names, scale))
            answers = f"{result.prediction[row]} becomes {result.changed_to[row]}"
            print_line(f"  row {labels[row]}, {result.size[row]:.3g}: {answers}; {move}")
