"""Train one model on a whole table: encoder, scaler and the classifier that a search has chosen, or LMNN."""

from collections.abc import Sequence

import numpy as np
from sklearn.pipeline import Pipeline

from holdfast.audit.candidates import Training, choose_candidates
from holdfast.audit.prepare import check_classes, fit_encoder, inspect, limit_rows, tuning_rows
from holdfast.audit.progress import StageProgress, no_progress
from holdfast.audit.tune import check_settings, weighing
from holdfast.datasets.checks import Repairs
from holdfast.datasets.open import open_data

MAX_TRAIN_ROWS = 20_000  # the search for triplets takes time with the square of the rows


def train(
    data,
    target: str | None = None,
    *,
    robust: bool = True,
    radius: float = 0.5,
    tune: str = "certified",
    n_neighbors: int = 3,
    n_draws: int = 8,
    class_weight: str | None = "auto",
    categorical: Sequence[str] = (),
    dates: Sequence[str] = (),
    repairs: Repairs | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: StageProgress = no_progress,
) -> tuple[Pipeline, dict, list[str]]:
    """Tune and train one model on all rows, as :func:`audit` does on the training rows.

    Parameters
    ----------
    data, target
        As for :func:`audit`.
    robust : bool, default=True
        True: the best of all families (:class:`~holdfast.RobustClassifierCV`). False: LMNN.
    radius, tune, n_neighbors, n_draws, class_weight, categorical, dates, repairs, random_state, n_jobs, progress
        As for :func:`audit`.

    Returns
    -------
    model : Pipeline
        Takes the table.
    settings : dict
        The parameters chosen.
    notes : list of str
    """
    check_settings(radius, tune, n_neighbors)
    dataset, _ = inspect(open_data(data, target), categorical, dates, repairs)
    y, notes = dataset.labels, list(dataset.notes)
    check_classes(y)
    rows = limit_rows(np.arange(len(y)), y, MAX_TRAIN_ROWS, random_state, "rows", notes)
    encoder, table = fit_encoder(dataset, rows, categorical, dates, notes)
    X, y = encoder.encode(table.iloc[rows]), y[rows]
    tuned = np.arange(len(y)) if tune == "none" else tuning_rows(y, X.shape[1], random_state, notes)
    frozen = encoder.frozen_ if encoder.frozen_.any() else None
    weights = weighing(y, class_weight)
    training = Training(
        X, y, tuned, frozen, radius, tune, n_neighbors, n_draws, random_state, n_jobs, progress, class_weight=weights
    )
    (candidate,) = choose_candidates(["robust" if robust else "base"])
    fitted = candidate.fit(training)
    return Pipeline([("table", encoder), *fitted.model.steps]), fitted.settings, notes + fitted.warnings
