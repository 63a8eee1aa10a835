"""The main job in one call: train a metric and its robust twin, certify both, attack both."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np

from holdfast.audit.prepare import fit_encoder, limit_rows, split, tuning_rows
from holdfast.audit.progress import StageProgress, no_progress
from holdfast.audit.result import AuditResult
from holdfast.audit.tables import certify_rows
from holdfast.audit.train import MAX_TRAIN_ROWS, fit_pipeline
from holdfast.audit.tune import check_settings, make_lmnn, tune_lmnn
from holdfast.certificates.certify import DEFAULT_BUDGET
from holdfast.datasets.open import open_data
from holdfast.parameters import check_count
from holdfast.persistence import versions

MAX_TEST_ROWS = 1_000  # rows that are certified


def audit(
    data,
    target: str | None = None,
    *,
    radius: float = 0.5,
    tune: str = "certified",
    n_neighbors: int = 3,
    test_size: float = 0.3,
    n_draws: int = 16,
    budget: int = DEFAULT_BUDGET,
    categorical: Sequence[str] = (),
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: StageProgress = no_progress,
) -> AuditResult:
    """Split, tune and train LMNN and its robust twin, certify and attack both on the test rows.

    Numbers are imputed by their median and standardised, categories one-hot encoded and taken to be frozen.
    Radii are in standard deviations of the training rows: a move δ has the length ``‖δ / scale‖₂``.

    Parameters
    ----------
    data : Dataset, str or path
        A data set, its name, or a CSV, Parquet or npz file.
    target : str, optional
        The column of a table to predict.
    radius : float, default=0.5
        Radius at which certified accuracy is reported, and tuned.
    tune : {"certified", "accuracy", "none"}, default="certified"
        The score by which parameters are chosen: certified accuracy at ``radius``, or accuracy (the paper's
        way); "none" takes fixed values.
    n_neighbors : int, default=3
    test_size : float, default=0.3
        Share of the rows that is kept for the test, in every class.
    n_draws : int, default=16
        Candidates for the robust twin.
    budget : int, default=2000
        Nodes a row may take in the exact search; the bounds hold whatever it is.
    categorical : sequence of str, default=()
        Columns of numbers that are codes of categories.
    random_state : int, default=0
        Random seed.
    n_jobs : int or None, default=None
        Threads.
    progress : callable, optional
        Called with the name of a stage, the steps done and their total.

    Returns
    -------
    AuditResult

    Notes
    -----
    Large data are thinned, class by class, and the notes say so: 20,000 rows for training, 1,000 for the
    test, 2,000 (fewer with many features) for tuning.

    Examples
    --------
    >>> from holdfast.audit import audit
    >>> result = audit("iris", tune="none")
    >>> found = result.accuracies()["robust"]
    >>> bool(found["certified"] <= found["attacked"] <= found["accuracy"])
    True
    """
    check_settings(radius, tune, n_neighbors)
    check_count("audit", "budget", budget, at_least=0)
    seconds: dict[str, float] = {}
    with _timed(seconds, "read"):
        dataset = open_data(data, target)
    with _timed(seconds, "prepare"):
        y, notes = dataset.labels, list(dataset.notes)
        train, test = split(y, test_size, random_state)
        train = limit_rows(train, y, MAX_TRAIN_ROWS, random_state, "training rows", notes)
        test = limit_rows(test, y, MAX_TEST_ROWS, random_state, "test rows", notes)
        encoder, table = fit_encoder(dataset, train, categorical, notes)
        X_train, X_test = encoder.encode(table.iloc[train]), encoder.encode(table.iloc[test])
        y_train, y_test = y[train], y[test]
        tuned = np.arange(len(train))
        if tune != "none":
            tuned = tuning_rows(y_train, X_train.shape[1], random_state, notes)
    frozen = encoder.frozen_ if encoder.frozen_.any() else None
    settings: dict = {
        "radius": radius, "tune": tune, "n_neighbors": n_neighbors, "test_size": test_size, "n_draws": n_draws,
        "budget": budget, "random_state": random_state,
    }  # fmt: skip
    models, certificates = {}, {}
    for which in ("base", "robust"):
        robust = which == "robust"
        with _timed(seconds, f"tune {which}"):
            settings[which] = tune_lmnn(
                X_train[tuned], y_train[tuned], robust=robust, tune=tune, radius=radius, frozen=frozen,
                n_neighbors=n_neighbors, n_draws=n_draws, random_state=random_state, n_jobs=n_jobs,
                progress=progress,
            )  # fmt: skip
        stage = f"Training the {which} model"
        progress(stage, 0, 1)
        with _timed(seconds, f"train {which}"):
            metric = make_lmnn(robust, settings[which])
            models[which], caught = fit_pipeline(X_train, y_train, metric, n_neighbors, n_jobs)
        notes += [f"The {which} model: {warning}" for warning in caught]
        progress(stage, 1, 1)
    for which, model in models.items():
        stage = f"Certifying and attacking the {which} model"
        progress(stage, 0, len(test))
        with _timed(seconds, f"certify {which}"):
            certificates[which] = certify_rows(
                model, X_test, y_test, frozen=frozen, budget=budget, n_jobs=n_jobs,
                progress=partial(progress, stage),
            )  # fmt: skip
    return AuditResult(
        name=dataset.name,
        target=dataset.target_name,
        feature_names=list(encoder.feature_names_),
        frozen=encoder.frozen_,
        classes=np.unique(y).tolist(),
        X_train=X_train,
        y_train=y_train,
        X_test=X_test,
        y_test=y_test,
        scale=models["base"][0].scale_,
        radius=radius,
        models=models,
        methods={"base": "LMNN", "robust": "LMNN-PL"},
        certificates=certificates,
        settings=settings,
        versions=versions(),
        data_hash=dataset.digest,
        seconds=seconds,
        notes=notes,
        encoder=encoder,
    )


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Write the duration of the block to ``seconds[stage]``."""
    began = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - began
