"""``holdfast certify``: the certified radius of each row."""

from typing import Annotated

import typer

from holdfast.cli import options as common
from holdfast.cli.options import print_error, print_json, print_line, print_notes, print_table, stops_at_once
from holdfast.cli.predict import Model, Out, Rows
from holdfast.cli.progress import progress_bars

_SHOWN = 10  # rows printed


@common.reports_errors
def certify_command(
    model: Model,
    data: Rows,
    target: Annotated[str | None, typer.Option("--target", "-t", help="Column of true labels, if known.")] = None,
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
    """Certify predictions: no move shorter than the radius of a row changes its answer.

    Examples:

        holdfast certify wine-audit/model.holdfast new.csv --radius 0.25

        holdfast certify patients.holdfast test.csv --target diagnosis --out certificates.csv

        holdfast certify loans.holdfast new.csv --threat applicants.toml --radius 1
    """
    with stops_at_once():
        from holdfast.auditing.prepare import certify_table, data_notes, match_labels, read_table_for, vote_share
        from holdfast.auditing.rows import split_encoder
        from holdfast.auditing.verdict import ended_by_budget
        from holdfast.base.inputs import with_names
        from holdfast.base.text import percent
        from holdfast.certificates.api import certify
        from holdfast.datasets import ReadOptions
        from holdfast.files.model_file import load

    common.check_file(out, force)
    loaded = load(model)
    moves, allowed = (None, []) if threat is None else common.read_threat(threat, loaded)
    reading = ReadOptions(encoding, decimal, thousands, tuple(missing or ()))
    table, rows, y = read_table_for(loaded, data, reading, target=target, id=id, allow_unknown=allow_unknown)
    y = None if y is None else match_labels(loaded, y)
    with progress_bars(quiet=json) as progress:
        progress("Certifying", 0, len(rows.matrix))
        options: dict = {"budget": budget, "n_jobs": jobs, "progress": lambda n, of: progress("Certifying", n, of)}
        if moves is None:
            certificate = certify_table(loaded, rows, y, **options)
        else:
            inner = split_encoder(loaded)[1]
            certificate = certify(inner, with_names(rows.matrix, inner), y, threat=moves, **options)
    far, notes = data_notes(loaded, rows)
    frame = common.number_rows(certificate.to_frame(), table, id)
    for name, column in (("share", vote_share(loaded, rows)), ("far", far)):
        if column is not None:
            frame[name] = column
    if out is not None:
        common.write_frame(frame, out)
    print_total = print_line if not common.is_stream(out) else print_error
    stable = float((certificate.radius > radius).mean())
    ended = int(ended_by_budget(certificate).sum())
    frozen = frozen_columns(loaded, certificate)
    right = None if y is None else float(certificate.certified_accuracy(radii=radius))
    if json:
        totals: dict = {"rows": len(certificate), "radius": radius, "hold": stable, "certified_accuracy": right}
        totals |= {"file": out, "budget_ended": ended, "frozen": frozen}
        totals |= rows.to_dict() | ({"threat": allowed} if allowed else {})
        print_json({**totals, "units": certificate.units, "certificates": frame.to_dict(orient="list")})
        return
    print_notes([*rows.notes(), *notes, *allowed], err=common.is_stream(out))
    allowed_moves = f"any move up to {radius:g}{_left_alone(frozen)}"
    print_total(f"{percent(stable)} of {len(certificate):,} predictions hold against {allowed_moves}.")
    if right is not None:
        print_total(f"{percent(right)} are right and hold: the certified accuracy.")
    if ended:
        open_ = ended_by_budget(certificate) & (certificate.radius <= radius) & (certificate.upper > radius)
        print_total(
            f"The budget ended the search for {ended:,} row{'' if ended == 1 else 's'}, {open_.sum():,} of them "
            f"undecided at {radius:g}: their radii hold, and a larger budget may prove longer ones: "
            f"--budget {max(10 * budget, 1000)}."
        )
    if common.is_stream(out):
        return
    labels = common.row_labels(frame)
    print_line(f"Radii are in {certificate.units}; the least certain rows:")
    print_table(
        dict.fromkeys(("row", "prediction", "no move below", "a move that changes it"), "right"),
        [
            (
                labels[row],
                str(certificate.prediction[row]),
                f"{certificate.radius[row]:.4g}",
                f"{certificate.upper[row]:.4g}",
            )
            for row in certificate.radius.argsort(kind="stable")[:_SHOWN]
        ],
    )
    print_line(f"All rows: {out}" if out is not None else "All rows: --out FILE, or --json.")


def frozen_columns(model, certificate) -> dict[str, str]:
    """Columns of the table that no certified move changes, and why: those that are encoded are words."""
    from holdfast.auditing.prepare import matrix_names
    from holdfast.auditing.rows import split_encoder

    encoder = split_encoder(model)[0]
    names = matrix_names(model, certificate.adversarial.shape[1])
    still = {label if isinstance(label, int) else names.index(label): why for label, why in certificate.frozen.items()}
    origins = names if encoder is None else encoder.origins()
    words = set() if encoder is None else set(encoder.categories_)
    moving = {origins[k] for k in range(len(names)) if k not in still}
    return {
        str(origins[k]): "words" if origins[k] in words else why for k, why in still.items() if origins[k] not in moving
    }


def _left_alone(frozen: dict[str, str]) -> str:
    """``" that leaves site (words) as it is"``; nothing if every column moves."""
    from holdfast.base.text import short_name

    if not frozen:
        return ""
    shown = [f"{short_name(name)} ({why})" for name, why in list(frozen.items())[:_SHOWN]]
    more = f" and {len(frozen) - _SHOWN} more" if len(frozen) > _SHOWN else ""
    return f" that leaves {', '.join(shown)}{more} as {'they are' if len(frozen) > 1 else 'it is'}"
