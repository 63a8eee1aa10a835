"""``holdfast fit``: a model file from a table."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli import options as common
from holdfast.cli.options import print_json, print_line, print_notes, stops_at_once
from holdfast.cli.progress import progress_bars


@common.reports_errors
def fit_command(
    data: Annotated[str, typer.Argument(help="Name of a data set (wine), a table in a file, or - for stdin.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", parser=common.out_path, metavar="PATH", help="The model file to write.")
    ],
    target: common.Target = None,
    base: Annotated[
        bool, typer.Option("--base", help="Train LMNN, and do not choose among families of models.")
    ] = False,
    radius: Annotated[float, typer.Option(help="Radius to tune at, in standard deviations.")] = 0.5,
    tune: common.Tune = "certified",
    neighbors: common.Neighbors = 3,
    draws: common.Draws = 8,
    class_weight: common.ClassWeight = "auto",
    drop: common.Drop = None,
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
    seed: common.Seed = 0,
    jobs: common.Jobs = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Choose the model that certifies most, train it on all rows and write it to a file.

    Examples:

        holdfast fit wine --out wine.holdfast

        holdfast fit patients.csv --target diagnosis --out patients.holdfast --tune none
    """
    with stops_at_once():
        from holdfast.auditing.candidates import label
        from holdfast.auditing.run import train
        from holdfast.datasets import ReadOptions, open_data
        from holdfast.datasets.checks import Repairs
        from holdfast.files.model_file import save

    common.check_file(out, force)
    options = ReadOptions(encoding, decimal, thousands, tuple(missing or ()))
    dataset = open_data(data, target, drop=drop or (), drop_unlabelled=drop_unlabelled, options=options)
    with progress_bars(quiet=json, certifies=tune == "certified") as progress:
        model, settings, notes = train(
            dataset, robust=not base, radius=radius, tune=tune, n_neighbors=neighbors, n_draws=draws,
            class_weight=common.none_or_value(class_weight),
            categorical=categorical or (), dates=dates or (), random_state=seed, n_jobs=jobs, progress=progress,
            repairs=Repairs(drop_small, merge_small, drop_duplicates),
        )  # fmt: skip
    save(model, out, data=dataset.name, target=dataset.target_name, data_hash=dataset.digest, settings=settings)
    if json:
        print_json({"model": out, "settings": settings, "notes": notes, "classes": model.classes_})
        return
    words = {name.removeprefix("perturbation__"): value for name, value in settings.items() if name != "family"}
    words = {name.replace("vote__n_neighbors", "k").removeprefix("vote__"): value for name, value in words.items()}
    chosen = ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in words.items()
    )
    method = label(settings) if "family" in settings else "LMNN" if base else "LMNN-PL"
    print_line(f"{method} on {len(dataset.y):,} rows of {dataset.name}: {chosen}")
    print_notes(notes)
    print_line(f"Model: {out}")
