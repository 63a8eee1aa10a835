"""Rows of the user's for a model: as it takes them, and as numbers."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from holdfast.auditing.allowed_moves import coded
from holdfast.certificates.columns import Encoding, as_column, key, numeric
from holdfast.certificates.columns import unknown as other_value
from holdfast.certificates.pipelines import chain_of
from holdfast.certificates.vote import Voter
from holdfast.datasets.columns import (
    MISSING,
    Reading,
    UnknownValues,
    count_rows,
    describe_all,
    finite_numbers,
    unknown_categories,
    words_of,
)
from holdfast.datasets.encoder import TableEncoder, check_columns

_MAX_LISTED = 10  # ignored columns that are named


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
    read : list of str
        What was found out about the file.
    """

    matrix: Any
    unknown: list[UnknownValues] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    reordered: bool = False
    read: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        """Sentences on what was done to the table."""
        notes = list(self.read)
        if self.ignored:
            more = f" and {len(self.ignored) - _MAX_LISTED} more" if len(self.ignored) > _MAX_LISTED else ""
            notes.append(
                f"Columns the model does not know were ignored: {', '.join(self.ignored[:_MAX_LISTED])}{more}."
            )
        if self.reordered:
            notes.append("The columns are in another order than in training: they were taken by name.")
        if self.unknown:
            filled = "An unseen category counts as none of the known ones, everything else as the median in training"
            if hasattr(self.matrix, "columns"):
                filled = "The model's own encoder decides what they count as"
            notes.append(
                f"{count_rows(self.unknown):,} of {len(self.matrix):,} rows hold values that the model was not trained "
                f"on: {describe_all(self.unknown)}. {filled}; the result for such a row is about the filled-in row."
            )
        return notes

    def to_dict(self) -> dict:
        """The same for a JSON document."""
        return {
            "notes": self.read,
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
        Go on with such values, and count them; see :meth:`holdfast.datasets.TableEncoder.transform_new`. A
        ``ColumnTransformer`` is then given unseen words, and a gap where it knows none as one; what it cannot take, it
        refuses. Other models have no median to put anywhere.

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
        rows, unknown = known_words(inner, X if names is None else X[list(names)], allow_unknown)
        return NewRows(rows, unknown, ignored, reordered)
    return NewRows(_numbers(inner, X, names), [], ignored, reordered)


def how_read(model) -> tuple[Reading, list[str] | None]:
    """How the table that a saved model was trained on was read, and the columns that the model needs, if known."""
    encoder, inner = split_encoder(model)
    if encoder is not None:
        return encoder.how_read, list(encoder.columns_)
    names = getattr(inner, "feature_names_in_", None)
    return Reading(), None if names is None else [str(name) for name in names]


def known_words(model, X, allow_unknown: bool) -> tuple:
    """The table with its words as the encoders of a pipeline know them, and the values that they do not know."""
    try:
        steps = [step for _, step in model.steps[:-1]] if isinstance(model, Pipeline) else [model]
        encoding, _ = chain_of(steps, X.shape[1], getattr(model, "feature_names_in_", None))
    except ValueError:  # steps that cannot be certified, which predict may take all the same
        return X, []
    unknown: list[UnknownValues] = []
    wrong: list[UnknownValues] = []
    no_gaps, X = _without_gaps(steps[0], list(range(X.shape[1]))), X.copy()
    for j, name in enumerate(X.columns):
        if j in encoding.categories:
            values, words = encoding.categories[j], words_of(X[name])
            known = dict(zip(words_of(as_column(values, ())), values, strict=True))
            if numeric(X[name]) and not numeric(values) and not known.keys() & set(words):
                continue  # numbers where the model knows words: refused by name
            unknown += unknown_categories(str(name), X[name], [w for w in known if w != MISSING or j not in no_gaps])
            known[MISSING] = other_value(values)
            cells = [
                cell if word == MISSING and j not in no_gaps else known.get(word, cell)
                for word, cell in zip(words, X[name], strict=True)
            ]
            if [key(new) for new in cells] != [key(old) for old in X[name]]:  # "True" is True, in a file
                X[name] = type(X[name])(cells, index=X.index)
        elif encoding.read is None or j in encoding.read:
            found = finite_numbers(str(name), X[name])[1]
            wrong += [each for each in found if not (each.kind == "gap" and j in encoding.gaps)]
    if wrong:
        raise ValueError(f"The model has nothing to put in place of these values: {describe_all(wrong)}. Correct them.")
    if unknown and not allow_unknown:
        raise ValueError(
            f"The rows hold values that the model was not trained on: {describe_all(unknown)}. Correct them, or allow "
            "them (--allow-unknown): the model's own encoder then decides what they count as."
        )
    return X, unknown


def _without_gaps(step, columns: list[int]) -> set[int]:
    """Those of the columns that go to an encoder which no gap was shown to."""
    if isinstance(step, ColumnTransformer):
        parts = [(part, step._transformer_to_input_indices.get(title, [])) for title, part, _ in step.transformers_]
        return set().union(*(_without_gaps(part, [columns[k] for k in at]) for part, at in parts))
    if isinstance(step, Pipeline):
        return _without_gaps(step[0], columns)
    return {
        column
        for column, values in zip(columns, getattr(step, "categories_", []), strict=False)
        if all(key(value)[0] == "value" for value in values)
    }


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


class GivenRows(NamedTuple):
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


def given_rows(model, voter: Voter, table, reference, notes: list[str]) -> tuple[GivenRows, GivenRows | None]:
    """The test rows and, if there are any, the rows of training, with the same codes for the same words.

    Parameters
    ----------
    model : fitted classifier
    voter : Voter
        Of the model behind its encoder.
    table, reference : data frame, array or None
        Rows of the user's; the second are those of training.
    notes : list of str
        Gets what was done to the test rows.
    """
    encoder, inner = split_encoder(model)
    if encoder is not None:
        new = read_new_rows(model, table)
        notes += new.notes()
        names, origins = list(encoder.feature_names_), encoder.origins()
        test = GivenRows(new.matrix, new.matrix, names, origins, encoder.frozen_, {})
        if reference is None:
            return test, None
        encoded = encoder.encode(reference)
        return test, test._replace(given=encoded, matrix=encoded)
    tables = [table] if reference is None else [table, reference]
    if not all(hasattr(each, "columns") for each in tables):
        return _arrays(inner, tables)
    tables = [_model_columns(inner, each, voter.encoding.n_columns) for each in tables]
    if voter.encoding.categories:
        tables[0], unknown = known_words(inner, tables[0], allow_unknown=True)
        notes += NewRows(tables[0], unknown).notes()
    columns, words = [], {}
    for k in range(tables[0].shape[1]):
        found = [_column_numbers(each.iloc[:, k], k, voter.encoding) for each in tables]
        if any(values is None for values in found):
            cells = [each.iloc[:, k].astype(object).tolist() for each in tables]
            words[k] = [first for _, first in sorted({str(v): v for v in cells[0]}.items())]
            found = [coded(values, words[k]) for values in cells]
        columns.append(found)
    matrices = [np.column_stack(parts) for parts in zip(*columns, strict=True)]
    named = getattr(inner, "feature_names_in_", None) is not None
    names = [str(c) for c in tables[0].columns]
    is_word = np.isin(np.arange(len(names)), list(words))
    rows = [
        GivenRows(each if words or named else matrix, matrix, names, list(names), is_word, words)
        for each, matrix in zip(tables, matrices, strict=True)
    ]
    return rows[0], rows[1] if len(rows) > 1 else None


def _arrays(model, tables: list) -> tuple[GivenRows, GivenRows | None]:
    """Rows of numbers without names; a frame among them goes by the order of its columns."""
    try:
        matrices = [np.asarray(each, dtype=np.float64) for each in tables]
    except (TypeError, ValueError):
        raise ValueError("The rows hold words: give rows and reference as data frames.") from None
    names = getattr(model, "feature_names_in_", None)
    names = [f"x{k}" for k in range(matrices[0].shape[1])] if names is None else [str(n) for n in names]
    rows = [GivenRows(each, each, names, list(names), np.zeros(len(names), bool), {}) for each in matrices]
    return rows[0], rows[1] if len(rows) > 1 else None


def _model_columns(model, X, n_columns: int):
    """The columns of a frame that the model takes, in its order."""
    wanted = getattr(model, "feature_names_in_", None)
    if wanted is not None:
        missing = [str(c) for c in wanted if c not in X.columns]
        if missing:
            raise ValueError(f"The rows lack the columns {', '.join(map(repr, missing[:10]))}, which the model takes.")
        X = X[list(wanted)]
    if X.shape[1] != n_columns:
        raise ValueError(f"The rows have {X.shape[1]} columns, but the model takes {n_columns}.")
    return X


def _column_numbers(column, k: int, encoding: Encoding) -> np.ndarray | None:
    """A column of numbers, NaN for gaps; None if it holds words.

    The model decides, as for a certificate; what it encodes, or does not read, are numbers if all cells are.
    """
    if column.dtype.kind in "biuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    read = k not in encoding.categories and (encoding.read is None or k in encoding.read)
    return encoding.numbers(column.tolist(), k) if read or numeric(column.tolist()) else None
