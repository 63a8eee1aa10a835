"""Columns and categories as a threat names them: by name, number, mask or value, and from rows of training."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from holdfast.certificates.columns import numeric
from holdfast.certificates.moves import Moves
from holdfast.certificates.pipelines import column_numbers, does_nothing

if TYPE_CHECKING:
    from holdfast.certificates.threat import Threat

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
        """The number of a column, or None; files have string keys: "3" is the fourth column if none is called "3".

        A number is always a position: 3 is the fourth column, whatever the columns are called.
        """
        if isinstance(column, str):
            if column in self.index:
                return self.index[column]
            if not column.isdecimal():
                return None
        if isinstance(column, bool) or not isinstance(column, int | float | str | np.integer | np.floating):
            return None
        number = float(column)
        return int(number) if number.is_integer() and 0 <= number < self.n_features else None


LIMIT = 10_000  # combinations of categories of one row: each is certified as a separate row, which takes time


@dataclass(frozen=True, eq=False)
class Category:
    """One column of numbers, or a group of columns of 0 and 1, and the values it can take.

    Attributes
    ----------
    name : str
    columns : int ndarray of shape (c,)
        Its columns in the input of the model.
    patterns : ndarray of shape (n_values, c)
        The numbers in these columns for each value.
    limited : bool
        Whether its changes count against ``max_changes``.
    """

    name: str
    columns: np.ndarray
    patterns: np.ndarray
    limited: bool

    @property
    def one_hot(self) -> bool:
        """True if its columns are indicators that a user fills in, one of which is 1."""
        return len(self.columns) > 1

    @property
    def whole(self) -> bool:
        """True if its values are whole numbers, a change of which has a price."""
        return False

    def becomes(self, rows: np.ndarray, choice: np.ndarray) -> np.ndarray:
        """The numbers in its columns after a change of each row to one of its values; NaN where there is none."""
        return self.patterns[choice]

    def current(self, rows: np.ndarray) -> np.ndarray:
        """The index of the value that each row has; −1 if it has none of them."""
        same = (rows[:, self.columns][:, None, :] == self.patterns).all(axis=2)
        return np.where(same.any(axis=1), same.argmax(axis=1), -1)


class Categories:
    """The categories of a row that may change, and how many of them together.

    :meth:`table` has one line for each choice: for each category the index of its new value, −1 if it stays.

    Parameters
    ----------
    groups : sequence of Category
    max_changes : int or None
        How many of the limited ones may change at once; None: all.
    """

    def __init__(self, groups, max_changes: int | None = None):
        self.groups = tuple(groups)
        limited = [g for g, group in enumerate(self.groups) if group.limited]
        most = len(limited) if max_changes is None else min(max_changes, len(limited))
        self._free = [g for g, group in enumerate(self.groups) if not group.limited]
        self._chosen = [subset for n in range(most + 1) for subset in combinations(limited, n)]  # that change together
        self.columns = np.concatenate([group.columns for group in self.groups])
        self.whole = np.array([group.columns[0] for group in self.groups if group.whole], dtype=np.int64)

    def count(self) -> int:
        """Number of lines of :meth:`table`, without making it; counting stops beyond 10⁹."""
        lines = 0
        for subset in self._chosen:
            sizes = [len(self.groups[g].patterns) for g in subset]
            sizes += [len(self.groups[g].patterns) + 1 for g in self._free]
            lines += int(np.prod(sizes, dtype=object)) if sizes else 1
            if lines > 10**9:  # far beyond LIMIT: no need to count on
                break
        return lines

    def table(self) -> np.ndarray:
        """All the choices, the first of which changes nothing: (n_choices, n_groups)."""
        lines = []
        for subset in self._chosen:
            where = [*subset, *self._free]
            values = [range(len(self.groups[g].patterns)) for g in subset]
            values += [range(-1, len(self.groups[g].patterns)) for g in self._free]
            for line in product(*values):
                choice = np.full(len(self.groups), -1, np.int64)
                choice[where] = line
                lines.append(choice)
        return np.array(lines)

    def blocks(self, rows: np.ndarray, most: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """``(part, owner, places)`` for a few rows at a time: every row that a row of the part can become.

        ``places`` are the changed rows, ``owner`` the number of the row (within the part) that each comes from; rows
        without a change are not among them. About ``most`` places are made at once.
        """
        table = self.table()[1:]
        step = max(1, most // max(len(table), 1))
        for start in range(0, len(rows), step):
            part = slice(start, min(start + step, len(rows)))
            current = np.column_stack([group.current(rows[part]) for group in self.groups])
            # Skip choices that name the value a row has already: the choice with −1 there is the same row.
            new = ((table == -1) | (table != current[:, None, :])).all(axis=2)
            owner, choice = np.nonzero(new)
            places = rows[part][owner]
            for g, group in enumerate(self.groups):
                changed = np.flatnonzero(table[choice, g] >= 0)
                places[np.ix_(changed, group.columns)] = group.becomes(places[changed], table[choice[changed], g])
            yield part, owner, places

    @property
    def at_no_cost(self) -> bool:
        """True if some of the changes cost nothing."""
        return any(not group.whole for group in self.groups)

    def price(self, moves: Moves, delta: np.ndarray) -> np.ndarray:
        """The size of the changes of whole numbers alone, in moves (m, d)."""
        others = np.ones(delta.shape[1], bool)
        others[self.whole] = False
        return replace(moves, frozen=others).lengths(delta)

    def lengths(self, moves: Moves, delta: np.ndarray) -> np.ndarray:
        """The size of moves (m, d) of whole numbers and of what ``moves`` lets move."""
        frozen = np.array(moves.frozen)
        frozen[self.whole] = False
        return replace(moves, frozen=frozen).lengths(delta)

    def strange(self, rows: np.ndarray) -> list[str]:
        """One sentence for each group of 0/1 columns in which a row has other values, or more than one 1."""
        out = []
        for group in self.groups:
            values = rows[:, group.columns]
            if not group.one_hot:
                continue
            bad = ~np.isin(values, (0.0, 1.0)).all(axis=1) | (values.sum(axis=1) > 1)
            if bad.any():
                out.append(
                    f"{int(bad.sum())} rows, the first is row {int(np.argmax(bad))}, do not have one 1 and else 0 in "
                    f"the columns of {group.name!r}: the columns of a group must hold 0 and 1 as the model takes them."
                )
        return out


def read_categories(columns: Columns, what: str, given, limited: bool) -> list[Category]:
    """``{column: values}`` and ``{group: columns}`` as categories; what is wrong is added to ``columns.problems``."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        names = ", ".join(str(name) for name in np.atleast_1d(np.asarray(given, dtype=object)))
        columns.problem(
            f"The values of {names} are not known: say {what}={{column: [values]}}, or Threat(...).fitted_to(X_train), "
            "or give certify the rows of training, reference=(X_train, y_train)."
        )
        return []
    categories = []
    for name, values in given.items():
        values = list(np.atleast_1d(np.asarray(values, dtype=object)))
        # If all values are names of columns, this is a group of columns, whatever its own name is.
        names_columns = bool(values) and all(value is None or value in columns.index for value in values)
        read = _group if names_columns or not columns.has(name) else _numbered
        category = read(columns, what, name, values, limited)
        if category is not None:
            categories.append(category)
    return categories


def _numbered(columns: Columns, what: str, name, values: list, limited: bool) -> Category | None:
    """A category that is one column of numbers."""
    at = columns.find(what, name)
    try:
        numbers = np.unique(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not numbers.size or not np.isfinite(numbers).all():
        columns.problem(f"{what} of {name} must list the numbers that stand for its categories; got {values[:5]!r}.")
        return None
    return Category(str(name), np.array([at]), numbers[:, None], limited)


def _group(columns: Columns, what: str, name, members: list, limited: bool) -> Category | None:
    """A group of columns of 0 and 1, one for each category; None among them stands for a category without a column."""
    if not columns.has(members[0]) if members else True:
        columns.find(what, name)  # neither a column nor a group of columns
        return None
    numbers = [columns.find(what, member) for member in members if member is not None]
    if None in numbers:
        return None
    places = np.array(numbers, dtype=np.int64)
    if len(set(numbers)) < len(numbers):
        columns.problem(f"{what} of {name} names a column twice.")
        return None
    patterns = np.eye(len(places))
    if None in members:
        patterns = np.vstack([patterns, np.zeros(len(places))])
    return Category(str(name), places, patterns, limited)


@dataclass(frozen=True, eq=False)
class EncodedCategory(Category):
    """A column that an encoder reads: its numeric coordinate, and the indicators of its values.

    Attributes
    ----------
    values : tuple
        What it may become.
    """

    values: tuple = ()

    @property
    def one_hot(self) -> bool:
        """False: the indicators are made by the encoding, so they need no check."""
        return False


@dataclass(frozen=True, eq=False)
class WholeNumbers(EncodedCategory):
    """Numbers that an encoder reads, and that stay whole: a change costs its size (Lemma C3).

    Attributes
    ----------
    known : frozenset of float
        All whole numbers that the encoder tells apart. Others have one image, so the nearest stands for them: it is the
        last pattern, with NaN for the number, where the encoder takes such numbers.
    low, high : float
        Limits of the number.
    up, down : bool
        Whether it may grow, and shrink.
    gaps : tuple of int
        The coordinates that are 1 where there is no number, which none replaces.
    """

    known: frozenset = frozenset()
    low: float = -np.inf
    high: float = np.inf
    up: bool = True
    down: bool = True
    gaps: tuple[int, ...] = ()

    @property
    def whole(self) -> bool:
        """True."""
        return True

    def becomes(self, rows: np.ndarray, choice: np.ndarray) -> np.ndarray:
        """The values of the choices; NaN for a gap, and where no other whole number is within the limits."""
        out = self.patterns[choice]
        for i in np.flatnonzero(np.isnan(out[:, 0])):
            out[i, 0] = self._nearest_other(rows[i, self.columns[0]])
        out[rows[:, list(self.gaps)].any(axis=1), 0] = np.nan
        return out

    def _nearest_other(self, x: float) -> float:
        """The whole number within the limits that is nearest to x, and that the encoder does not tell from others."""
        found = []
        for start, step, allowed in ((np.ceil(x), 1.0, self.up), (np.floor(x), -1.0, self.down)):
            value, step = start, step * max(1.0, np.spacing(abs(start)))
            while value in self.known or value == x:
                value += step
            if allowed and min(self.low, x) <= value <= max(self.high, x):
                found.append(value)
        return min(found, key=lambda value: abs(value - x), default=np.nan)


_MOST = 1_000  # most values of a category; a column with more is taken for numbers


def fitted_threat(threat: "Threat", model, reference, names) -> "Threat":
    """The threat with numbers in place of words, from the rows of training if they are known.

    They come from the rows given as ``reference``, from the rows that a classifier without steps before it stores, or
    are the standard deviations by which the model itself divides (:func:`deviations`). Otherwise the threat is returned
    as it is, and reading it raises an error that says what is missing.
    """
    if not threat.needs_rows:
        return threat
    rows = stored_rows(model) if reference is None else reference[0]
    if rows is not None:
        if names is not None and not hasattr(rows, "columns"):
            from pandas import DataFrame  # installed: the names came from a data frame

            rows = DataFrame(rows, columns=[str(name) for name in names])
        return threat.fitted_to(rows)
    unit = deviations(model) if isinstance(threat.unit, str) and threat.unit == "std" else None
    return threat if unit is None else type(threat)(**threat.get_params() | {"unit": unit})


def stored_rows(model) -> np.ndarray | None:
    """The rows of training that a classifier without steps before it stores: neighbours, but no prototypes."""
    return getattr(model, "reference_", None) if hasattr(model, "n_neighbors") else None


def deviations(model) -> np.ndarray | None:
    """The standard deviation of each column, if a pipeline divides by it before anything else; None if it does not.

    That is a ``StandardScaler`` that stands first, or first (but for a ``SimpleImputer``) in each part of a
    ``ColumnTransformer`` that takes numbers. Columns that are encoded or left out have 1.
    """
    first = model[0] if isinstance(model, Pipeline) else None
    if isinstance(first, StandardScaler):
        return first.scale_
    if not isinstance(first, ColumnTransformer):
        return None
    n, scales = first.n_features_in_, np.ones(first.n_features_in_)
    scaled = False
    for _, part, columns in first.transformers_:
        at = column_numbers(columns, getattr(first, "feature_names_in_", None), n)
        if not at or (isinstance(part, str) and part == "drop"):
            continue
        scaler = first_at_work(part)
        if isinstance(scaler, OneHotEncoder | OrdinalEncoder):
            continue
        # After an imputer, the indicators of gaps come after the columns.
        if not isinstance(scaler, StandardScaler) or scaler.scale_ is None or len(scaler.scale_) < len(at):
            return None
        scales[at], scaled = scaler.scale_[: len(at)], True
    return scales if scaled else None


def first_at_work(step):
    """The first step of a pipeline, or of a list, that does more than fill gaps; None if an imputer drops columns."""
    steps = (
        [each for _, each in step.steps] if isinstance(step, Pipeline) else step if isinstance(step, list) else [step]
    )
    for each in steps:
        if isinstance(each, SimpleImputer):
            filled = np.asarray(each.statistics_)
            if filled.dtype.kind == "f" and np.isnan(filled).any():
                return None
        elif not does_nothing(each):
            return each
    return None


def widths(X, unit):
    """``unit`` with numbers in place of ``"std"`` and ``"range"``: a mapping by name, or an array."""
    at, table = _numbers(X)
    if isinstance(unit, Mapping):
        columns = _columns(X)
        out = {}
        for column, word in unit.items():
            out[column] = word
            if isinstance(word, str):
                place = columns.number(column)
                if place not in at:
                    raise ValueError(f"unit names {column!r}, but the rows of training have no such column of numbers.")
                out[column] = _width(table[:, at.index(place)], word)[()]
        return out
    width = _width(table, unit)
    return {str(X.columns[k]): w for k, w in zip(at, width.tolist(), strict=True)} if hasattr(X, "columns") else width


def values_of(X, what: str, columns) -> dict:
    """``{column: its values}`` of a list of columns."""
    out = {}
    for column in np.atleast_1d(np.asarray(columns, dtype=object)).tolist():
        if hasattr(X, "columns"):
            place = _columns(X).number(column)
            if place is None:
                raise ValueError(f"{what} names {column!r}, but the rows of training have no such column.")
            values = X.iloc[:, place].dropna().unique().tolist()
        else:
            table = np.asarray(X)
            if isinstance(column, str) or not 0 <= int(column) < table.shape[1]:
                raise ValueError(f"{what} names {column!r}, but the rows of training have {table.shape[1]} columns.")
            values = np.unique(table[:, int(column)]).tolist()
        if len(values) > _MOST:
            raise ValueError(
                f"{what} names {column!r}, which has {len(values):,} values in the rows of training: it is no category."
            )
        out[column] = sorted(values)
    return out


def _width(values: np.ndarray, word: str) -> np.ndarray:
    """The standard deviation or the range of each column; 1 where it is 0."""
    if word not in ("std", "range"):
        raise ValueError(f'unit must be numbers, "std" or "range"; got {word!r}.')
    width = np.nanstd(values, axis=0) if word == "std" else np.nanmax(values, axis=0) - np.nanmin(values, axis=0)
    return np.where(width > 0, width, 1.0)


def _columns(X) -> Columns:
    return Columns(np.shape(X)[1], X.columns if hasattr(X, "columns") else None)


def _numbers(X) -> tuple[list[int], np.ndarray]:
    """The positions of the columns of numbers, also of those whose dtype is object, and their values."""
    if hasattr(X, "columns"):
        columns = [X.iloc[:, k] for k in range(X.shape[1])]
        at = [k for k, column in enumerate(columns) if _holds_numbers(column)]
        values = [columns[k].astype(object).where(columns[k].notna(), np.nan).astype(np.float64) for k in at]
        return at, np.column_stack([*values, np.empty((len(X), 0))])
    table = np.asarray(X, dtype=np.float64)
    return list(range(table.shape[1])), table


def _holds_numbers(column) -> bool:
    if column.dtype.kind != "O":
        return column.dtype.kind in "iuf"
    values = column.tolist()
    return numeric(values) and not any(isinstance(value, bool) for value in values)
