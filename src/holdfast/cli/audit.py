"""``holdfast audit``: check, train, certify, attack, report."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli import options as common
from holdfast.cli.options import print_json, print_line, print_notes, print_table, stops_at_once
from holdfast.cli.progress import progress_bars


@common.reports_errors
def audit_command(
    data: Annotated[
        str,
        typer.Argument(help="Name of a data set (wine), a CSV, Parquet, Feather, Excel or npz file, or - for stdin."),
    ],
    target: common.Target = None,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="Audit this model file as it is; nothing is trained.")
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(help="With --model: the table it was trained on; baselines are trained on it."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", parser=common.out_path, metavar="PATH", help="Folder for the results; by default NAME-audit."
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only check the table, and print what was found.")] = False,
    radius: Annotated[
        float, typer.Option(help="Radius to certify at, in standard deviations, or in the units of --threat.")
    ] = 0.5,
    threat: common.ThreatFile = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Count the rows whose answer depends on it; by default the columns that --threat frees.",
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="Compare only logistic, knn, base (LMNN) or robust (chosen); may be given several times.",
        ),
    ] = None,
    tune: common.Tune = "certified",
    neighbors: common.Neighbors = 3,
    draws: common.Draws = 8,
    class_weight: common.ClassWeight = "auto",
    test_size: Annotated[float, typer.Option(help="Share of the rows kept for the test.")] = 0.3,
    budget: Annotated[
        int | None,
        typer.Option(
            help="Work a row may take in searches, about in microseconds; by default by the number of rows.", min=0
        ),
    ] = None,
    drop: common.Drop = None,
    id: common.Id = None,
    categorical: common.Categorical = None,
    dates: common.Dates = None,
    missing: common.Missing = None,
    encoding: common.Encoding = None,
    decimal: common.Decimal = None,
    thousands: common.Thousands = None,
    drop_unlabelled: common.DropUnlabelled = False,
    drop_small: common.DropSmall = False,
    merge_small: common.MergeSmall = False,
    drop_duplicates: common.DropDuplicates = False,
    explain: Annotated[
        int, typer.Option(help="Test rows for which the report says what would have to change.", min=0)
    ] = 40,
    explain_row: Annotated[
        list[str] | None,
        typer.Option(metavar="ROW", help="Explain this test row, by number or name; may be given several times."),
    ] = None,
    seed: common.Seed = 0,
    jobs: common.Jobs = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Check a table, train models on it, certify and attack each, say which to use; write a report and the models.

    Examples:

        holdfast audit wine

        holdfast audit patients.csv --target diagnosis --drop id --out results

        holdfast audit loans.csv --target answer --threat applicants.toml --sensitive sex --radius 1

        holdfast audit --model patients.holdfast new.csv --target diagnosis
    """
    with stops_at_once():
        from holdfast.auditing.result import check_free, summarise, write_audit
        from holdfast.auditing.rows import how_read
        from holdfast.auditing.run import audit
        from holdfast.certificates.threat import Threat
        from holdfast.datasets import ReadOptions, open_data
        from holdfast.datasets.checks import Repairs
        from holdfast.files.model_file import load

    stem = "table" if data == common.STANDARD_STREAM else Path(data).name.removesuffix(".gz").rsplit(".", 1)[0]
    folder = out if out is not None else Path(f"{stem}-audit")
    if not check:
        common.refuse_dead_link(folder)
        check_free(folder, force)
    options = ReadOptions(encoding, decimal, thousands, tuple(missing or ()))
    loaded = None if model is None else load(model)
    moves = None if threat is None else Threat.from_file(threat)
    if loaded is not None:  # read as its own table was
        reading, needed = how_read(loaded)
        options = reading.options(options, needed)
    dataset = open_data(data, target, drop=drop or (), id=id, drop_unlabelled=drop_unlabelled, options=options)
    repairs = Repairs(drop_small, merge_small, drop_duplicates)
    if check:
        _print_check(dataset, categorical or (), dates or (), repairs, json)
        return
    trained_on = None
    if reference is not None:
        known = open_data(reference, dataset.target_name, drop=drop or (), id=id, options=options)
        trained_on = (known.frame, known.labels)
    with progress_bars(quiet=json) as progress:
        result = audit(
            dataset, target=dataset.target_name, model=loaded, reference=trained_on,
            radius=radius, models=models, tune=tune, threat=moves, sensitive=sensitive or (),
            n_neighbors=neighbors, n_draws=draws, class_weight=common.none_or_value(class_weight),
            test_size=test_size, budget=budget, categorical=categorical or (),
            dates=dates or (), repairs=repairs, explain=explain_row or explain, random_state=seed, n_jobs=jobs,
            progress=progress,
        )  # fmt: skip
        progress("Writing the report", 0, 1)
        summary = summarise(result)
        paths = write_audit(result, folder, force, summary)
    if json:
        print_json(
            {
                "name": result.name,
                "target": result.target,
                "radius": radius,
                "models": result.accuracies(),
                "recommended": summary["recommended"],
                "verdict": summary["verdict"],
                "threat": summary["threat"],
                "dependence": summary["dependence"],
                "budget": summary["budget"],
                "thinned": summary["thinned"],
                "methods": result.methods,
                "rows": {"train": summary["data"]["n_train"], "test": len(result.X_test)},
                "findings": [finding.to_dict() for finding in result.findings],
                "notes": result.notes,
                "seconds": result.seconds,
                "files": paths,
            }
        )
    else:
        _print_result(result, summary, paths)


def _print_check(dataset, categorical, dates, repairs, json: bool) -> None:
    """Print what is remarkable about a table."""
    from holdfast.datasets.checks import all_flags, check_dataset, describe, repair

    dataset = repair(dataset, repairs)
    findings = check_dataset(dataset, categorical, dates)
    if json:
        print_json({"findings": [f.to_dict() for f in findings], "notes": dataset.notes})
        return
    n, p = dataset.X.shape
    print_line(f"{dataset.name}: {n:,} rows, {p} columns besides {dataset.target_name}")
    print_notes(dataset.notes)
    if not findings:
        print_line("Nothing remarkable was found.")
        return
    for sentence in describe(findings):
        print_line(f"- {sentence}")
    if flags := all_flags(findings):
        print_line(f"All flags: {flags}")


def _print_result(result, summary: dict, paths: dict[str, Path]) -> None:
    """Print the comparison, the verdict with its reasons, the notes and the files."""
    from holdfast.base.text import percent

    data, radius, extent = summary["data"], result.radius, result.extent
    trained = f"{data['n_train']:,} training rows, " if data["n_train"] else ""
    size = f"{data['n_test']:,} test rows, {data['n_columns']} columns, {data['n_classes']} classes"
    print_line(f"{result.name}: {trained}{size}")
    headings = {f"Share of the test rows, radius {radius:g}": "left"}
    headings |= dict.fromkeys(("right", "balanced", "proven", "balanced ", "undecided", "median radius"), "right")
    rows = []
    for key, scores in result.accuracies().items():
        name = f"always {scores['label']}" if key == "majority" else result.methods[key]
        kinds = ("accuracy", "balanced_accuracy", "certified", "balanced_certified", "undecided")
        median = "-" if key == "majority" else _reach(scores["median_radius"], extent)
        rows.append([name, *(percent(scores[kind]) for kind in kinds), median])
    print_table(headings, rows)
    print_line(summary["verdict"]["sentence"])
    for reason in summary["verdict"]["reasons"]:
        print_line(f"- {reason}")
    distances = "over all columns together: 0.5 is half a deviation of one, or a quarter of each of four"
    if summary["threat"]["given"]:
        distances = summary["radius"]["meaning"]
    print_line(
        "Proven: right, and no move up to the radius changes it. Balanced: every class counts alike. Distances are in "
        f"{summary['radius']['units']}, {distances}."
    )
    for sentence in summary["budget"]["sentences"]:
        print_line(f"- {sentence}")
    if summary["threat"]["given"] or summary["threat"]["frozen"]:
        print_line(f"Allowed to move: {' '.join(summary['threat']['sentences'])}")
    for column in summary["dependence"]:
        print_line(f"Does the answer depend on {column['column']}? {' '.join(column['sentences'])}")
    print_notes([*result.notes, *summary["thinned"]])
    print_line(f"Time: {sum(result.seconds.values()):.0f} s")
    model = f"   Model: {paths['model']}   All models: {paths['models']}" if "model" in paths else ""
    print_line(f"Report: {paths['html']}{model}")


def _reach(radius: float, extent: float) -> str:
    """A radius; one larger than the data themselves is said to be."""
    return "beyond the data" if radius > extent else f"{radius:.2f}"
