"""From a table to a matrix of numbers: medians for missing numbers, one column for each category."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

_MOST = 100  # categories a column may have
_MISSING = "(missing)"


class TableEncoder(TransformerMixin, BaseEstimator):
    """Numbers stay in their own units, a category becomes columns ``name=value`` of 0 and 1.

    A missing number is filled with the median of the training rows; a missing category is a category of its
    own. A category that training did not see gives 0 in all its columns. Encoded columns are ``frozen_``:
    a certificate cannot speak of continuous moves of them.

    Parameters
    ----------
    categorical : sequence of str, default=()
        Columns of numbers that stand for categories.

    Attributes
    ----------
    columns_ : list of str
        Of the table.
    medians_ : dict
        Median of each column of numbers.
    categories_ : dict
        Values of each column of categories.
    feature_names_ : list of str
        Of the matrix.
    frozen_ : ndarray of bool of shape (n_features_out,)
    n_features_in_ : int

    Examples
    --------
    >>> import pandas
    >>> table = pandas.DataFrame({"age": [30.0, None, 50.0], "sex": ["f", "m", "f"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.feature_names_, encoder.transform(table)[1].tolist()
    (['age', 'sex=f', 'sex=m'], [40.0, 0.0, 1.0])
    """

    def __init__(self, categorical: Sequence[str] = ()):
        self.categorical = categorical

    def fit(self, X, y=None):
        """Find out which columns are numbers, their medians, and the categories of the others."""
        table = _table(X)
        unknown = [c for c in self.categorical if c not in table]
        if unknown:
            raise ValueError(f"There is no column {unknown[0]!r} to take as categories.")
        self.columns_, self.medians_, self.categories_ = list(table), {}, {}
        self.feature_names_: list[str] = []
        frozen: list[bool] = []
        for name, column in table.items():
            if name not in self.categorical and _is_number(name, column):
                values = _numbers(name, column)
                if np.isnan(values).all():
                    raise ValueError(f"Column {name!r} is empty: leave it out (--drop).")
                self.medians_[name] = float(np.nanmedian(values))
                self.feature_names_.append(name)
                frozen.append(False)
            else:
                found = sorted(set(_words(column)))
                if len(found) > _MOST:
                    raise ValueError(
                        f"Column {name!r} has {len(found)} different words, such as {found[0]!r}: leave it out "
                        "(--drop) if it only names rows."
                    )
                self.categories_[name] = found
                self.feature_names_ += [f"{name}={value}" for value in found]
                frozen += [True] * len(found)
        self.frozen_ = np.array(frozen, dtype=bool)
        self.n_features_in_ = len(self.columns_)
        return self

    def transform(self, X) -> np.ndarray:
        """The matrix, of shape (n_rows, n_features_out); columns the training table lacked are not looked at."""
        check_is_fitted(self)
        table = _table(X, self.columns_)
        missing = [name for name in self.columns_ if name not in table]
        if missing:
            raise ValueError(
                f"The table lacks {'the column' if len(missing) == 1 else 'the columns'} "
                f"{', '.join(map(repr, missing[:10]))}, which the model was trained on."
            )
        out = []
        for name in self.columns_:
            if name in self.medians_:
                values = _numbers(name, table[name])
                out.append(np.where(np.isnan(values), self.medians_[name], values)[:, None])
            else:
                words = np.asarray(_words(table[name]), dtype=str)
                out.append((words[:, None] == np.asarray(self.categories_[name], dtype=str)).astype(np.float64))
        return np.hstack(out)

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the matrix's columns."""
        return np.asarray(self.feature_names_, dtype=object)

    def notes(self, X) -> list[str]:
        """What was done to the values of this table, in sentences."""
        table, said = _table(X, self.columns_), []
        filled = {n: int(np.isnan(_numbers(n, table[n])).sum()) for n in self.medians_}
        if total := sum(filled.values()):
            where = ", ".join(f"{name} {count}" for name, count in filled.items() if count)
            said.append(
                f"{total} missing numbers were filled with the median of their column ({where}); a certificate "
                "of such a row is about the filled row."
            )
        if self.categories_:
            said.append(
                f"Categories were encoded as columns of 0 and 1, and are frozen: {', '.join(self.categories_)}. "
                "Certificates cover moves of the other columns only."
            )
        return said


def _table(X, names: Sequence[str] | None = None) -> dict:
    """Name -> column, of a data frame or of a matrix, whose columns go by position."""
    if hasattr(X, "columns"):
        return {str(name): X[name] for name in X.columns}
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be a table or a matrix; got an array of shape {X.shape}.")
    if names is not None and len(names) != X.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns, but the model was trained on {len(names)}.")
    names = [f"x{k}" for k in range(X.shape[1])] if names is None else names
    return dict(zip(names, X.T, strict=True))


def _plain(column) -> np.ndarray:
    """The values as a NumPy array; what pandas calls missing is NaN (numbers) or None (words)."""
    if isinstance(column, np.ndarray):
        return column
    kind = getattr(column.dtype, "kind", "O")
    if kind in "iuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    values = column.astype(object)
    return values.where(column.notna(), None).to_numpy()


def _is_number(name: str, column) -> bool:
    """Whether a column holds numbers; dates are refused, and so are numbers mixed with a few words."""
    values = _plain(column)
    if values.dtype.kind in "iuf":
        return True
    if values.dtype.kind == "b":
        return False
    if getattr(getattr(column, "dtype", None), "kind", "O") in "mM" or values.dtype.kind in "mM":
        raise ValueError(f"Column {name!r} holds dates: turn it into numbers, or leave it out (--drop).")
    known = [v for v in values.tolist() if v is not None]
    numeric = sum(_as_number(v) is not None for v in known)
    if known and numeric < len(known) and 2 * numeric > len(known):
        _numbers(name, column)  # tells which row is wrong
    return bool(known) and numeric == len(known) and not any(isinstance(v, bool) for v in known)


def _numbers(name: str, column) -> np.ndarray:
    values = _plain(column)
    if values.dtype.kind in "iuf":
        out = values.astype(np.float64)
    else:
        out = np.full(len(values), np.nan)
        for k, value in enumerate(values.tolist()):
            number = np.nan if value is None else _as_number(value)
            if number is None:
                raise ValueError(
                    f"Column {name!r} holds numbers, but row {_row(column, k)} says {value!r}: correct it, or take it "
                    f"as categories (--categorical) or leave it out (--drop)."
                )
            out[k] = number
    if np.isinf(out).any():
        raise ValueError(f"Column {name!r} is infinite in row {_row(column, int(np.flatnonzero(np.isinf(out))[0]))}.")
    return out


def _row(column, k: int) -> int:
    """The number of a row in the user's table, from 1, of which the column may be a part."""
    index = getattr(column, "index", None)
    return (int(index[k]) if index is not None and index.dtype.kind in "iu" else k) + 1


def _as_number(value) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _words(column) -> list[str]:
    """Values as words; whole numbers without a decimal point, so that 1 and 1.0 are one category."""
    return [_word(value) for value in _plain(column).tolist()]


def _word(value) -> str:
    if value is None or value != value:
        return _MISSING
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
