"""A model and a table: predict and certify rows as the user has them, radii in standard deviations."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from holdfast.attacks.attack import Attack, attack
from holdfast.certificates.certificate import Certificate
from holdfast.certificates.certify import certify
from holdfast.datasets.catalogue import CATALOGUE
from holdfast.datasets.encoder import TableEncoder
from holdfast.datasets.load import load_dataset
from holdfast.datasets.table import read_rows

_ROWS = 100  # rows between two reports of progress
DEVIATIONS = "standard deviations of the training rows"


def front_and_model(model) -> tuple[TableEncoder | None, object]:
    """The encoder a saved model begins with, if it does, and the part behind it, which can be certified."""
    if isinstance(model, Pipeline) and isinstance(model[0], TableEncoder):
        return model[0], model[1:]
    return None, model


def as_rows(model, X) -> np.ndarray:
    """The matrix of numbers that the certified part of a model takes."""
    encoder, inner = front_and_model(model)
    if encoder is not None:
        return encoder.transform(X)
    if hasattr(X, "columns"):
        names = getattr(inner, "feature_names_in_", None)
        X = X if names is None else X[list(names)]
        words = [str(c) for c in X.columns if X[c].dtype.kind not in "biuf"]
        if words:
            raise ValueError(f"Column {words[0]!r} holds words, but this model takes numbers only.")
    rows = np.asarray(X, dtype=np.float64)
    if rows.shape[1] != getattr(inner, "n_features_in_", rows.shape[1]):
        raise ValueError(f"The table has {rows.shape[1]} columns, but the model takes {inner.n_features_in_}.")  # type: ignore[attr-defined]
    return rows


def scale_of(model) -> np.ndarray | None:
    """Standard deviation of each feature, if the certified part of a model begins by dividing by it."""
    first = model[0] if isinstance(model, Pipeline) else None
    return first.scale_ if isinstance(first, StandardScaler) else None


def certify_rows(
    model,
    rows: np.ndarray,
    y=None,
    *,
    frozen: np.ndarray | None = None,
    budget: float = 0.1,
    method: str = "auto",
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Certificate:
    """``certify`` with moves measured in standard deviations: ``‖δ / scale‖₂``, adversarial rows in raw units.

    Parameters
    ----------
    model : fitted classifier
        Behind the encoder. If it does not begin with a ``StandardScaler``, radii are in the units of the rows.
    rows : ndarray of shape (n_rows, n_features)
    y, frozen, budget, method, n_jobs
        As for :func:`holdfast.certify`.
    progress : callable, optional
        Called with the rows done and the rows there are.

    Returns
    -------
    Certificate
    """
    scale = scale_of(model)
    norm = 2 if scale is None else np.diag(1.0 / scale**2)
    parts = []
    for start in range(0, len(rows), _ROWS):
        part = slice(start, start + _ROWS)
        labels = None if y is None else np.asarray(y)[part]
        parts.append(
            certify(model, rows[part], labels, norm=norm, frozen=frozen, budget=budget, method=method, n_jobs=n_jobs)
        )
        if progress is not None:
            progress(min(start + _ROWS, len(rows)), len(rows))
    if not parts:
        raise ValueError("There are no rows to certify.")
    joined: dict = {
        name: np.concatenate([getattr(p, name) for p in parts])
        for name in ("radius", "upper", "adversarial", "prediction")
    }
    true = None if y is None else np.asarray(y)
    units = parts[0].units if scale is None else DEVIATIONS
    return replace(parts[0], **joined, true=true, units=units)


def certify_table(model, X, y=None, **options) -> Certificate:
    """:func:`certify_rows` of a saved model and a table: encoded columns are frozen.

    Parameters
    ----------
    model : fitted pipeline
        As :func:`holdfast.load` gives it.
    X : data frame or array
    y, **options
        As for :func:`certify_rows`.
    """
    encoder, inner = front_and_model(model)
    frozen = None if encoder is None or not encoder.frozen_.any() else encoder.frozen_
    return certify_rows(inner, as_rows(model, X), y, frozen=frozen, **options)


def attack_table(model, X, **options) -> Attack:
    """:func:`holdfast.attack` of a saved model and a table, measured as in :func:`certify_rows`."""
    encoder, inner = front_and_model(model)
    frozen = None if encoder is None or not encoder.frozen_.any() else encoder.frozen_
    scale = scale_of(inner)
    norm = 2 if scale is None else np.diag(1.0 / scale**2)
    return attack(inner, as_rows(model, X), norm=norm, frozen=frozen, **options)


def feature_names(model, n_features: int) -> list[str]:
    """Names of the columns of :func:`as_rows`."""
    encoder, inner = front_and_model(model)
    names = encoder.feature_names_ if encoder is not None else getattr(inner, "feature_names_in_", None)
    return [f"x{k}" for k in range(n_features)] if names is None else [str(name) for name in names]


def labels_like(model, column) -> np.ndarray:
    """A column of labels in the type of the model's classes, so that 1, 1.0 and "1" are the same."""
    known = {str(c): c for c in model.classes_.tolist()}
    words = []
    for value in np.asarray(column, dtype=object).tolist():
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        words.append(str(value))
    unknown = sorted(set(words) - set(known))
    if unknown:
        raise ValueError(
            f"The label {unknown[0]!r} is none of the model's classes ({', '.join(list(known)[:10])}): leave such "
            "rows out."
        )
    return np.asarray([known[word] for word in words])


def predict_table(model, X) -> np.ndarray:
    """Labels of the rows of a table."""
    _, inner = front_and_model(model)
    if not hasattr(inner, "predict"):
        raise ValueError(f"The model is a {type(inner).__name__}, which does not predict.")
    return inner.predict(as_rows(model, X))


def rows_of(data):
    """A table, or the rows of a named set as one."""
    return labelled_frame(data)[0]


def labelled_frame(data) -> tuple:
    """A data frame and, of a named set, its labels."""
    path = Path(data)
    if not path.exists() and str(data) in CATALOGUE:
        from pandas import DataFrame

        found = load_dataset(str(data))
        return DataFrame(found.X, columns=found.feature_names), found.labels
    return read_rows(path), None


def labelled_rows(model, data, target: str | None = None) -> tuple:
    """A data frame and the labels in the types of the model's classes, or None."""
    frame, y = labelled_frame(data)
    if target is not None and y is None:
        if target not in frame.columns:
            raise ValueError(f"There is no column {target!r}; the columns are {', '.join(map(str, frame.columns))}.")
        if frame[target].isna().any():
            raise ValueError(f"{int(frame[target].isna().sum())} rows have no {target!r}: leave them out.")
        y = frame[target].to_numpy()
    return frame, None if y is None else labels_like(model, y)
