"""The audit of a model that is already in use: certified as it is, on rows it was not trained on."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from holdfast.audit.allowed_moves import allowed_moves, category_groups
from holdfast.audit.candidates import Training, choose_candidates
from holdfast.audit.category_cells import cells_as_numbers, coded
from holdfast.audit.dependence import ask_dependence, sensitive_columns
from holdfast.audit.explained import EXPLAINED, explain_rows
from holdfast.audit.new_rows import read_new_rows, split_encoder
from holdfast.audit.progress import StageProgress, no_progress
from holdfast.audit.result import AuditResult
from holdfast.audit.table_baselines import table_baselines
from holdfast.audit.tables import certify_rows, match_labels
from holdfast.certificates.certify import DEFAULT_BUDGET
from holdfast.certificates.threat import Threat
from holdfast.certificates.training_rows import deviations
from holdfast.datasets.dataset import Dataset
from holdfast.datasets.open import open_data
from holdfast.datasets.table import row_names
from holdfast.numerics.frames import as_pandas
from holdfast.persistence import versions

BASELINES = ("logistic", "knn")  # that are trained on the reference rows, to compare with


def audit_model(
    model,
    X,
    y=None,
    *,
    target: str | None = None,
    reference=None,
    radius: float = 0.5,
    budget: int = DEFAULT_BUDGET,
    drop: Sequence[str] = (),
    id: str | None = None,
    threat: Threat | None = None,
    sensitive: Sequence[str] = (),
    n_neighbors: int = 3,
    explain: int | Sequence = EXPLAINED,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: StageProgress = no_progress,
) -> AuditResult:
    """Certify and attack a fitted model on labelled rows.

    Moves are measured in standard deviations of the reference rows; without a reference, in those by which the model's
    own first scaler divides, or else in those of X. Columns of words, and the columns that a
    :class:`~holdfast.datasets.TableEncoder` encodes, are frozen.

    Parameters
    ----------
    model, X, y, target, reference, radius, budget, drop, id, threat, sensitive, n_neighbors, explain, random_state, \
n_jobs, progress
        As for :func:`holdfast.audit.audit`.

    Returns
    -------
    AuditResult
        The model's key is ``"yours"``; with a reference, ``"logistic"`` and ``"knn"`` are trained on it.
    """
    began = time.perf_counter()
    X, y = as_pandas(X), as_pandas(y)
    reference = reference if reference is None else tuple(as_pandas(part) for part in reference)
    table, y, name, ids, numbers, notes = _labelled_rows(model, X, y, target, drop, id)
    encoder, part = split_encoder(model)
    inner: Any = part
    if encoder is not None:
        rows = read_new_rows(model, table)
        notes += rows.notes()
        given, matrix = rows.matrix, rows.matrix
        names, origins = list(encoder.feature_names_), encoder.origins()
        categories, words = encoder.frozen_, {}
    else:
        given, matrix, names, words = _as_matrix(inner, table)
        origins, categories = list(names), np.isin(np.arange(len(names)), list(words))
    if reference is not None and len(reference) != 2:
        raise ValueError("reference must be a pair: the rows the model was trained on, and their labels.")
    known = given_reference = None
    if reference is not None and encoder is not None:
        given_reference = known = encoder.encode(reference[0])
    elif reference is not None:
        given_reference, known, _, words = _as_matrix(inner, reference[0], words)
    data = matrix if known is None else known
    scale = _scale(inner, data, categories)
    allowed = allowed_moves(threat, names, categories, {} if encoder is None else category_groups(encoder), data, scale)
    frozen, asked = allowed.frozen, sensitive_columns(allowed, sensitive)
    methods = {"yours": type(inner[-1] if hasattr(inner, "steps") else inner).__name__}
    models = {"yours": inner}
    about = {"yours": "The model you have, as it is."}
    settings: dict = {"radius": radius, "budget": budget, "random_state": random_state}
    # Words and gaps are not in the matrix: then the baselines take the table as well.
    by_table = bool(encoder is None and (words or not np.isfinite(data).all()) and hasattr(table, "columns"))
    if known is not None:
        y_known = match_labels(model, reference[1])
        training = Training(known, y_known, np.arange(len(known)), n_neighbors=n_neighbors, n_jobs=n_jobs)
        tables = {}
        if by_table:
            tables = table_baselines(given_reference, y_known, set(words), n_neighbors, n_jobs)
        for candidate in choose_candidates(BASELINES):
            if by_table:
                models[candidate.key] = tables[candidate.key]
            else:
                fitted = candidate.fit(training)
                models[candidate.key] = fitted.model
                notes += [f"{candidate.method}: {warning}" for warning in fitted.warnings]
            methods[candidate.key], about[candidate.key] = candidate.method, candidate.about
    certificates = {}

    def rows_of(key: str) -> tuple:
        if encoder is not None or not (by_table or key == "yours"):
            return matrix, False, {}
        own = {} if known is None or key != "yours" else {"reference": (given_reference, reference[1])}
        return given, True, own

    for key, each in models.items():
        stage = f"Certifying and attacking: {methods[key]}"
        progress(stage, 0, len(matrix))
        rows_own, as_given, options = rows_of(key)
        found = certify_rows(
            each, rows_own, y, threat=allowed.threat if as_given else allowed.numbered, budget=budget, n_jobs=n_jobs,
            progress=partial(progress, stage), **options,
        )  # fmt: skip
        certificates[key] = replace(
            found, units=allowed.units, adversarial=cells_as_numbers(found.adversarial, matrix, frozen, words)
        )
    told = ask_dependence(models, asked, allowed, rows_of, data, radius, progress, budget=budget, n_jobs=n_jobs)
    if known is None:
        notes.append("No training rows were given (reference), so there are no baselines but the most frequent answer.")
    y_train = np.asarray(y if reference is None else reference[1])
    result = AuditResult(
        name=name,
        target=target or "class",
        feature_names=names,
        frozen=frozen,
        classes=np.unique(np.concatenate([np.asarray(inner.classes_).astype(object), y.astype(object)])).tolist(),
        X_train=matrix if known is None else known,
        y_train=y_train,
        X_test=matrix,
        y_test=y,
        scale=scale,
        radius=radius,
        models=models,
        methods=methods,
        certificates=certificates,
        settings=settings,
        versions=versions(),
        data_hash=Dataset(name, table if hasattr(table, "columns") else matrix, y, origins).digest,
        notes=notes,
        encoder=encoder,
        about=about,
        origins=origins,
        test_rows=numbers,
        test_ids=ids,
        rows_given=None if given is matrix else given,
        given_to=tuple(models) if by_table else ("yours",),
        trained_here=known is not None,
        allowed=allowed,
        dependence=told,
        words=words,
    )
    trained_on = None if reference is None else (given_reference, reference[1])
    explained = explain_rows(result, explain, reference=trained_on, budget=budget, n_jobs=n_jobs, progress=progress)
    return replace(result, explained=explained, seconds={"all": time.perf_counter() - began})


def _labelled_rows(model, X, y, target, drop, id):
    """The rows without the target, the labels, a name, ids, row numbers, and notes."""
    if X is None:
        raise ValueError("The model needs rows to be audited on: give X and y, or a table and its target.")
    if y is None or isinstance(X, (str, Dataset)) or hasattr(X, "__fspath__"):
        if y is None and hasattr(X, "columns") and target is None:
            raise ValueError("The rows have no labels: give y, or the name of the target column.")
        dataset = open_data(X, target, drop=drop, id=id)
        labels = match_labels(model, dataset.labels)
        return dataset.frame, labels, dataset.name, dataset.row_ids, dataset.row_numbers, list(dataset.notes)
    labels = np.asarray(y)
    if labels.shape != (len(X),):
        raise ValueError(f"y must have one label for each of the {len(X)} rows; got shape {labels.shape}.")
    names = row_names(X, id) if hasattr(X, "columns") else None
    if hasattr(X, "columns"):
        X = X.drop(columns=[*drop, *([] if id is None else [id])])
    return X, match_labels(model, labels), "your rows", names, np.arange(1, len(labels) + 1), []


def _as_matrix(model, X, known: dict[int, list] | None = None) -> tuple:
    """Rows as the model takes them, and as numbers, words by their codes; names; columns of words -> their values.

    Words that ``known`` has keep their codes.
    """
    if not hasattr(X, "columns"):
        matrix = np.asarray(X, dtype=np.float64)
        names = getattr(model, "feature_names_in_", None)
        names = [f"x{k}" for k in range(matrix.shape[1])] if names is None else [str(n) for n in names]
        return matrix, matrix, names, {}
    wanted = getattr(model, "feature_names_in_", None)
    if wanted is not None:
        missing = [str(c) for c in wanted if c not in X.columns]
        if missing:
            raise ValueError(f"The rows lack the columns {', '.join(map(repr, missing[:10]))}, which the model takes.")
        X = X[list(wanted)]
    columns, words = [], {}
    for k, c in enumerate(X.columns):
        if X[c].dtype.kind in "biuf" and k not in (known or {}):
            columns.append(X[c].to_numpy(dtype=np.float64, na_value=np.nan))
            continue
        values = X[c].astype(object).tolist()
        words[k] = (known or {}).get(k) or [first for _, first in sorted({str(v): v for v in values}.items())]
        columns.append(coded(values, words[k]))
    matrix = np.column_stack(columns)
    given = X if words or wanted is not None else matrix
    return given, matrix, [str(c) for c in X.columns], words


def _scale(model, rows: np.ndarray, frozen: np.ndarray) -> np.ndarray:
    """The unit of each column: the model's own scaler, or the standard deviation of the rows; 1 for constants."""
    own = deviations(model)
    if own is not None and len(own) == rows.shape[1]:
        return own
    spread = np.nanstd(rows, axis=0)
    return np.where((spread > 0) & ~frozen, spread, 1.0)
