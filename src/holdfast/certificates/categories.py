"""Columns that hold categories: all the rows that a row can become when they change."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from holdfast.certificates.columns import Columns
from holdfast.certificates.moves import Moves

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
        read = _group if names_columns or not columns.has(name) else _numbers
        category = read(columns, what, name, values, limited)
        if category is not None:
            categories.append(category)
    return categories


def _numbers(columns: Columns, what: str, name, values: list, limited: bool) -> Category | None:
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
