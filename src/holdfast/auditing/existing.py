"""An audit of a model that is already in use, and its rows of training."""

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from holdfast.auditing.allowed_moves import OWN_UNITS, AllowedMoves, allowed_moves, category_groups, cells_as_numbers
from holdfast.auditing.candidates import TrainingTask, choose_candidates, table_baselines
from holdfast.auditing.explain import EXPLAINED, ask_dependence, explain_rows, sensitive_columns
from holdfast.auditing.prepare import StageProgress, certify_rows, match_labels, no_progress, row_budget
from holdfast.auditing.result import AuditResult
from holdfast.auditing.rows import GivenRows, given_rows, how_read, split_encoder
from holdfast.base.inputs import as_pandas, with_names
from holdfast.base.text import number, percent, short_name
from holdfast.certificates.readers import inner_model, voter_for
from holdfast.certificates.threat import Threat
from holdfast.certificates.threat_text import TRAINING
from holdfast.certificates.training import deviations, stored_rows
from holdfast.datasets.load import open_data
from holdfast.datasets.tables import Dataset, row_names
from holdfast.files.archive import versions
from holdfast.models import CertifiedKNeighborsClassifier

_SAME = 1e-9  # of the largest number of a column: rows that a step maps again differ by less
_NOTED, _REFUSED = 0.05, 0.2  # accuracy on the rows of training below that on new rows
_ERRORS = 3.0  # standard errors that the difference must exceed besides
_RANGES = 3.0  # ranges by which the middle of a column may lie outside the rows of training


def check_reference(model, known: GivenRows, y_known: np.ndarray, test: GivenRows, y: np.ndarray) -> list[str]:
    """Refuse rows and labels that the model was not trained on; sentences on what else is strange.

    Rows that vote are compared one by one; scikit-learn's were when the model was read. Other models do not keep their
    rows: a difference can only show in what the model makes of them.

    Parameters
    ----------
    model : fitted classifier
        Behind its encoder.
    known, y_known : GivenRows, ndarray
        What is said to be the rows of training.
    test, y : GivenRows, ndarray
        The rows of the audit.
    """
    if len(known.matrix) != len(y_known):
        raise ValueError(f"reference must have one label for each row; got {len(known.matrix)} and {len(y_known)}.")
    _compare_neighbours(model, known, y_known)
    return [
        *_accuracies(model, known, y_known, test, y),
        *_deviations(model, known),
        *_far_columns(known, test),
        *_shared_rows(known, test),
    ]


def _compare_neighbours(model, known: GivenRows, labels: np.ndarray) -> None:
    """Compare the rows that vote in holdfast's own k-NN with those of reference, behind the steps before it."""
    last, rows = _input_of_last(model, with_names(known.given, model))
    if not isinstance(last, CertifiedKNeighborsClassifier):
        return
    rows, stored = np.asarray(rows, dtype=np.float64), last.reference_
    n = len(stored) + last.n_pruned_
    kept = last.kept_
    same = len(rows) == n and rows.shape[1] == stored.shape[1]
    if same:
        size = np.abs(stored).max(axis=0, initial=0.0)
        same = bool((np.abs(rows[kept] - stored) <= _SAME * size).all())
        same = same and np.array_equal(labels[kept], last.classes_[last.reference_codes_])
    if not same:
        raise ValueError(
            f"reference must be the {n:,} rows that the model was trained on, in their order, and their labels: its "
            "neighbours are other rows, or have other labels. Give those, or leave reference (--reference) out."
        )


def _input_of_last(model, rows) -> tuple:
    """The classifier at the end of a pipeline, and the rows as it takes them."""
    model = inner_model(model)
    if not isinstance(model, Pipeline):
        return model, rows
    return _input_of_last(model.steps[-1][1], rows if len(model) == 1 else model[:-1].transform(rows))


def _accuracies(model, known: GivenRows, y_known: np.ndarray, test: GivenRows, y: np.ndarray) -> list[str]:
    on_known, on_test = (
        float((model.predict(with_names(rows.given, model)) == labels).mean())
        for rows, labels in ((known, y_known), (test, y))
    )
    error = np.sqrt(sum(p * (1 - p) / n for p, n in ((on_known, len(y_known)), (on_test, len(y)))))
    below = on_test - on_known
    if below <= max(_NOTED, _ERRORS * error):
        return []
    told = (
        f"The model is right for {percent(on_known)} of the rows of reference and for {percent(on_test)} of the rows "
        "of the audit"
    )
    if below > _REFUSED:
        raise ValueError(
            f"{told}: it was not trained on the former. Give reference=(X_train, y_train), as the model takes them, or "
            "leave it out."
        )
    return [f"{told}: check that it was trained on the former."]


def _deviations(model, known: GivenRows) -> list[str]:
    """The standard deviations of reference beside those that the model took from its rows of training."""
    own = deviations(model)
    if own is None or len(own) != known.matrix.shape[1] or not np.isfinite(known.matrix).all():
        return []
    spread = known.matrix.std(axis=0)
    different = (np.abs(spread - own) > 1e-6 * own) & (spread > 0) & ~known.is_category
    if not different.any():
        return []
    k = int(np.argmax(different))
    return [
        f"Column {short_name(known.names[k])} has the standard deviation {number(spread[k])} in reference, and "
        f"{number(own[k])} in the rows the model was trained on: these are other rows. Sizes are in the latter."
    ]


def _far_columns(known: GivenRows, test: GivenRows) -> list[str]:
    """Columns in which the rows of the audit lie many ranges outside those of reference."""
    notes = []
    for k in np.flatnonzero(~known.is_category).tolist():
        inside, given = (rows.matrix[:, k][np.isfinite(rows.matrix[:, k])] for rows in (known, test))
        if not inside.size or not given.size or inside.min() == inside.max():
            continue
        middle = float(np.median(given))
        out = max(inside.min() - middle, middle - inside.max()) / (inside.max() - inside.min())
        if out > _RANGES:
            notes.append(
                f"Column {short_name(known.names[k])} has the median {number(middle)} in the rows of the audit, "
                f"{number(out)} ranges outside the rows of reference: check that both have the same units."
            )
    return notes


def _shared_rows(known: GivenRows, test: GivenRows) -> list[str]:
    there = {row.tobytes() for row in known.matrix + 0.0}
    count = sum(row.tobytes() in there for row in test.matrix + 0.0)
    if not count:
        return []
    return [
        f"{count:,} of {len(test.matrix):,} rows of the audit are among those of reference: a model is right for its "
        "own rows of training more often than for new ones."
    ]


BASELINES = ("logistic", "knn")  # candidates that are trained on the reference rows, for comparison


@contextmanager
def _counted_in_notes() -> Iterator[None]:
    """Without certify's warning of unknown words: the notes of the audit count them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* the model was not fitted on, in ")
        yield


@_counted_in_notes()
def audit_model(
    model,
    X,
    y=None,
    *,
    target: str | None = None,
    reference=None,
    radius: float = 0.5,
    budget: int | None = None,
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

    Moves are measured in the standard deviations by which the model's own first scaler divides, or else in those of the
    rows of training, if these are known (``reference``, or the rows of a classifier that stores them); or else in those
    of X, and the report says so. Columns of words, and the columns that a :class:`~holdfast.datasets.TableEncoder`
    encodes, are frozen.

    Parameters
    ----------
    model, X, y, target, reference, radius, budget, drop, id, threat, sensitive, n_neighbors, explain, random_state, \
n_jobs, progress
        As for :func:`holdfast.audit`.

    Returns
    -------
    AuditResult
        The model's key is ``"yours"``; with a reference, ``"logistic"`` and ``"knn"`` are trained on it.
    """
    began = time.perf_counter()
    X, y = as_pandas(X), as_pandas(y)
    encoder, part = split_encoder(model)
    inner: Any = part
    if not hasattr(inner, "classes_"):
        voter_for(inner)  # says what can be certified
    reference = _labelled_reference(model, reference)
    table, y, name, ids, numbers, notes = _labelled_rows(model, X, y, target, drop, id)
    before = reference if encoder is None or reference is None else (encoder.encode(reference[0]), reference[1])
    voter = voter_for(inner, before)
    test, known = given_rows(model, voter, table, None if reference is None else reference[0], notes)
    matrix, words = test.matrix, test.words
    budget = row_budget(budget, len(matrix))
    if known is not None:
        notes += check_reference(inner, known, reference[1], test, y)
    data = matrix if known is None else known.matrix
    stored = stored_rows(inner)
    training = data if known is not None or stored is None else stored
    these = TRAINING if known is not None or stored is not None else f"these {len(matrix):,} rows"
    scale, own_scale = _scale(inner, training, test.is_category)
    groups = {} if encoder is None else category_groups(encoder)
    allowed = allowed_moves(
        threat, test.names, test.is_category, groups, training, scale,
        deviations_of=TRAINING if own_scale else these, values_in=these,
    )  # fmt: skip
    columns_asked = sensitive_columns(allowed, sensitive)
    models = {"yours": inner}
    methods = {"yours": type(inner[-1] if hasattr(inner, "steps") else inner).__name__}
    about = {"yours": "The model you have, as it is."}
    # Words and gaps are not in the matrix: then the baselines take the table as well.
    by_table = bool(encoder is None and (words or not np.isfinite(data).all()) and hasattr(table, "columns"))
    if known is not None:
        baselines = _fit_baselines(known, reference[1], by_table, n_neighbors, n_jobs, notes)
        for candidate in choose_candidates(BASELINES):
            models[candidate.key] = baselines[candidate.key]
            methods[candidate.key], about[candidate.key] = candidate.method, candidate.about
    trained_on = None if known is None else (known.given, reference[1])

    def rows_of(key: str) -> tuple:
        """The test rows for a model, whether it knows their columns by name, and its own options of ``certify``."""
        if encoder is not None or not (by_table or key == "yours"):
            return matrix, False, {}
        named = getattr(models[key], "feature_names_in_", None) is not None
        return test.given, named, {"reference": trained_on} if trained_on is not None and key == "yours" else {}

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
        models, columns_asked, allowed, rows_of, training, radius, progress, budget=budget, n_jobs=n_jobs
    )
    if known is None:
        notes.append("No training rows were given (reference), so there are no baselines but the most frequent answer.")
    notes += _notes_on_units(allowed, matrix)
    result = AuditResult(
        name=name,
        target=target or "class",
        feature_names=test.names,
        frozen=allowed.frozen,
        classes=np.unique(np.concatenate([np.asarray(inner.classes_).astype(object), y.astype(object)])).tolist(),
        X_train=data,
        y_train=y if reference is None else reference[1],
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
    try:
        explained = explain_rows(result, explain, reference=trained_on, budget=budget, n_jobs=n_jobs, progress=progress)
    except ValueError as error:
        if not str(error).startswith("counterfactuals does not search"):
            raise
        explained = None
        notes.append(f"No row is explained: {error}")
    return replace(result, explained=explained, seconds={"all": time.perf_counter() - began})


def _labelled_reference(model, reference) -> tuple | None:
    """The rows of training, and their labels in the type of the model's classes."""
    if reference is None:
        return None
    if len(reference) != 2:
        raise ValueError("reference must be a pair: the rows the model was trained on, and their labels.")
    rows, labels = (as_pandas(part) for part in reference)
    return rows, match_labels(model, labels)


def _fit_baselines(
    known: GivenRows, y: np.ndarray, by_table: bool, n_neighbors: int, n_jobs: int | None, notes: list[str]
) -> dict[str, Any]:
    """The baselines, trained on the reference rows: as a table, or as numbers; ``notes`` gets their warnings."""
    if by_table:
        return table_baselines(known.given, y, set(known.words), n_neighbors, n_jobs)
    training = TrainingTask(known.matrix, y, np.arange(len(y)), n_neighbors=n_neighbors, n_jobs=n_jobs)
    models = {}
    for candidate in choose_candidates(BASELINES):
        fitted = candidate.fit(training)
        models[candidate.key] = fitted.model
        notes += [f"{candidate.method}: {warning}" for warning in fitted.warnings]
    return models


def _labelled_rows(model, X, y, target, drop, id):
    """The rows without the target, the labels, a name, ids, row numbers, and notes."""
    if X is None:
        raise ValueError("The model needs rows to be audited on: give X and y, or a table and its target.")
    if y is None or isinstance(X, (str, Dataset)) or hasattr(X, "__fspath__"):
        if y is None and target is None and (hasattr(X, "columns") or isinstance(X, np.ndarray)):
            raise ValueError("The rows have no labels: give y, or the name of the target column.")
        reading, needed = how_read(model)
        dataset = open_data(X, target, drop=drop, id=id, options=reading.options(columns=needed))
        labels = match_labels(model, dataset.labels)
        return dataset.frame, labels, dataset.name, dataset.row_ids, dataset.row_numbers, list(dataset.notes)
    labels = np.asarray(y)
    if labels.shape != (len(X),):
        raise ValueError(f"y must have one label for each of the {len(X)} rows; got shape {labels.shape}.")
    names = row_names(X, id) if hasattr(X, "columns") else None
    if hasattr(X, "columns"):
        X = X.drop(columns=[*drop, *([] if id is None else [id])])
    return X, match_labels(model, labels), "your rows", names, np.arange(1, len(labels) + 1), []


def _scale(model, rows: np.ndarray, frozen: np.ndarray) -> tuple[np.ndarray, bool]:
    """The unit of each column, 1 for constants; and whether it is from the model's own scaler, not from the rows."""
    divisors = deviations(model)
    if divisors is not None and len(divisors) == rows.shape[1]:
        return divisors, True
    spread = np.nanstd(rows, axis=0)
    return np.where((spread > 0) & ~frozen, spread, 1.0), False


def _notes_on_units(allowed: AllowedMoves, matrix: np.ndarray) -> list[str]:
    """Sentences on units that are not of rows of training."""
    if allowed.deviations_of == TRAINING or allowed.units == OWN_UNITS:
        return []
    out = [f"The rows of training are not known: sizes are in standard deviations of {allowed.deviations_of}."]
    constant = np.flatnonzero((np.nanstd(matrix, axis=0) == 0) & ~allowed.frozen).tolist()
    if constant:
        names = ", ".join(short_name(allowed.names[k]) for k in constant[:8])
        more = f" and {len(constant) - 8} more" if len(constant) > 8 else ""
        out.append(f"The same in all of these rows, and counted in units of 1: {names}{more}.")
    return out
