"""Rows of the user's for a model: as it takes them, and as numbers, read as ``certify`` reads them."""

from typing import Any, NamedTuple

import numpy as np

from holdfast.audit.category_cells import coded
from holdfast.audit.new_rows import NewRows, known_words, read_new_rows, split_encoder
from holdfast.certificates.folding.encoding import Encoding
from holdfast.certificates.folding.values import numeric
from holdfast.certificates.voting import Voter


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
        found = [_numbers(each.iloc[:, k], k, voter.encoding) for each in tables]
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


def _numbers(column, k: int, encoding: Encoding) -> np.ndarray | None:
    """A column of numbers, NaN for gaps; None if it holds words.

    The model decides, as for a certificate; what it encodes, or does not read, are numbers if all cells are.
    """
    if column.dtype.kind in "biuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    read = k not in encoding.categories and (encoding.read is None or k in encoding.read)
    return encoding.numbers(column.tolist(), k) if read or numeric(column.tolist()) else None
