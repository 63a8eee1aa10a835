"""The parts of a table for training and test; rows and labels of a model in use; progress."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from holdfast.auditing.rows import NewRows, how_read, read_new_rows, split_encoder
from holdfast.auditing.sections import saved_data_distance
from holdfast.base.inputs import check_count, check_number, class_codes, with_names
from holdfast.certificates.api import DEFAULT_BUDGET, Attack, attack, certify
from holdfast.certificates.certificate import Certificate
from holdfast.certificates.readers import voter_for
from holdfast.certificates.threat import Threat
from holdfast.certificates.training import deviations
from holdfast.datasets import ReadOptions
from holdfast.datasets.checks import MIN_ROWS_PER_CLASS, Finding, Repairs, check_dataset, describe, refuse_fatal, repair
from holdfast.datasets.encoder import TableEncoder
from holdfast.datasets.load import CATALOGUE, load_dataset
from holdfast.datasets.tables import Dataset, read_rows

MAX_TUNING_ROWS = 2_000
MAX_TUNING_CELLS = 60_000  # rows × features; tuning takes 300 rows even if they have more
_MIN_TUNING_ROWS = 300


def inspect(
    dataset: Dataset, categorical: Sequence[str] = (), dates: Sequence[str] = (), repairs: Repairs | None = None
) -> tuple[Dataset, list[Finding]]:
    """Repair a data set and look at it; what needs a decision is refused, all in one message.

    Returns
    -------
    dataset : Dataset
        Its notes also hold the findings.
    findings : list of Finding
        Those that are no reason to stop.
    """
    dataset = repair(dataset, Repairs() if repairs is None else repairs)
    findings = check_dataset(dataset, categorical, dates)
    refuse_fatal(findings)
    return replace(dataset, notes=[*dataset.notes, *describe(findings)]), findings


def check_classes(y: np.ndarray) -> None:
    """Refuse a single class, and one with too few rows."""
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"All rows are of the class {classes[0]!s}: at least two classes are needed.")
    if counts.min() < MIN_ROWS_PER_CLASS:
        rare, count = classes[counts.argmin()], counts.min()
        raise ValueError(
            f"The class {rare!s} has {count} row{'s' if count > 1 else ''}; every class needs at least "
            f"{MIN_ROWS_PER_CLASS}: bring more, merge it with another or leave it out."
        )


def split(y: np.ndarray, test_size: float, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of training and test rows, stratified; a class that is too small is refused by name."""
    check_number("audit", "test_size", test_size, above=0, below=1)
    check_classes(y)
    n_classes = len(np.unique(y))
    n_test = int(np.ceil(test_size * len(y)))
    if min(n_test, len(y) - n_test) < n_classes:
        raise ValueError(f"test_size={test_size:g} of {len(y)} rows leaves too few rows for {n_classes} classes.")
    train, test = train_test_split(np.arange(len(y)), test_size=test_size, random_state=random_state, stratify=y)
    return np.sort(train), np.sort(test)


def subsample(y: np.ndarray, n_rows: int, random_state: int) -> np.ndarray:
    """Indices of about ``n_rows`` rows, each class in proportion but with ``MIN_ROWS_PER_CLASS`` rows; sorted."""
    if len(y) <= n_rows:
        return np.arange(len(y))
    _, codes = np.unique(y, return_inverse=True)
    rng = np.random.RandomState(random_state)
    order = rng.permutation(len(y))
    share = n_rows / len(y)
    kept = []
    for c in range(codes.max() + 1):
        of_class = order[codes[order] == c]
        kept.append(of_class[: max(min(MIN_ROWS_PER_CLASS, len(of_class)), round(share * len(of_class)))])
    return np.sort(np.concatenate(kept))


def limit_rows(
    rows: np.ndarray, y: np.ndarray, max_rows: int, random_state: int, kind: str, notes: list[str]
) -> np.ndarray:
    """At most about ``max_rows`` of the rows, each class in proportion; if some are left out, ``notes`` says so."""
    if len(rows) <= max_rows:
        return rows
    kept = rows[subsample(y[rows], max_rows, random_state)]
    notes.append(f"{len(kept):,} of {len(rows):,} {kind} were used, drawn at random from each class.")
    return kept


def tuning_rows(y: np.ndarray, n_features: int, random_state: int, notes: list[str]) -> np.ndarray:
    """Indices of the training rows that parameters are tuned on; if they are not all, ``notes`` says so."""
    n_rows = max(_MIN_TUNING_ROWS, min(MAX_TUNING_ROWS, MAX_TUNING_CELLS // n_features))
    rows = subsample(y, n_rows, random_state)
    if len(rows) < len(y):
        notes.append(f"Parameters were tuned on {len(rows):,} of the {len(y):,} training rows.")
    return rows


def fit_encoder(
    dataset: Dataset, train: np.ndarray, categorical: Sequence[str], dates: Sequence[str], notes: list[str]
):
    """Fit an encoder to the training rows; return it and the data frame it takes. ``notes`` gets its remarks."""
    table = dataset.frame
    encoder = TableEncoder(list(categorical), list(dates), reading=dataset.reading).fit(table.iloc[train])
    if encoder.frozen_.all():
        raise ValueError(
            "Every column holds categories: there is no number that could move, so nothing to certify. Is a column "
            "of numbers read as words?"
        )
    notes += encoder.notes(table)
    return encoder, table


DEVIATIONS = "standard deviations of the training rows"


def to_matrix(model, X, allow_unknown: bool = False):
    """A table as the rows that the certified part of a model takes; see :func:`read_new_rows`."""
    return X.matrix if isinstance(X, NewRows) else read_new_rows(model, X, allow_unknown).matrix


_ALL_ROWS = 40_000_000  # units of work for the rows of a model by default: 40 s of one core, if all need it
_LEAST_BUDGET = 20_000


def row_budget(budget: int | None, n_rows: int) -> int:
    """The work that a row of an audit may take: what was asked for, else what all rows together can have."""
    if budget is not None:
        check_count("audit", "budget", budget, at_least=0)
        return budget
    return int(np.clip(_ALL_ROWS // max(n_rows, 1), _LEAST_BUDGET, DEFAULT_BUDGET))


def certify_rows(
    model,
    rows,
    y=None,
    *,
    frozen: np.ndarray | None = None,
    unit: np.ndarray | None = None,
    threat: Threat | None = None,
    reference: tuple | None = None,
    budget: int = DEFAULT_BUDGET,
    method: str = "auto",
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Certificate:
    """``certify`` with moves measured in standard deviations: ``‖δ / scale‖₂``, adversarial rows in raw units.

    Parameters
    ----------
    model : fitted classifier
        Behind the encoder. If it does not begin by dividing by standard deviations
        (:func:`~holdfast.certificates.training.deviations`), and there is no ``unit``, radii are in the units of
        the rows.
    rows : ndarray or data frame of shape (n_rows, n_features)
    unit : ndarray of shape (n_features,), optional
        Standard deviations; by default those the model divides by.
    threat : Threat, optional
        In place of frozen and unit.
    y, frozen, reference, budget, method, n_jobs
        As for :func:`holdfast.certify`.
    progress : callable, optional
        Called with the number of rows done and their total.

    Returns
    -------
    Certificate
    """
    if not len(rows):
        raise ValueError("There are no rows to certify.")
    scale = deviations(model) if unit is None else unit
    certificate = certify(
        model, rows, y, threat=_threat(scale, frozen) if threat is None else threat, reference=reference, budget=budget,
        method=method, n_jobs=n_jobs, progress=progress,
    )  # fmt: skip
    return certificate if scale is None or threat is not None else replace(certificate, units=DEVIATIONS)


def _threat(scale: np.ndarray | None, frozen: np.ndarray | None) -> Threat:
    """Moves measured by ``‖δ / scale‖₂``."""
    return Threat(unit=scale, frozen=frozen)


def _frozen_columns(encoder: TableEncoder | None) -> np.ndarray | None:
    """Mask of the encoded columns; None if there are none."""
    return None if encoder is None or not encoder.frozen_.any() else encoder.frozen_


def certify_table(model, X, y=None, *, allow_unknown: bool = False, **options) -> Certificate:
    """:func:`certify_rows` for a saved model and a table: encoded columns are frozen.

    Parameters
    ----------
    model : fitted pipeline
        As :func:`holdfast.load` gives it.
    X : data frame, array or NewRows
    y, **options
        As for :func:`certify_rows`.
    allow_unknown : bool, default=False
        As for :func:`~holdfast.auditing.rows.read_new_rows`.
    """
    encoder, inner = split_encoder(model)
    rows = with_names(to_matrix(model, X, allow_unknown), inner)
    return certify_rows(inner, rows, y, frozen=_frozen_columns(encoder), **options)


def attack_table(model, X, *, allow_unknown: bool = False, **options) -> Attack:
    """:func:`holdfast.attack` for a saved model and a table, moves measured as in :func:`certify_rows`."""
    encoder, inner = split_encoder(model)
    threat = _threat(deviations(inner), _frozen_columns(encoder))
    return attack(inner, with_names(to_matrix(model, X, allow_unknown), inner), threat=threat, **options)


def predict_table(model, X, *, allow_unknown: bool = False) -> np.ndarray:
    """Labels of the rows of a table."""
    _, inner = split_encoder(model)
    if not hasattr(inner, "predict"):
        raise ValueError(f"The model is a {type(inner).__name__}, which does not predict.")
    rows = with_names(to_matrix(model, X, allow_unknown), inner)
    try:
        return inner.predict(rows)
    except TypeError:  # scikit-learn's, where a column of words holds numbers
        voter_for(inner).check_rows(rows)  # says which column
        raise


def matrix_names(model, n_features: int) -> list[str]:
    """Names of the columns of :func:`to_matrix`."""
    encoder, inner = split_encoder(model)
    names = encoder.feature_names_ if encoder is not None else getattr(inner, "feature_names_in_", None)
    return [f"x{k}" for k in range(n_features)] if names is None else [str(name) for name in names]


def match_labels(model, column) -> np.ndarray:
    """A column of labels as classes of the model, however they are written: 1, 1.0, True and "1" are the same."""
    classes = np.asarray(model.classes_)
    codes, unknown = class_codes(np.asarray(column, dtype=object), classes)
    if unknown:
        raise ValueError(
            f"The label {str(unknown[0])!r} is none of the model's classes "
            f"({', '.join(map(str, classes.tolist()[:10]))}): leave such rows out."
        )
    return classes[codes]


def vote_share(model, X) -> np.ndarray | None:
    """The share of the votes, or the probability, of each prediction; None if the model has none."""
    _, inner = split_encoder(model)
    if not hasattr(inner, "predict_proba"):
        return None
    return inner.predict_proba(with_names(to_matrix(model, X), inner)).max(axis=1)


def data_notes(model, X) -> tuple[np.ndarray | None, list[str]]:
    """A mask of rows far from the training rows, and remarks on them; None if the model does not keep its rows."""
    _, inner = split_encoder(model)
    distances = saved_data_distance(inner, to_matrix(model, X))
    if distances is None:
        return None, []
    far, known, notes = int(distances.far.sum()), int((distances.distance == 0).sum()), []
    if far:
        notes.append(
            f"{far:,} rows lie farther from all training rows than these do from each other (column far): what is "
            "proven of them is true, but they are unlike what the model was trained on."
        )
    if known > 0.5 * len(distances.distance):
        notes.append(
            f"{known:,} of {len(distances.distance):,} rows are training rows of this model: new rows will not do as "
            "well."
        )
    return distances.far, notes


def read_table_for(
    model, data, options: ReadOptions, *, target: str | None = None, id: str | None = None, allow_unknown: bool = False
) -> tuple:
    """A table for a saved model, read as the table was that the model was trained on.

    Parameters
    ----------
    model : fitted pipeline
    data : str or path
        A file, ``-`` for standard input, or the name of a data set.
    options : ReadOptions
        What the user says of the file; it comes before what the model knows.
    target : str, optional
        Column of labels.
    id : str, optional
        Column that names the rows.
    allow_unknown : bool, default=False
        As for :func:`read_new_rows`.

    Returns
    -------
    table : data frame
        As it was read, without the target.
    rows : NewRows
        Its notes begin with those of reading.
    y : ndarray or None
        The labels, if there is a target or the set has a name; in the type of the model's classes.
    """
    notes: list[str] = []
    table, y = _read(model, data, options, notes)
    if target is not None and y is None:
        if target not in table.columns:
            raise ValueError(f"There is no column {target!r}; the columns are {', '.join(map(str, table.columns))}.")
        if table[target].isna().any():
            raise ValueError(f"{int(table[target].isna().sum())} rows have no {target!r}: leave them out.")
        y = table[target].to_numpy()
        table = table.drop(columns=target)
    rows = read_new_rows(model, table if id is None else table.drop(columns=id, errors="ignore"), allow_unknown)
    return table, replace(rows, read=notes), y


def _read(model, data, options: ReadOptions, notes: list[str]) -> tuple:
    """A file, standard input, or a named data set, as a data frame; with the labels of a named set, or None."""
    path = Path(data)
    if not path.exists() and str(data) in CATALOGUE:
        from pandas import DataFrame

        dataset = load_dataset(str(data))
        return DataFrame(dataset.X, columns=dataset.feature_names), dataset.labels
    reading, columns = how_read(model)
    return read_rows(data, options=reading.options(options, columns), notes=notes), None


#: ``progress(stage, done, total)``, called as a stage goes on.
StageProgress = Callable[[str, int, int], None]


def no_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""
