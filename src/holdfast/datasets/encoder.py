"""From a table to a matrix of numbers: medians for missing numbers, one column for each category."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from holdfast.base.text import listed
from holdfast.datasets.checks import MAX_CATEGORIES
from holdfast.datasets.columns import (
    MISSING,
    Days,
    Reading,
    UnknownValues,
    as_columns,
    date_order,
    describe_all,
    far_days,
    finite_numbers,
    is_number,
    numbers_of,
    to_days,
    unknown_categories,
    with_gaps,
    words_of,
)

_KINDS = ("categories", "dates")


class TableEncoder(TransformerMixin, BaseEstimator):
    """Numbers stay in their own units, a category becomes columns ``name=value`` of 0 and 1.

    A missing number is filled with the median of the training rows; a missing category is a category of its
    own. That is for the rows it is fitted on (``fit_transform``, :meth:`encode`). In new rows (``transform``, and so
    ``predict`` of a pipeline) categories that were not seen, gaps and infinite numbers are refused, unless
    ``allow_unknown`` is set.
    Encoded columns are ``frozen_``: certificates cover continuous moves, which a category cannot make.

    Parameters
    ----------
    categorical : sequence of str, default=()
        Columns of numbers that are codes of categories.
    dates : sequence of str, default=()
        Columns of dates, which become days since 1970.
    allow_unknown : bool, default=False
        Allow values in new rows that training rows do not have: a category then gives 0 in all its columns, everything
        else becomes the median of the training rows. ``model.set_params(tableencoder__allow_unknown=True)`` allows it
        in a pipeline, also in one that was loaded.
    reading : Reading, optional
        How the table was read, such as ``Reading(missing=["-999"])``: its signs, and values that stand for a missing
        one.

    Attributes
    ----------
    columns_ : list of str
        Columns of the table.
    medians_ : dict
        Median of each column of numbers.
    categories_ : dict
        Values of each column of categories.
    feature_names_ : list of str
        Columns of the matrix.
    frozen_ : ndarray of bool of shape (n_features_out,)
    n_features_in_ : int
    reading_ : Reading
        ``reading`` with the order and range of dates, and the columns of whole numbers; new tables are read by it.

    Examples
    --------
    >>> import pandas
    >>> table = pandas.DataFrame({"age": [30.0, None, 50.0], "sex": ["f", "m", "f"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.feature_names_, encoder.encode(table)[1].tolist()
    (['age', 'sex=f', 'sex=m'], [40.0, 0.0, 1.0])
    """

    allow_unknown = False  # of encoders in files of version 0.1
    reading: Reading | None = None

    def __init__(
        self,
        categorical: Sequence[str] = (),
        dates: Sequence[str] = (),
        allow_unknown: bool = False,
        reading: Reading | None = None,
    ):
        self.categorical = categorical
        self.dates = dates
        self.allow_unknown = allow_unknown
        self.reading = reading

    def fit(self, X, y=None):
        """Find the columns of numbers and their medians, and the categories of the other columns."""
        table = as_columns(X)
        unknown = [c for c in (*self.categorical, *self.dates) if c not in table]
        if unknown:
            raise ValueError(f"There is no column {unknown[0]!r} to take as {_KINDS[unknown[0] in self.dates]}.")
        reading = self.reading or Reading()
        table = with_gaps(table, reading)
        orders = {name: date_order(name, table[name]) for name in self.dates}
        table = _with_days(table, orders)
        whole, dates = [], {}
        self.columns_, self.medians_, self.categories_ = list(table), {}, {}
        self.feature_names_: list[str] = []
        frozen: list[bool] = []
        for name, column in table.items():
            if name not in self.categorical and is_number(name, column):
                values = numbers_of(name, column)
                if np.isnan(values).all():
                    raise ValueError(f"Column {name!r} is empty: leave it out (--drop).")
                self.medians_[name] = float(np.nanmedian(values))
                self.feature_names_.append(name)
                frozen.append(False)
                known = values[~np.isnan(values)]
                if (known == np.round(known)).all():
                    whole.append(name)
                if name in orders:
                    dates[name] = Days(orders[name], float(known.min()), float(known.max()))
            else:
                categories = sorted(set(words_of(column)))
                if len(categories) > MAX_CATEGORIES:
                    example = next(word for word in categories if word != MISSING)
                    raise ValueError(
                        f"Column {name!r} has {len(categories)} different words, such as {example!r}: leave it out "
                        "(--drop) if it only names rows."
                    )
                self.categories_[name] = categories
                self.feature_names_ += [f"{name}={value}" for value in categories]
                frozen += [True] * len(categories)
        if len(set(self.feature_names_)) < len(self.feature_names_):
            name = next(name for name in self.feature_names_ if self.feature_names_.count(name) > 1)
            raise ValueError(f"A column and a category of another would both be named {name!r}: rename the column.")
        self.reading_ = replace(reading, dates=dates, whole=whole)
        self.frozen_ = np.array(frozen, dtype=bool)
        self.n_features_in_ = len(self.columns_)
        return self

    def transform(self, X) -> np.ndarray:
        """The matrix of new rows, of shape (n_rows, n_features_out); see :meth:`transform_new`.

        Columns the training table did not have are ignored.
        """
        return self.transform_new(X, self.allow_unknown)[0]

    def fit_transform(self, X, y=None) -> np.ndarray:
        """Fit, and the matrix of the same rows."""
        return self.fit(X, y).encode(X)

    def encode(self, X) -> np.ndarray:
        """The matrix of rows of the training table: gaps are filled, an unseen category is none of the others."""
        check_is_fitted(self)
        table = self._known_columns(X)
        return self._encode(table, {name: numbers_of(name, table[name]) for name in self.medians_})

    def transform_new(self, X, allow_unknown: bool = False) -> tuple[np.ndarray, list[UnknownValues]]:
        """The matrix of new rows; values that the model was not trained on are refused, all in one message.

        Parameters
        ----------
        X : data frame or array
            Columns of a data frame go by name, those of an array by position.
        allow_unknown : bool, default=False
            Encode such rows all the same: an unseen category gives 0 in all its columns, a gap, a word or an
            infinite number in a column of numbers becomes the median of the training rows.

        Returns
        -------
        matrix : ndarray of shape (n_rows, n_features_out)
        unknown : list of UnknownValues
            What was allowed.
        """
        check_is_fitted(self)
        table = self._known_columns(X)
        numbers, unknown = {}, []
        for name in self.columns_:
            if name in self.medians_:
                numbers[name], unknown_here = finite_numbers(name, table[name])
                unknown += unknown_here
                if (days := self.how_read.dates.get(name)) is not None:
                    unknown += far_days(name, table[name], numbers[name], days.first, days.last)
            else:
                unknown += unknown_categories(name, table[name], self.categories_[name])
        if unknown and not allow_unknown:
            raise ValueError(
                f"The rows hold values that the model was not trained on: {describe_all(unknown)}. Correct them, or "
                "allow them (--allow-unknown, TableEncoder(allow_unknown=True)): a category is then none of the known "
                "ones, everything else the median of the training rows."
            )
        return self._encode(table, numbers), unknown

    def _known_columns(self, X) -> dict:
        """Name -> column of the columns the encoder was fitted on; ``ValueError`` if one is missing."""
        table = as_columns(X, self.columns_)
        check_columns(table, self.columns_)
        orders = dict.fromkeys(getattr(self, "dates", ()), "")  # models of earlier versions have none
        orders |= {name: days.order for name, days in self.how_read.dates.items()}
        return _with_days(with_gaps({name: table[name] for name in self.columns_}, self.how_read), orders)

    @property
    def how_read(self) -> Reading:
        """``reading_``; of an encoder from a file of an earlier version, what a reader finds out by itself."""
        return getattr(self, "reading_", Reading())

    def _encode(self, table: dict, numbers: dict[str, np.ndarray]) -> np.ndarray:
        """The matrix; NaN among the numbers becomes the median."""
        out = []
        for name in self.columns_:
            if name in self.medians_:
                values = numbers[name]
                out.append(np.where(np.isnan(values), self.medians_[name], values)[:, None])
            else:
                words = np.asarray(words_of(table[name]), dtype=str)
                out.append((words[:, None] == np.asarray(self.categories_[name], dtype=str)).astype(np.float64))
        return np.hstack(out)

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the matrix's columns."""
        return np.asarray(self.feature_names_, dtype=object)

    def origins(self) -> list[str]:
        """For each of the matrix's columns the column of the table it is from."""
        return [name for name in self.columns_ for _ in self.categories_.get(name, [name])]

    def notes(self, X) -> list[str]:
        """Remarks on the values of this table that were filled or encoded, in sentences."""
        table, remarks = self._known_columns(X), []
        filled = {n: int(np.isnan(numbers_of(n, table[n])).sum()) for n in self.medians_}
        if total := sum(filled.values()):
            where = ", ".join(f"{name} {count}" for name, count in filled.items() if count)
            remarks.append(
                f"{total} missing numbers were filled with the median of their column ({where}); a certificate "
                "of such a row is about the filled row."
            )
        gaps = [name for name, found in self.categories_.items() if MISSING in found]
        if gaps:
            remarks.append(f"Missing words are a category of their own, {MISSING}, in {', '.join(gaps)}.")
        if days := [name for name in getattr(self, "dates", ()) if name in self.medians_]:
            remarks.append(f"Dates were turned into days since 1970: {', '.join(days)}.")
        if self.categories_:
            remarks.append(
                f"Categories were encoded as columns of 0 and 1, and are frozen: {', '.join(self.categories_)}. "
                "Certificates cover moves of the other columns only."
            )
        return remarks


def _with_days(table: dict, orders: dict[str, str]) -> dict:
    """The columns of dates as days."""
    return {name: to_days(name, column, orders[name]) if name in orders else column for name, column in table.items()}


def check_columns(present: Iterable[str], needed: Sequence[str]) -> None:
    """Refuse a table that lacks columns by name; those that the model does not know may be the same, renamed."""
    present = list(present)
    missing = [name for name in needed if name not in set(present)]
    if not missing:
        return
    others = [name for name in present if name not in set(needed)]
    renamed = f"; it has {listed(map(repr, others))}, which the model does not know" if others else ""
    raise ValueError(
        f"The table lacks {'the column' if len(missing) == 1 else 'the columns'} {listed(map(repr, missing))}, which "
        f"the model was trained on{renamed}."
    )
