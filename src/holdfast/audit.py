"""The main job in one call: train a metric and its robust twin, certify both, attack both."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from sklearn.pipeline import Pipeline

from holdfast.certificates.certificate import Certificate
from holdfast.datasets.dataset import Dataset
from holdfast.datasets.encoder import TableEncoder
from holdfast.datasets.open import open_data
from holdfast.parameters import check_number
from holdfast.persistence import versions
from holdfast.tables import certify_rows
from holdfast.training import (
    Progress,
    check_classes,
    check_settings,
    choose,
    fit_pipeline,
    learner,
    silent,
    split,
    subsample,
)

MAX_TRAIN = 20_000  # rows the models are trained on
MAX_TEST = 1_000  # rows that are certified
_TUNED, _CELLS = 2_000, 60_000  # rows for tuning, and rows × features; never fewer than 300 rows


@dataclass(frozen=True, eq=False)
class AuditResult:
    """Everything an audit found; a report is made of this alone.

    Attributes
    ----------
    name : str
        Of the data set, or of the file it came from.
    target : str
        Name of the column that is predicted.
    feature_names : list of str
        The columns of X, numeric (after one-hot encoding, if there was any).
    frozen : ndarray of bool of shape (n_features,)
        Features an attacker is taken not to move (encoded categories).
    classes : list
        The labels.
    X_train, y_train, X_test, y_test : ndarrays
        In raw units.
    scale : ndarray of shape (n_features,)
        Standard deviation of each feature in the training part: a radius of 1 is a move of one of these.
    radius : float
        The radius asked for, in standardised units.
    models : dict
        ``"base"`` and ``"robust"``: fitted pipelines that take raw rows.
    methods : dict
        What each is, in words: ``{"base": "LMNN", "robust": "LMNN-PL"}``.
    certificates : dict
        Of the test part, by model; radii in standardised units, adversarial rows in raw units.
    settings, versions : dict
        What was asked for and chosen; the packages it ran on.
    data_hash : str
        SHA-256 of the data.
    seconds : dict
        Time of each stage.
    notes : list of str
        What was done to the data, in sentences.
    encoder : TableEncoder or None
        What made X of the table.
    """

    name: str
    target: str
    feature_names: list[str]
    frozen: np.ndarray
    classes: list
    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    scale: np.ndarray
    radius: float
    models: dict[str, Pipeline]
    methods: dict[str, str]
    certificates: dict[str, Certificate]
    settings: dict = field(default_factory=dict)
    versions: dict = field(default_factory=dict)
    data_hash: str = ""
    seconds: dict = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    encoder: TableEncoder | None = None

    def model(self, which: str = "robust") -> Pipeline:
        """Encoder and model in one pipeline that takes the user's table: what is worth saving."""
        front = [] if self.encoder is None else [("table", self.encoder)]
        return Pipeline([*front, *self.models[which].steps])

    def accuracies(self) -> dict[str, dict[str, float]]:
        """By model: accuracy, then accuracy under attack and certified accuracy at the radius, median radius."""
        found = {}
        for which, certificate in self.certificates.items():
            finite = certificate.radius[np.isfinite(certificate.radius)]
            found[which] = {
                "accuracy": float(certificate.certified_accuracy(self.y_test, 0.0)),
                "attacked": float(certificate.attacked_accuracy(self.y_test, self.radius)),
                "certified": float(certificate.certified_accuracy(self.y_test, self.radius)),
                "median_radius": float(np.median(finite)) if finite.size else float("inf"),
            }
        return found


def audit(
    data,
    target: str | None = None,
    *,
    radius: float = 0.5,
    tune: str = "certified",
    n_neighbors: int = 3,
    test_size: float = 0.3,
    n_draws: int = 16,
    budget: float = 0.1,
    categorical: Sequence[str] = (),
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress = silent,
) -> AuditResult:
    """Split, tune, train LMNN and its robust twin, certify both on the test part, attack both.

    Numbers are imputed by their median and standardised, categories one-hot encoded and taken to be frozen.
    Radii are in standard deviations of the training rows: a move δ has the length ``‖δ / scale‖₂``.

    Parameters
    ----------
    data : Dataset, str or path
        A data set, its name, or a CSV, Parquet or npz file.
    target : str, optional
        The column of a table to predict.
    radius : float, default=0.5
        Where certified accuracy is read, and tuned.
    tune : {"certified", "accuracy", "none"}, default="certified"
        See :func:`holdfast.training.choose`.
    n_neighbors : int, default=3
    test_size : float, default=0.3
        Share of the rows that is kept for the test, of every class alike.
    n_draws : int, default=16
        Candidates for the robust twin.
    budget : float, default=0.1
        Seconds a row may take in the exact search; the bounds hold whatever it is.
    categorical : sequence of str, default=()
        Columns of numbers that stand for categories.
    random_state : int, default=0
        Seeds split, folds and draws.
    n_jobs : int or None, default=None
        Threads.
    progress : callable, optional
        Called with the stage, what is done and what there is to do.

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
    check_number("audit", "budget", budget, at_least=0)
    seconds: dict[str, float] = {}
    with _timed(seconds, "read"):
        dataset = open_data(data, target)
    with _timed(seconds, "prepare"):
        y, notes = dataset.labels, list(dataset.notes)
        rows, test = split(y, test_size, random_state)
        rows = _thinned(rows, y, MAX_TRAIN, random_state, "training rows", notes)
        test = _thinned(test, y, MAX_TEST, random_state, "test rows", notes)
        encoder, table = encode(dataset, rows, categorical, notes)
        X_train, X_test = encoder.transform(_rows(table, rows)), encoder.transform(_rows(table, test))
        tuned = _for_tuning(y[rows], X_train.shape[1], tune, random_state, notes)
    frozen = encoder.frozen_ if encoder.frozen_.any() else None
    settings: dict = {
        "radius": radius, "tune": tune, "n_neighbors": n_neighbors, "test_size": test_size, "n_draws": n_draws,
        "budget": budget, "random_state": random_state,
    }  # fmt: skip
    models, certificates = {}, {}
    for which in ("base", "robust"):
        robust = which == "robust"
        with _timed(seconds, f"tune {which}"):
            settings[which] = choose(
                X_train[tuned], y[rows][tuned], robust=robust, tune=tune, radius=radius, frozen=frozen,
                n_neighbors=n_neighbors, n_draws=n_draws, random_state=random_state, n_jobs=n_jobs,
                progress=progress,
            )  # fmt: skip
        stage = f"Training the {which} model"
        progress(stage, 0, 1)
        with _timed(seconds, f"train {which}"):
            metric = learner(robust, settings[which])
            models[which], said = fit_pipeline(X_train, y[rows], metric, n_neighbors, n_jobs)
        notes += [f"The {which} model: {sentence}" for sentence in said]
        progress(stage, 1, 1)
    for which, model in models.items():
        stage = f"Certifying and attacking the {which} model"
        progress(stage, 0, len(test))
        with _timed(seconds, f"certify {which}"):
            certificates[which] = certify_rows(
                model, X_test, y[test], frozen=frozen, budget=budget, n_jobs=n_jobs,
                progress=partial(progress, stage),
            )  # fmt: skip
    return AuditResult(
        name=dataset.name,
        target=dataset.target_name,
        feature_names=list(encoder.feature_names_),
        frozen=encoder.frozen_,
        classes=np.unique(y).tolist(),
        X_train=X_train,
        y_train=y[rows],
        X_test=X_test,
        y_test=y[test],
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
    progress: Progress = silent,
) -> tuple[Pipeline, dict, list[str]]:
    """One model on all rows, as :func:`audit` trains it on some.

    Parameters
    ----------
    robust : bool, default=True
        With the perturbation loss.
    data, target, radius, tune, n_neighbors, n_draws, categorical, random_state, n_jobs, progress
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
    rows = _thinned(np.arange(len(y)), y, MAX_TRAIN, random_state, "rows", notes)
    encoder, table = encode(dataset, rows, categorical, notes)
    X = encoder.transform(_rows(table, rows))
    tuned = _for_tuning(y[rows], X.shape[1], tune, random_state, notes)
    settings = choose(
        X[tuned], y[rows][tuned], robust=robust, tune=tune, radius=radius, n_neighbors=n_neighbors,
        frozen=encoder.frozen_ if encoder.frozen_.any() else None, n_draws=n_draws, random_state=random_state,
        n_jobs=n_jobs, progress=progress,
    )  # fmt: skip
    model, said = fit_pipeline(X, y[rows], learner(robust, settings), n_neighbors, n_jobs)
    return Pipeline([("table", encoder), *model.steps]), settings, notes + said


def _for_tuning(y: np.ndarray, n_features: int, tune: str, random_state: int, notes: list[str]) -> np.ndarray:
    """The rows parameters are tuned on; ``notes`` are added to if they are not all."""
    if tune == "none":
        return np.arange(len(y))
    tuned = subsample(y, max(300, min(_TUNED, _CELLS // n_features)), random_state)
    if len(tuned) < len(y):
        notes.append(f"Parameters were tuned on {len(tuned):,} of the {len(y):,} training rows.")
    return tuned


def encode(dataset: Dataset, train: np.ndarray, categorical: Sequence[str], notes: list[str]):
    """An encoder fitted on the training rows, and the table it takes; ``notes`` are added to."""
    table = dataset.X
    if isinstance(table, np.ndarray):
        from pandas import DataFrame

        table = DataFrame(table, columns=dataset.feature_names)
    encoder = TableEncoder(list(categorical)).fit(_rows(table, train))
    if encoder.frozen_.all():
        raise ValueError(
            "Every column holds categories: there is no number that could move, so nothing to certify. Is a column "
            "of numbers read as words?"
        )
    notes += encoder.notes(table)
    constant = [n for n in encoder.medians_ if table[n].nunique() <= 1]
    if constant:
        notes.append(f"The same in every row, so without influence: {', '.join(constant[:10])}.")
    return encoder, table


def _rows(table, rows: np.ndarray):
    return table.iloc[rows]


def _thinned(rows: np.ndarray, y: np.ndarray, at_most: int, seed: int, what: str, notes: list[str]) -> np.ndarray:
    """No more than about so many of the rows, of each class in proportion; ``notes`` are added to."""
    if len(rows) <= at_most:
        return rows
    kept = rows[subsample(y[rows], at_most, seed)]
    notes.append(f"{len(kept):,} of {len(rows):,} {what} were used, drawn at random from each class.")
    return kept


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - began
