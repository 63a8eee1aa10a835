"""``audit``: check the table, train, certify, explain."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from holdfast.auditing.allowed_moves import AllowedMoves, allowed_moves, category_groups
from holdfast.auditing.candidates import Candidate, TrainingTask, check_settings, choose_candidates, weighing
from holdfast.auditing.existing import audit_model
from holdfast.auditing.explain import EXPLAINED, ask_dependence, explain_rows, sensitive_columns
from holdfast.auditing.prepare import (
    StageProgress,
    certify_rows,
    check_classes,
    fit_encoder,
    inspect,
    limit_rows,
    no_progress,
    row_budget,
    split,
    tuning_rows,
)
from holdfast.auditing.result import AuditResult
from holdfast.certificates.certificate import Certificate
from holdfast.certificates.threat import Threat
from holdfast.datasets.checks import Repairs
from holdfast.datasets.encoder import TableEncoder
from holdfast.datasets.load import open_data
from holdfast.datasets.tables import Dataset
from holdfast.files.archive import versions

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
    training = TrainingTask(
        X, y, tuned, frozen, radius, tune, n_neighbors, n_draws, random_state, n_jobs, progress, class_weight=weights
    )
    (candidate,) = choose_candidates(["robust" if robust else "base"])
    fitted = candidate.fit(training)
    return Pipeline([("table", encoder), *fitted.model.steps]), fitted.settings, notes + fitted.warnings


MAX_TEST_ROWS = 1_000  # rows that are certified


def audit(
    data=None,
    target: str | None = None,
    *,
    model=None,
    X=None,
    y=None,
    reference=None,
    radius: float = 0.5,
    models: Sequence[str] | None = None,
    tune: str = "certified",
    n_neighbors: int = 3,
    test_size: float = 0.3,
    n_draws: int = 8,
    class_weight: str | None = "auto",
    budget: int | None = None,
    drop: Sequence[str] = (),
    id: str | None = None,
    threat: Threat | None = None,
    sensitive: Sequence[str] = (),
    categorical: Sequence[str] = (),
    dates: Sequence[str] = (),
    repairs: Repairs | None = None,
    explain: int | Sequence = EXPLAINED,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: StageProgress = no_progress,
) -> AuditResult:
    """Split a table, train the candidates, certify and attack each on the test rows; or certify and attack one model.

    Numbers are imputed by their median and standardised, categories one-hot encoded and taken to be frozen.
    Radii are in standard deviations of the training rows: a move δ has the length ``‖δ / scale‖₂``.

    Parameters
    ----------
    data : data frame, Dataset, str or path
        A table with the target as a column, a data set, its name, or a file.
    target : str, optional
        The column of a table to predict.
    model : fitted classifier, optional
        Audit this one as it is, on the rows X and labels y (or on ``data`` and ``target``); whatever
        :func:`holdfast.certify` takes. Nothing is trained but the baselines, and those only with a ``reference``.
    X, y : optional
        Rows as the model takes them, which it was not trained on, and their labels.
    reference : tuple (X_train, y_train), optional
        The rows the model was trained on, and their labels: needed for baselines.
    radius : float, default=0.5
        Radius at which certified accuracy is reported, and tuned.
    models : sequence of str, optional
        Keys of the candidates to compare; by default all of
        :data:`holdfast.auditing.candidates.CANDIDATES`.
    tune : {"certified", "accuracy", "none"}, default="certified"
        The score by which models are chosen: certified accuracy at ``radius``, weighed with accuracy as by
        :class:`~holdfast.RobustClassifierCV`, or accuracy alone (the paper's way); "none" takes fixed values.
    n_neighbors : int, default=3
        Of plain k-NN and LMNN; the model that is chosen has its own.
    test_size : float, default=0.3
        Share of the rows that is kept for the test, in every class.
    n_draws : int, default=8
        Random draws of the parameters of each family of models, for :class:`~holdfast.RobustClassifierCV`.
    class_weight : {"auto", "balanced"} or None, default="auto"
        "balanced": parameters are chosen by means over classes, so that a rare class counts as much as a frequent
        one. "auto": balanced if the rarest class has less than a fifth of the rows.
    budget : int, optional
        Work that a row may take in searches, in units of about a microsecond, as for :func:`holdfast.certify`; the
        bounds hold whatever it is. By default 40 million for all rows of the test together, and for each 20,000 to
        200,000.
    drop : sequence of str, default=()
        Columns to leave out.
    id : str, optional
        Column that names the rows; by default the index of a data frame, if it is no count.
    threat : Threat, optional
        What may move, by the columns of the table, in place of every number in Euclidean length. Without a ``unit`` of
        its own sizes are in standard deviations; else the radius is in units of the threat.
    sensitive : sequence of str, default=()
        Columns to check whether the answers depend on them; by default those that the threat frees.
    categorical, dates : sequence of str, default=()
        Columns of numbers that are codes of categories; columns of dates, which become days.
    repairs : Repairs, optional
        What to do about small classes and repeated rows.
    explain : int or sequence, default=40
        How many test rows are explained, or which, by their number or name in the table: the report says what would
        have to change for another answer. 0: none.
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
    >>> from holdfast import audit
    >>> result = audit("iris", tune="none")
    >>> scores = result.accuracies()["robust"]
    >>> bool(scores["certified"] <= scores["attacked"] <= scores["accuracy"])
    True
    """
    check_settings(radius, tune, n_neighbors)
    if model is not None:
        return audit_model(
            model, X if X is not None else data, y, target=target, reference=reference, radius=radius, budget=budget,
            drop=drop, id=id, threat=threat, sensitive=sensitive, n_neighbors=n_neighbors, explain=explain,
            random_state=random_state, n_jobs=n_jobs, progress=progress,
        )  # fmt: skip
    if data is None:
        raise ValueError("Give a table (data and target), or a fitted model with rows: audit(model=..., X=..., y=...).")
    if X is not None or y is not None or reference is not None:
        raise ValueError("X, y and reference are for audit(model=...); a table is given as data and target.")
    candidates = choose_candidates(models)
    seconds: dict[str, float] = {}
    with timed(seconds, "read"):
        dataset = open_data(data, target, drop=drop, id=id)
    with timed(seconds, "check"):
        dataset, findings = inspect(dataset, categorical, dates, repairs)
    notes = list(dataset.notes)
    with timed(seconds, "prepare"):
        table = _prepare(dataset, test_size, tune, categorical, dates, random_state, notes)
    budget = row_budget(budget, len(table.X_test))
    scaler = StandardScaler().fit(table.X_train)
    allowed = allowed_moves(
        threat, table.encoder.feature_names_, table.encoder.frozen_, category_groups(table.encoder), table.X_train,
        scaler.scale_,
    )  # fmt: skip
    columns_asked = sensitive_columns(allowed, sensitive)
    frozen = allowed.frozen if allowed.frozen.any() else None
    settings: dict = {
        "radius": radius, "tune": tune, "n_neighbors": n_neighbors, "test_size": test_size, "n_draws": n_draws,
        "class_weight": weighing(table.y_train, class_weight), "budget": budget, "random_state": random_state,
    }  # fmt: skip
    training = TrainingTask(
        table.X_train, table.y_train, table.tuned, frozen, radius, tune, n_neighbors, n_draws, random_state, n_jobs,
        progress, None if threat is None else allowed.for_tuning(scaler.mean_, scaler.scale_), class_weight, budget,
    )  # fmt: skip
    fitted, methods = _train(candidates, training, settings, notes, seconds, progress)
    certificates = _certify(fitted, methods, table, allowed, budget, n_jobs, seconds, progress)
    with timed(seconds, "dependence"):
        dependences = ask_dependence(
            fitted, columns_asked, allowed, lambda key: (table.X_test, False, {}), table.X_train, radius, progress,
            budget=budget, n_jobs=n_jobs,
        )  # fmt: skip
    numbers = np.arange(1, len(dataset.labels) + 1) if dataset.row_numbers is None else dataset.row_numbers
    ids = dataset.row_ids
    result = AuditResult(
        name=dataset.name,
        target=dataset.target_name,
        feature_names=list(table.encoder.feature_names_),
        frozen=allowed.frozen,
        classes=np.unique(dataset.labels).tolist(),
        X_train=table.X_train,
        y_train=table.y_train,
        X_test=table.X_test,
        y_test=table.y_test,
        scale=scaler.scale_,
        radius=radius,
        models=fitted,
        methods=methods,
        certificates=certificates,
        settings=settings,
        versions=versions(),
        data_hash=dataset.digest,
        seconds=seconds,
        notes=notes,
        encoder=table.encoder,
        about={candidate.key: candidate.about for candidate in candidates},
        origins=table.encoder.origins(),
        findings=findings,
        test_rows=numbers[table.test],
        train_rows=numbers[table.train],
        test_ids=None if ids is None else ids[table.test],
        train_ids=None if ids is None else ids[table.train],
        allowed=allowed,
        dependence=dependences,
    )
    with timed(seconds, "explain"):
        explained = explain_rows(result, explain, budget=budget, n_jobs=n_jobs, progress=progress)
    return replace(result, explained=explained)


class _SplitTable(NamedTuple):
    """A table as training and test rows of numbers.

    Attributes
    ----------
    train, test : ndarrays of int
        Positions of the rows in the data set.
    tuned : ndarray of int
        Positions among the training rows of those that parameters are chosen on.
    """

    encoder: TableEncoder
    train: np.ndarray
    test: np.ndarray
    tuned: np.ndarray
    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def _prepare(
    dataset: Dataset, test_size: float, tune: str, categorical: Sequence[str], dates: Sequence[str],
    random_state: int, notes: list[str],
) -> _SplitTable:  # fmt: skip
    """Split, thin and encode the rows; ``notes`` gets what was done to them."""
    labels = dataset.labels
    train, test = split(labels, test_size, random_state)
    train = limit_rows(train, labels, MAX_TRAIN_ROWS, random_state, "training rows", notes)
    test = limit_rows(test, labels, MAX_TEST_ROWS, random_state, "test rows", notes)
    encoder, frame = fit_encoder(dataset, train, categorical, dates, notes)
    X_train, X_test = encoder.encode(frame.iloc[train]), encoder.encode(frame.iloc[test])
    y_train, y_test = labels[train], labels[test]
    tuned = np.arange(len(train))
    if tune != "none":
        tuned = tuning_rows(y_train, X_train.shape[1], random_state, notes)
    return _SplitTable(encoder, train, test, tuned, X_train, y_train, X_test, y_test)


def _train(
    candidates: list[Candidate], training: TrainingTask, settings: dict, notes: list[str], seconds: dict[str, float],
    progress: StageProgress,
) -> tuple[dict[str, Pipeline], dict[str, str]]:  # fmt: skip
    """Train the candidates: models and names of methods by key; ``settings`` and ``notes`` get what they report."""
    models, methods = {}, {}
    for candidate in candidates:
        stage = f"Training: {candidate.method}"
        progress(stage, 0, 1)
        with timed(seconds, f"train {candidate.key}"):
            fitted = candidate.fit(training)
        progress(stage, 1, 1)
        models[candidate.key] = fitted.model
        methods[candidate.key] = fitted.method or candidate.method
        if fitted.settings:
            settings[candidate.key] = fitted.settings
        notes += [f"{methods[candidate.key]}: {warning}" for warning in fitted.warnings]
    return models, methods


def _certify(
    models: dict[str, Pipeline], methods: dict[str, str], table: _SplitTable, allowed: AllowedMoves, budget: int,
    n_jobs: int | None, seconds: dict[str, float], progress: StageProgress,
) -> dict[str, Certificate]:  # fmt: skip
    """Certify and attack the test rows under every model."""
    certificates = {}
    for key, model in models.items():
        stage = f"Certifying and attacking: {methods[key]}"
        progress(stage, 0, len(table.test))
        with timed(seconds, f"certify {key}"):
            certificate = certify_rows(
                model, table.X_test, table.y_test, threat=allowed.numbered, budget=budget, n_jobs=n_jobs,
                progress=partial(progress, stage),
            )  # fmt: skip
        certificates[key] = replace(certificate, units=allowed.units)
    return certificates


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Write the duration of the block to ``seconds[stage]``."""
    began = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - began
