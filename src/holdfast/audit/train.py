"""Train one model: scaler, metric, nearest neighbours."""

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from holdfast.audit.prepare import check_classes, fit_encoder, limit_rows, tuning_rows
from holdfast.audit.progress import StageProgress, no_progress
from holdfast.audit.tune import check_settings, make_lmnn, tune_lmnn
from holdfast.datasets.open import open_data
from holdfast.learners import LMNN
from holdfast.models import CertifiedKNeighborsClassifier

MAX_TRAIN_ROWS = 20_000


def train(
    data,
    target: str | None = None,
    *,
    robust: bool = True,
    radius: float = 0.5,
    tune: str = "certified",
    n_neighbors: int = 3,
    n_draws: int = 16,
    categorical: Sequence[str] = (),
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
        With the perturbation loss.
    radius, tune, n_neighbors, n_draws, categorical, random_state, n_jobs, progress
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
    dataset = open_data(data, target)
    y, notes = dataset.labels, list(dataset.notes)
    check_classes(y)
    rows = limit_rows(np.arange(len(y)), y, MAX_TRAIN_ROWS, random_state, "rows", notes)
    encoder, table = fit_encoder(dataset, rows, categorical, notes)
    X, y = encoder.encode(table.iloc[rows]), y[rows]
    tuned = np.arange(len(y)) if tune == "none" else tuning_rows(y, X.shape[1], random_state, notes)
    settings = tune_lmnn(
        X[tuned], y[tuned], robust=robust, tune=tune, radius=radius, n_neighbors=n_neighbors,
        frozen=encoder.frozen_ if encoder.frozen_.any() else None, n_draws=n_draws, random_state=random_state,
        n_jobs=n_jobs, progress=progress,
    )  # fmt: skip
    model, caught = fit_pipeline(X, y, make_lmnn(robust, settings), n_neighbors, n_jobs)
    return Pipeline([("table", encoder), *model.steps]), settings, notes + caught


def fit_pipeline(X: np.ndarray, y: np.ndarray, metric: LMNN, n_neighbors: int, n_jobs=None) -> tuple[Pipeline, list]:
    """Fit scaler and k-NN under the metric; return the pipeline and the convergence warnings as sentences."""
    classifier = CertifiedKNeighborsClassifier(metric.set_params(n_jobs=n_jobs), n_neighbors, n_jobs)
    model = Pipeline([("scale", StandardScaler()), ("knn", classifier)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, y)
    return model, [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
