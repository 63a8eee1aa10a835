"""``holdfast explain``: the closest rows that the model answers otherwise."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli import options as common
from holdfast.cli.options import print_json, print_line, print_notes, stops_at_once
from holdfast.cli.predict import Model, Out, Rows
from holdfast.cli.progress import progress_bars

_SHOWN = 10  # rows printed


@common.reports_errors
def explain_command(
    model: Model,
    data: Rows,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Class to reach; by default any but the predicted one.")
    ] = None,
    threat: Annotated[
        Path | None, typer.Option(help="TOML or JSON file: which changes are possible; by default of all numbers.")
    ] = None,
    n: Annotated[int, typer.Option("--n", help="Answers for each row, in different features.", min=1)] = 1,
    max_features: Annotated[int | None, typer.Option(help="Change at most this many features.", min=1)] = None,
    slack: Annotated[
        float, typer.Option(help="The new answer must also hold within this distance of the changed row.", min=0)
    ] = 0.0,
    out: Out = None,
    id: common.Id = None,
    missing: common.Missing = None,
    encoding: common.Encoding = None,
    decimal: common.Decimal = None,
    thousands: common.Thousands = None,
    budget: common.Budget = 200_000,
    allow_unknown: common.AllowUnknown = False,
    jobs: common.Jobs = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Explain predictions: the smallest change of each row for which the model answers otherwise.

    Changes are measured in standard deviations of the training rows, unless the threat has its own units. Columns that
    were whole in training stay whole, and categories stay as they are, unless the threat lets them change.

    Examples:

        holdfast explain patients.holdfast new.csv --target benign --out changes.csv

        holdfast explain credit.holdfast refused.csv --target repaid --threat possible.json --max-features 2
    """
    with stops_at_once():
        from dataclasses import replace

        from holdfast.auditing.allowed_moves import in_table_columns
        from holdfast.auditing.explain import in_blocks
        from holdfast.auditing.prepare import matrix_names, read_table_for
        from holdfast.auditing.rows import split_encoder
        from holdfast.base.inputs import with_names
        from holdfast.datasets import ReadOptions
        from holdfast.datasets.tables import row_names
        from holdfast.explanations import counterfactuals
        from holdfast.explanations.result import entry_data
        from holdfast.files.model_file import load

    common.check_file(out, force)
    loaded = load(model)
    options = ReadOptions(encoding, decimal, thousands, tuple(missing or ()))
    frame, rows, _ = read_table_for(loaded, data, options, id=id, allow_unknown=allow_unknown)
    if not len(rows.matrix):
        raise ValueError("There are no rows to explain.")
    encoder, inner = split_encoder(loaded)
    whole: list[str] = []
    names = matrix_names(loaded, rows.matrix.shape[1])
    with progress_bars(quiet=json) as progress:
        given, wanted = with_names(rows.matrix, inner), _label(loaded.classes_, target)
        asked: dict = {
            "threat": _threat(loaded, threat, names, frame, whole), "n": n, "slack": slack,
            "max_features": max_features, "budget": budget, "n_jobs": jobs,
        }  # fmt: skip
        answers = in_blocks(
            lambda block: counterfactuals(inner, block, wanted, **asked), given,
            lambda done: progress("Explaining", done, len(given)),
        )  # fmt: skip
    answers = replace(answers, columns=names) if encoder is None else in_table_columns(answers, encoder)
    labels, ids = common.row_labels(common.number_rows(frame, frame, id)), row_names(frame, id)
    entries = [_entry(entry_data(answers, entry), int(row), ids, whole) for entry, row in enumerate(answers.row)]
    if out is not None:
        common.write_frame(_lines(entries), out)
    if json:
        totals = {"rows": len(rows.matrix), "answers": int(answers.valid.sum()), "closest": int(answers.closest.sum())}
        print_json({**totals, "norm": answers.norm, "file": out, **rows.to_dict(), "counterfactuals": entries})
        return
    print_notes(rows.notes())
    print_line(
        f"{int(answers.valid.sum()):,} answers for {len(rows.matrix):,} rows, each checked by the model; "
        f"{int(answers.closest.sum()):,} are proven to be the closest."
    )
    already = int((answers.status[::n] == "already").sum())
    if already:
        print_line(f"{already:,} rows have that answer already.")
    for entry in [entry for entry in entries if entry["status"] != "already"][: _SHOWN * n]:
        print_line(f"  row {labels[entry['row'] - 1]}: {entry['sentence']}")
    print_line(f"All changes: {out}" if out is not None else "All rows: --out FILE, or --json.")


def _entry(fields: dict, row: int, ids, whole: list[str]) -> dict:
    """One answer with the number of its row in the table, its name, if it has one, and what was held whole."""
    from holdfast.base.text import short_name

    named = {} if ids is None else {"id": ids[row]}
    if whole and fields["size"] and fields["status"] != "already":
        more = f" and {len(whole) - _SHOWN} more" if len(whole) > _SHOWN else ""
        fields["sentence"] += f", with {', '.join(map(short_name, whole[:_SHOWN]))}{more} whole"
    return {"row": row + 1, **named, **{key: value for key, value in fields.items() if key != "row"}}


def _label(classes, target: str | None):
    """The class of that name."""
    known = {str(label): label for label in classes.tolist()}
    if target is None or target in known:
        return None if target is None else known[target]
    raise ValueError(f"--target {target!r} is none of the model's classes: {', '.join(list(known)[:10])}.")


def _threat(model, path: Path | None, names: list[str], frame, held: list[str]):
    """The threat of a file, or moves measured in standard deviations; ``held`` gets the columns that stay whole.

    These are columns that were whole in training; for a model that does not know that, those of the table.
    """
    import numpy as np

    from holdfast.auditing.rows import split_encoder
    from holdfast.certificates.threat import Threat
    from holdfast.certificates.training import deviations

    encoder, inner = split_encoder(model)
    if encoder is not None and hasattr(encoder, "reading_"):
        whole = [k for k, name in enumerate(names) if name in encoder.reading_.whole]
    else:
        whole = [k for k, name in enumerate(names) if name in frame.columns and _is_whole(frame[name])]
    if path is not None:
        threat = common.read_threat(path, model)[0]
        held += [names[k] for k in whole if threat.integer is None]
        missing = {"integer": whole or None, "unit": deviations(inner)}
        return Threat(**threat.get_params() | {name: v for name, v in missing.items() if getattr(threat, name) is None})
    held += [names[k] for k in whole]
    fixed = None if encoder is None else np.asarray(encoder.frozen_)
    return Threat(unit=deviations(inner), frozen=fixed, integer=whole or None)


def _is_whole(column) -> bool:
    """True for a column of whole numbers; with gaps a reader makes them floats."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "iu" or kind != "f":
        return kind in "iu"
    known = column.dropna()
    return 0 < len(known) < len(column) and bool((known == known.round()).all())


def _lines(entries: list[dict]):
    """One line for every change, and one for every answer without changes."""
    from pandas import DataFrame

    about = [*(("row", "id") if "id" in entries[0] else ("row",)), "number", "prediction", "target", "status"]
    about += ["size", "lower_bound", "closest"]
    nothing = [{"column": None, "from": None, "to": None}]
    return DataFrame(
        [
            {**{key: entry[key] for key in about}, **change}
            for entry in entries
            for change in (entry["changes"] or nothing)
        ]
    )
