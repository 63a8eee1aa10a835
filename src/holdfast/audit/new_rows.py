"""New rows for a saved model: its columns by name, values it was not trained on refused or counted."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from holdfast.certificates.folding.values import numeric
from holdfast.certificates.voting import voter_for
from holdfast.datasets.encoder import TableEncoder, check_columns
from holdfast.datasets.unknown_values import UnknownValues, count_rows, describe_all
from holdfast.numerics.formatting import short_name

_MAX_LISTED = 10  # ignored columns that are named
_FILLED = (
    "An unseen category counts as none of the known ones, everything else as the median of the training rows; the "
    "result for such a row is about the filled-in row."
)
_ENCODED = "They count as what the encoder of the model makes of unknown values, often none of the known ones."


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows that a model takes, and what was done to the table they are from.

    Attributes
    ----------
    matrix : ndarray or data frame of shape (n_rows, n_features)
        As the part of the model behind its encoder takes them; a data frame for a model that takes columns by name
        and encodes words by itself.
    unknown : list of UnknownValues
        Values the model was not trained on, which were allowed.
    ignored : list of str
        Columns of the table that the model does not know.
    reordered : bool
        True if the columns of the table were in another order than in training.
    own_encoder : bool
        Whether holdfast's encoder reads the table, and not steps of scikit-learn.
    """

    matrix: Any
    unknown: list[UnknownValues] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    reordered: bool = False
    own_encoder: bool = True

    def notes(self) -> list[str]:
        """Sentences on what was done to the table."""
        notes = []
        if self.ignored:
            more = f" and {len(self.ignored) - _MAX_LISTED} more" if len(self.ignored) > _MAX_LISTED else ""
            notes.append(
                f"Columns the model does not know were ignored: {', '.join(self.ignored[:_MAX_LISTED])}{more}."
            )
        if self.reordered:
            notes.append("The columns are in another order than in training: they were taken by name.")
        if self.unknown:
            notes.append(
                f"{count_rows(self.unknown):,} of {len(self.matrix):,} rows hold values that the model was not trained "
                f"on: {describe_all(self.unknown)}. {_FILLED if self.own_encoder else _ENCODED}"
            )
        return notes

    def to_dict(self) -> dict:
        """The same for a JSON document."""
        return {
            "ignored_columns": self.ignored,
            "reordered_columns": self.reordered,
            "rows_with_unknown_values": count_rows(self.unknown),
            "unknown_values": [each.to_dict() for each in self.unknown],
        }


def split_encoder(model) -> tuple[TableEncoder | None, object]:
    """The encoder a saved model begins with, or None, and the part behind it, which can be certified."""
    if isinstance(model, Pipeline) and isinstance(model[0], TableEncoder):
        return model[0], model[1:]
    return None, model


def read_new_rows(model, X, allow_unknown: bool = False) -> NewRows:
    """Encode a table for a model, after a check of its columns and values.

    Columns of a data frame go by name, if the model knows names: a missing (or renamed) one is refused, others are
    ignored, the order does not matter. Categories not seen in training, gaps, and words or infinite numbers in
    columns of numbers are refused, all in one message.

    Parameters
    ----------
    model : fitted pipeline
    X : data frame or array
    allow_unknown : bool, default=False
        Go on with such values, and count them; see :meth:`holdfast.datasets.TableEncoder.transform_new`. Of models that
        take words by themselves (a ``ColumnTransformer``, say) the words that their encoders were not fitted on; others
        have nothing to put there.

    Returns
    -------
    NewRows
    """
    encoder, inner = split_encoder(model)
    names = encoder.columns_ if encoder is not None else getattr(inner, "feature_names_in_", None)
    ignored, reordered = _compare_columns(X, names)
    if encoder is not None:
        matrix, unknown = encoder.transform_new(X, allow_unknown)
        return NewRows(matrix, unknown, ignored, reordered)
    if hasattr(X, "columns") and takes_words(inner):
        X = X if names is None else X[list(names)]
        unknown = unknown_words(inner, X)
        if unknown and not allow_unknown:
            raise ValueError(
                f"The rows hold values that the model was not trained on: {describe_all(unknown)}. Correct them, or "
                f"allow them (--allow-unknown). {_ENCODED}"
            )
        return NewRows(X, unknown, ignored, reordered, own_encoder=False)
    return NewRows(_numbers(inner, X, names), [], ignored, reordered)


def unknown_words(model, X) -> list[UnknownValues]:
    """The words of a table that the encoders of a pipeline were not fitted on; none if it cannot be certified."""
    try:
        voter = voter_for(model)
    except (TypeError, ValueError):
        return []
    found = []
    for column, mask in voter.encoding.unknown_words(voter.check_rows(X)).items():
        cells = X[column] if column in X.columns else X.iloc[:, int(column)]
        gaps = np.asarray(cells.isna())
        for kind, rows in (("category", np.flatnonzero(mask & ~gaps)), ("gap", np.flatnonzero(mask & gaps))):
            if rows.size:
                example = None if kind == "gap" else short_name(cells.iloc[rows[0]])
                found.append(UnknownValues(str(column), kind, rows, int(rows[0]) + 1, example))
    return found


def takes_words(model) -> bool:
    """True if the first step makes numbers of words or gaps by itself."""
    first = model[0] if isinstance(model, Pipeline) else model
    return isinstance(first, (ColumnTransformer, OneHotEncoder, OrdinalEncoder, SimpleImputer)) or (
        isinstance(first, Pipeline) and takes_words(first)
    )


def _compare_columns(X, names) -> tuple[list[str], bool]:
    """The columns of a data frame that are none of the names, and whether the others are in another order."""
    if names is None or not hasattr(X, "columns"):
        return [], False
    present, known = [str(c) for c in X.columns], [str(n) for n in names]
    check_columns(present, known)
    return [c for c in present if c not in set(known)], [c for c in present if c in set(known)] != known


def _numbers(model, X, names) -> np.ndarray:
    """The matrix of a model without an encoder, which takes numbers only."""
    if hasattr(X, "columns"):
        X = X if names is None else X[list(names)]
        words = [str(c) for c in X.columns if X[c].dtype.kind not in "biuf" and not numeric(X[c].tolist())]
        if words:
            raise ValueError(
                f"This model takes numbers only, but {'a column holds' if len(words) == 1 else 'columns hold'} words: "
                f"{', '.join(map(repr, words[:_MAX_LISTED]))}."
            )
        gaps = {str(c): int(X[c].isna().sum()) for c in X.columns if X[c].isna().any()}
        if gaps:
            where = ", ".join(f"{name!r} in {count} rows" for name, count in list(gaps.items())[:_MAX_LISTED])
            raise ValueError(f"This model has nothing to fill gaps with, but there is no value in {where}.")
    rows = np.asarray(X, dtype=np.float64)
    if rows.shape[1] != getattr(model, "n_features_in_", rows.shape[1]):
        raise ValueError(f"The table has {rows.shape[1]} columns, but the model takes {model.n_features_in_}.")
    return rows
