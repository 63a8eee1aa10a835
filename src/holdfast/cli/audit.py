"""``holdfast audit``: how much can these predictions be trusted?"""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from holdfast.cli import common
from holdfast.cli.common import percent


@common.told
def audit(
    data: Annotated[str, typer.Argument(help="Name of a data set (wine), or a CSV, Parquet or npz file.")],
    target: common.Target = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; by default NAME-audit.")] = None,
    radius: Annotated[float, typer.Option(help="Where to certify, in standard deviations.")] = 0.5,
    tune: Annotated[str, typer.Option(help="certified, accuracy (the paper's way) or none.")] = "certified",
    neighbors: Annotated[int, typer.Option(help="Neighbours that vote.")] = 3,
    draws: Annotated[int, typer.Option(help="Candidates tried for the robust model.")] = 16,
    test_size: Annotated[float, typer.Option(help="Share of the rows kept for the test.")] = 0.3,
    budget: Annotated[float, typer.Option(help="Seconds a row may take in the exact search.")] = 0.1,
    drop: common.Drop = None,
    categorical: common.Categorical = None,
    drop_unlabelled: common.DropUnlabelled = False,
    seed: Annotated[int, typer.Option(help="Of split, folds and draws.", min=0)] = 0,
    jobs: common.Jobs = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Train a model and its robust twin, certify and attack both, write a report and the model.

    Examples:

        holdfast audit wine

        holdfast audit patients.csv --target diagnosis --drop id --out results
    """
    from holdfast.audit import audit as run
    from holdfast.datasets import open_data
    from holdfast.output import check_free, write_audit
    from holdfast.report import summarise

    folder = out if out is not None else Path(f"{Path(data).stem}-audit")
    check_free(folder, force)
    dataset = open_data(data, target, drop=drop or (), drop_unlabelled=drop_unlabelled)
    with common.shown_progress(quiet=json) as progress:
        result = run(
            dataset, radius=radius, tune=tune, n_neighbors=neighbors, n_draws=draws, test_size=test_size,
            budget=budget, categorical=categorical or (), random_state=seed, n_jobs=jobs, progress=progress,
        )  # fmt: skip
        paths = write_audit(result, folder, force)
    found = result.accuracies()
    if json:
        common.print_json(
            {
                "name": result.name,
                "target": result.target,
                "radius": radius,
                "models": found,
                "methods": result.methods,
                "rows": {"train": len(result.X_train), "test": len(result.X_test)},
                "notes": result.notes,
                "seconds": result.seconds,
                "files": paths,
            }
        )
        return
    console = common.console()
    n_train, n_test, p = len(result.X_train), len(result.X_test), len(result.feature_names)
    console.print(
        f"{result.name}: {n_train:,} training rows, {n_test:,} test rows, {p} features, {len(result.classes)} classes"
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("Share of the test rows")
    for which in found:
        table.add_column(f"{which}: {result.methods[which]}", justify="right")
    for words, key in (
        ("predicted right", "accuracy"),
        (f"... and no attack up to {radius:g} changed it", "attacked"),
        (f"... and proven: no move up to {radius:g} can", "certified"),
    ):
        table.add_row(words, *(percent(each[key]) for each in found.values()))
    table.add_row("Median proven distance", *(f"{each['median_radius']:.2f}" for each in found.values()))
    console.print(table)
    console.print(summarise(result)["verdict"]["sentence"], soft_wrap=True)
    console.print(
        "Distances are in standard deviations, over all features together: 0.5 is half a deviation of one feature, "
        "or a quarter of a deviation of each of four.",
        soft_wrap=True,
    )
    for note in result.notes:
        console.print(f"Note: {note}", soft_wrap=True)
    console.print(f"Time: {sum(result.seconds.values()):.0f} s")
    console.print(f"Report: {paths['html']}   Model: {paths['model']}", soft_wrap=True)
