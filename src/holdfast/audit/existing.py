"""The audit of a model that is already in use: certified as it is, on rows it was not trained on."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

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

_LISTED = 10  # columns that a sentence names
BASELINES = ("logistic", "knn")  # candidates that are trained on the reference rows, for comparison


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
    test, known = _test_and_reference(model, table, reference, notes)
    matrix, words = test.matrix, test.words
    data = matrix if known is None else known.matrix
    scale = _scale(inner, data, test.is_category)
    groups = {} if encoder is None else category_groups(encoder)
    allowed = allowed_moves(threat, test.names, test.is_category, groups, data, scale)
    columns_asked = sensitive_columns(allowed, sensitive)
    models = {"yours": inner}
    methods = {"yours": type(inner[-1] if hasattr(inner, "steps") else inner).__name__}
    about = {"yours": "The model you have, as it is."}
    # Words and gaps are not in the matrix: then the baselines take the table as well.
    by_table = bool(encoder is None and (words or not np.isfinite(data).all()) and hasattr(table, "columns"))
    if known is not None:
        y_known = match_labels(model, reference[1])
        baselines = _fit_baselines(known, y_known, by_table, n_neighbors, n_jobs, notes)
        for candidate in choose_candidates(BASELINES):
            models[candidate.key] = baselines[candidate.key]
            methods[candidate.key], about[candidate.key] = candidate.method, candidate.about
    trained_on = None if known is None else (known.given, reference[1])

    def rows_of(key: str) -> tuple:
        """The test rows for a model, whether they are as the user gave them, and its own options of ``certify``."""
        if encoder is not None or not (by_table or key == "yours"):
            return matrix, False, {}
        return test.given, True, {"reference": trained_on} if trained_on is not None and key == "yours" else {}

    certificates = {}
    for key, each in models.items():
        stage = f"Certifying and attacking: {methods[key]}"
        progress(stage, 0, len(matrix))
        rows, as_given, options = rows_of(key)
        certificate = certify_rows(
            each, rows, y, threat=allowed.threat if as_given else allowed.numbered, budget=budget, n_jobs=n_jobs,
            progress=partial(progress, stage), **options,
        )  # fmt: skip
        adversarial = cells_as_numbers(certificate.adversarial, matrix, allowed.frozen, words)
        certificates[key] = replace(certificate, units=allowed.units, adversarial=adversarial)
    dependences = ask_dependence(
        models, columns_asked, allowed, rows_of, data, radius, progress, budget=budget, n_jobs=n_jobs
    )
    if encoder is None:
        own = certificates["yours"]
        notes += _frozen_note(own.frozen, test.names)
        whole = [name for name in _named(own.enumerated, test.names) if name not in allowed.changing]
        if whole and explain != 0:
            explain = 0
            notes.append(
                f"What would have to change is left out: {', '.join(whole)} are whole numbers that an encoder reads, "
                "which are certified, but not searched for explanations."
            )
    if known is None:
        notes.append("No training rows were given (reference), so there are no baselines but the most frequent answer.")
    result = AuditResult(
        name=name,
        target=target or "class",
        feature_names=test.names,
        frozen=allowed.frozen,
        classes=np.unique(np.concatenate([np.asarray(inner.classes_).astype(object), y.astype(object)])).tolist(),
        X_train=data,
        y_train=np.asarray(y if reference is None else reference[1]),
        X_test=matrix,
        y_test=y,
        scale=scale,
        radius=radius,
        models=models,
        methods=methods,
        certificates=certificates,
        settings={"radius": radius, "budget": budget, "random_state": random_state},
        versions=versions(),
        data_hash=Dataset(name, table if hasattr(table, "columns") else matrix, y, test.origins).digest,
        notes=notes,
        encoder=encoder,
        about=about,
        origins=test.origins,
        test_rows=numbers,
        test_ids=ids,
        rows_given=None if test.given is matrix else test.given,
        given_to=tuple(models) if by_table else ("yours",),
        trained_here=known is not None,
        allowed=allowed,
        dependence=dependences,
        words=words,
    )
    explained = explain_rows(result, explain, reference=trained_on, budget=budget, n_jobs=n_jobs, progress=progress)
    return replace(result, explained=explained, seconds={"all": time.perf_counter() - began})


class _Rows(NamedTuple):
    """Rows of the user's, as the model takes them and as numbers.

    Attributes
    ----------
    given : data frame or ndarray
        As the model behind the encoder takes them.
    matrix : ndarray of shape (n_rows, n_features)
        The same as numbers; words by their codes.
    names, origins : lists of str
        The features, and the column of the table that each is from.
    is_category : ndarray of bool of shape (n_features,)
        Features that are categories, which do not move.
    words : dict
        Columns of words -> their values, by code.
    """

    given: Any
    matrix: np.ndarray
    names: list[str]
    origins: list[str]
    is_category: np.ndarray
    words: dict[int, list]


def _test_and_reference(model, table, reference: tuple | None, notes: list[str]) -> tuple[_Rows, _Rows | None]:
    """The test rows and, if there is a reference, its rows, with the same codes for the same words."""
    if reference is not None and len(reference) != 2:
        raise ValueError("reference must be a pair: the rows the model was trained on, and their labels.")
    encoder, inner = split_encoder(model)
    if encoder is not None:
        new = read_new_rows(model, table)
        notes += new.notes()
        names, origins = list(encoder.feature_names_), encoder.origins()
        test = _Rows(new.matrix, new.matrix, names, origins, encoder.frozen_, {})
        if reference is None:
            return test, None
        encoded = encoder.encode(reference[0])
        return test, test._replace(given=encoded, matrix=encoded)
    given, matrix, names, words = _as_matrix(inner, table)
    test = _Rows(given, matrix, names, list(names), np.isin(np.arange(len(names)), list(words)), words)
    if reference is None:
        return test, None
    given, matrix, _, words = _as_matrix(inner, reference[0], words)
    return test._replace(words=words), test._replace(given=given, matrix=matrix, words=words)


def _fit_baselines(
    known: _Rows, y: np.ndarray, by_table: bool, n_neighbors: int, n_jobs: int | None, notes: list[str]
) -> dict[str, Any]:
    """The baselines, trained on the reference rows: as a table, or as numbers; ``notes`` gets their warnings."""
    if by_table:
        return table_baselines(known.given, y, set(known.words), n_neighbors, n_jobs)
    training = Training(known.matrix, y, np.arange(len(y)), n_neighbors=n_neighbors, n_jobs=n_jobs)
    models = {}
    for candidate in choose_candidates(BASELINES):
        fitted = candidate.fit(training)
        models[candidate.key] = fitted.model
        notes += [f"{candidate.method}: {warning}" for warning in fitted.warnings]
    return models


def _frozen_note(frozen: dict, names: list[str]) -> list[str]:
    """One sentence on the columns that no move changed, by reason; none if there are none."""
    reasons: dict[str, list[str]] = {}
    for column, why in zip(_named(frozen, names), frozen.values(), strict=True):
        reasons.setdefault(why, []).append(column)
    listed = "; ".join(
        f"{', '.join(some[:_LISTED])}{f' and {len(some) - _LISTED} more' if len(some) > _LISTED else ''} ({why})"
        for why, some in reasons.items()
    )
    return [f"Columns that were frozen: {listed}."] if frozen else []


def _named(columns, names: list[str]) -> list[str]:
    """Columns that are named or numbered, by name."""
    return [names[column] if isinstance(column, int) else column for column in columns]


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
    divisors = deviations(model)
    if divisors is not None and len(divisors) == rows.shape[1]:
        return divisors
    spread = np.nanstd(rows, axis=0)
    return np.where((spread > 0) & ~frozen, spread, 1.0)
