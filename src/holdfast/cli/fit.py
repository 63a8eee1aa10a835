"""``holdfast fit``: a model file from a table."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli import common


@common.told
def fit(
    data: Annotated[str, typer.Argument(help="Name of a data set (wine), or a CSV, Parquet or npz file.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write.")],
    target: common.Target = None,
    base: Annotated[bool, typer.Option("--base", help="Plain LMNN, without the perturbation loss.")] = False,
    radius: Annotated[float, typer.Option(help="Where to tune, in standard deviations.")] = 0.5,
    tune: Annotated[str, typer.Option(help="certified, accuracy (the paper's way) or none.")] = "certified",
    neighbors: Annotated[int, typer.Option(help="Neighbours that vote.")] = 3,
    draws: Annotated[int, typer.Option(help="Candidates tried.")] = 16,
    drop: common.Drop = None,
    categorical: common.Categorical = None,
    drop_unlabelled: common.DropUnlabelled = False,
    seed: Annotated[int, typer.Option(help="Of folds and draws.", min=0)] = 0,
    jobs: common.Jobs = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Train a robust model on all rows and write it to a file.

    Examples:

        holdfast fit wine --out wine.holdfast

        holdfast fit patients.csv --target diagnosis --out patients.holdfast --tune none
    """
    from holdfast import save
    from holdfast.audit import train
    from holdfast.datasets import open_data

    common.check_file(out, force)
    dataset = open_data(data, target, drop=drop or (), drop_unlabelled=drop_unlabelled)
    with common.shown_progress(quiet=json) as progress:
        model, settings, notes = train(
            dataset, robust=not base, radius=radius, tune=tune, n_neighbors=neighbors, n_draws=draws,
            categorical=categorical or (), random_state=seed, n_jobs=jobs, progress=progress,
        )  # fmt: skip
    save(model, out, data=dataset.name, target=dataset.target_name, data_hash=dataset.digest, settings=settings)
    if json:
        common.print_json({"model": out, "settings": settings, "notes": notes, "classes": model.classes_})
        return
    console = common.console()
    console.print(f"{'LMNN' if base else 'LMNN-PL'} on {len(dataset.y):,} rows of {dataset.name}: " + _told(settings))
    for note in notes:
        console.print(f"Note: {note}", soft_wrap=True)
    console.print(f"Model: {out}", soft_wrap=True)


def _told(settings: dict) -> str:
    return ", ".join(f"{name.removeprefix('perturbation__')} {value:.3g}" for name, value in settings.items())
