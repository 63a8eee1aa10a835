"""Rows that are said to be those of training, compared with the model and with the rows it is audited on."""

import numpy as np
from sklearn.pipeline import Pipeline

from holdfast.audit.given_rows import GivenRows
from holdfast.certificates.training_rows import deviations
from holdfast.certificates.voting.registry import inner_model
from holdfast.models import CertifiedKNeighborsClassifier
from holdfast.numerics.formatting import number, percent, short_name
from holdfast.numerics.frames import with_names

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
