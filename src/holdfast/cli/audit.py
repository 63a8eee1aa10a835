"""``holdfast audit``: train, certify, attack, report."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli import common
from holdfast.cli.interrupts import stops_at_once
from holdfast.cli.terminal import print_json, print_line, print_notes, print_table


@common.reports_errors
def audit_command(
    data: Annotated[str, typer.Argument(help="Name of a data set (wine), or a CSV, Parquet or npz file.")],
    target: common.Target = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; by default NAME-audit.")] = None,
    radius: Annotated[float, typer.Option(help="Radius to certify at, in standard deviations.")] = 0.5,
    tune: common.Tune = "certified",
    neighbors: common.Neighbors = 3,
    draws: common.Draws = 16,
    test_size: Annotated[float, typer.Option(help="Share of the rows kept for the test.")] = 0.3,
    budget: common.Budget = 2000,
    drop: common.Drop = None,
    categorical: common.Categorical = None,
    drop_unlabelled: common.DropUnlabelled = False,
    seed: common.Seed = 0,
    jobs: common.Jobs = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Train a model and its robust twin, certify and attack both, write a report and the model.

    Examples:

        holdfast audit wine

        holdfast audit patients.csv --target diagnosis --drop id --out results
    """
    with stops_at_once():
        from holdfast.audit import audit, summarise, write_audit
        from holdfast.audit.write import check_free
        from holdfast.datasets import open_data

    folder = out if out is not None else Path(f"{Path(data).stem}-audit")
    check_free(folder, force)
    dataset = open_data(data, target, drop=drop or (), drop_unlabelled=drop_unlabelled)
    with common.progress_bars(quiet=json) as progress:
        result = audit(
            dataset, radius=radius, tune=tune, n_neighbors=neighbors, n_draws=draws, test_size=test_size,
            budget=budget, categorical=categorical or (), random_state=seed, n_jobs=jobs, progress=progress,
        )  # fmt: skip
        summary = summarise(result)
        paths = write_audit(result, folder, force, summary)
    if json:
        print_json(
            {
                "name": result.name,
                "target": result.target,
                "radius": radius,
                "models": result.accuracies(),
                "methods": result.methods,
                "rows": {"train": len(result.X_train), "test": len(result.X_test)},
                "notes": result.notes,
                "seconds": result.seconds,
                "files": paths,
            }
        )
    else:
        _print_result(result, summary["verdict"]["sentence"], paths)


def _print_result(result, verdict: str, paths: dict[str, Path]) -> None:
    """Print the accuracies, the verdict, the notes and the files."""
    from holdfast.numerics.formatting import percent

    n_train, n_test, p = len(result.X_train), len(result.X_test), len(result.feature_names)
    print_line(
        f"{result.name}: {n_train:,} training rows, {n_test:,} test rows, {p} features, {len(result.classes)} classes"
    )
    found, radius = result.accuracies(), result.radius
    headings = {"Share of the test rows": "left"}
    headings |= {f"{which}: {result.methods[which]}": "right" for which in found}
    rows = [
        [words, *(percent(each[key]) for each in found.values())]
        for words, key in (
            ("predicted right", "accuracy"),
            (f"... and no attack up to {radius:g} changed it", "attacked"),
            (f"... and proven: no move up to {radius:g} can", "certified"),
        )
    ]
    rows.append(["Median proven distance", *(f"{each['median_radius']:.2f}" for each in found.values())])
    print_table(headings, rows)
    print_line(verdict)
    print_line(
        "Distances are in standard deviations, over all features together: 0.5 is half a deviation of one feature, "
        "or a quarter of a deviation of each of four.",
    )
    print_notes(result.notes)
    print_line(f"Time: {sum(result.seconds.values()):.0f} s")
    print_line(f"Report: {paths['html']}   Model: {paths['model']}")
