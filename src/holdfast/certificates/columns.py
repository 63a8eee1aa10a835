"""Names, numbers and masks of columns as arrays over all features, with a list of the problems met."""

from collections.abc import Mapping, Sequence

import numpy as np

_SHOWN = 8  # columns that a message lists


class Columns:
    """The columns of a model, to read the parameters of a threat by; problems are collected as sentences.

    Parameters
    ----------
    n_features : int
    names : sequence of str or None
        None if the columns have no names.
    """

    def __init__(self, n_features: int, names: Sequence[str] | None):
        self.n_features = n_features
        self.index = {} if names is None else {str(name): i for i, name in enumerate(names)}
        self.problems: list[str] = []

    def problem(self, sentence: str) -> None:
        """Add a sentence about one problem."""
        self.problems.append(sentence)

    def name(self, at: int) -> str:
        """The name of a column, or its number."""
        return next((name for name, i in self.index.items() if i == at), str(at))

    def first(self, mask: np.ndarray) -> str:
        """The first feature of a mask, by name if it has one."""
        return self.name(int(np.argmax(mask)))

    def has(self, column) -> bool:
        """True if this is the name or the number of a column."""
        return self.number(column) is not None

    def values(self, what: str, given, default: float) -> np.ndarray | None:
        """One number for each feature; None if nothing is given."""
        if given is None:
            return None
        if isinstance(given, Mapping):
            out = np.full(self.n_features, default)
            for column, value in given.items():
                at = self.find(what, column)
                if at is None:
                    continue
                try:
                    out[at] = float(value)
                except (TypeError, ValueError):
                    self.problem(f"{what} of {column} must be a number; got {value!r}.")
            if np.isnan(out).any():
                self.problem(f"{what} of {self.first(np.isnan(out))} is not a number.")
                return None
            return out
        try:
            value = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            value = np.array(np.nan)
        if value.shape not in ((), (self.n_features,)) or np.isnan(value).any():
            self.problem(f"{what} must be a number, or one for each of the {self.n_features} features.")
            return None
        return np.broadcast_to(value, (self.n_features,)).copy()

    def mask(self, what: str, given) -> np.ndarray | None:
        """A mask of the features, which are given by name, by number or as a mask; None if nothing is given."""
        if given is None:
            return None
        given = np.asarray(given)
        if given.dtype == bool:
            if given.shape != (self.n_features,):
                self.problem(f"{what} must be a mask of {self.n_features} features, or their indices.")
                return None
            return given.copy()
        out = np.zeros(self.n_features, bool)
        for column in np.atleast_1d(given).ravel().tolist():
            at = self.find(what, column)
            if at is not None:
                out[at] = True
        return out

    def find(self, what: str, column) -> int | None:
        """The number of a column; None, and a sentence, if there is no such column."""
        at = self.number(column)
        if at is not None:
            return at
        if isinstance(column, str):
            known = (
                f"the columns are {', '.join(list(self.index)[:_SHOWN])}" if self.index else "the columns have no names"
            )
            self.problem(f"{what} names {column!r}, but {known}{', …' if len(self.index) > _SHOWN else ''}.")
        elif isinstance(column, int | float) and float(column).is_integer():
            self.problem(f"{what} names feature {int(column)}, but there are {self.n_features}.")
        else:
            self.problem(f"{what} must name features or number them; got {column!r}.")
        return None

    def number(self, column) -> int | None:
        """The number of a column, or None; files have string keys: "3" is the fourth column if none is called "3"."""
        if isinstance(column, str):
            if column in self.index:
                return self.index[column]
            if not column.isdecimal():
                return None
        if isinstance(column, bool) or not isinstance(column, int | float | str | np.integer | np.floating):
            return None
        number = float(column)
        return int(number) if number.is_integer() and 0 <= number < self.n_features else None
