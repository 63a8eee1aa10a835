"""A threat for one model: its names, words and values as arrays over the model's columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.base.inputs import class_codes
from holdfast.certificates.columns import Encoding, as_number, key
from holdfast.certificates.moves import LIMIT, Categories, Category, Moves, WholeNumbers
from holdfast.certificates.norms import L2, as_norm
from holdfast.certificates.training import UNIT_WORDS, Training, has_words, place_of

if TYPE_CHECKING:
    from holdfast.certificates.threat import Threat

_SHOWN = 8  # columns that a message lists
_UNITS = 1e-290, 1e290  # smallest and largest unit: sizes in such units are still numbers of float64
_SENSES = ("<=", ">=", "==")


class Names:
    """The names of a model's columns, by which a threat is read; problems are collected as sentences."""

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

    def name_group(self, values: list) -> bool:
        """True if values are names of columns, so that they stand for a group of columns of 0 and 1."""
        return bool(values) and all(value is None or value in self.index for value in values)

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
        """The number of a column, or None; see :func:`place_of`."""
        return place_of(column, self.index, self.n_features)


def _categories(names: Names, what: str, given, limited: bool) -> list[Category]:
    """``{column: values}`` and ``{group: columns}`` as categories; what is wrong is added to ``names.problems``."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        unknown = ", ".join(str(name) for name in np.atleast_1d(np.asarray(given, dtype=object)))
        names.problem(
            f"The values of {unknown} are not known: say {what}={{column: [values]}}, or "
            "Threat(...).fitted_to(X_train), or give certify the rows of training, reference=(X_train, y_train)."
        )
        return []
    categories = []
    for name, values in given.items():
        values = list(np.atleast_1d(np.asarray(values, dtype=object)))
        # If all values are names of columns, this is a group of columns, whatever its own name is.
        read = _group if names.name_group(values) or not names.has(name) else _numbered
        category = read(names, what, name, values, limited)
        if category is not None:
            categories.append(category)
    return categories


def _numbered(names: Names, what: str, name, values: list, limited: bool) -> Category | None:
    """A category that is one column of numbers."""
    at = names.find(what, name)
    try:
        numbers = np.unique(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not numbers.size or not np.isfinite(numbers).all():
        names.problem(f"{what} of {name} must list the numbers that stand for its categories; got {values[:5]!r}.")
        return None
    return Category(str(name), np.array([at]), numbers[:, None], limited)


def _group(names: Names, what: str, name, members: list, limited: bool) -> Category | None:
    """A group of columns of 0 and 1, one for each category; None among them stands for a category without a column."""
    if not names.has(members[0]) if members else True:
        names.find(what, name)  # neither a column nor a group of columns
        return None
    numbers = [names.find(what, member) for member in members if member is not None]
    if None in numbers:
        return None
    places = np.array(numbers, dtype=np.int64)
    if len(set(numbers)) < len(numbers):
        names.problem(f"{what} of {name} names a column twice.")
        return None
    patterns = np.eye(len(places))
    if None in members:
        patterns = np.vstack([patterns, np.zeros(len(places))])
    return Category(str(name), places, patterns, limited)


def _relations(names: Names, given) -> tuple[np.ndarray, np.ndarray] | None:
    """``A z ≤ b``; an equality is two of them."""
    rows, levels = [], []
    for number, relation in enumerate([] if given is None else given):
        try:
            terms, sense, value = relation
            level = float(value)
            terms = dict(terms)
        except (TypeError, ValueError):
            names.problem(f'Relation {number} must be ({{column: factor}}, "<=", number); got {relation!r}.')
            continue
        if sense not in _SENSES:
            names.problem(f"Relation {number} must say one of {', '.join(_SENSES)}; got {sense!r}.")
            continue
        a = names.values(f"relation {number}", terms, 0.0)
        if a is None or not np.isfinite(a).all() or not np.isfinite(level):
            names.problem(f"Relation {number} must have finite numbers.")
            continue
        if not a.any():
            names.problem(f"Relation {number} names no column with a factor other than 0.")
            continue
        if sense in ("<=", "=="):
            rows.append(a)
            levels.append(level)
        if sense in (">=", "=="):
            rows.append(-a)
            levels.append(-level)
    return (np.array(rows), np.array(levels)) if rows else None


_LIMITS = ("unit", "lower", "upper", "only_up", "only_down", "integer")


class Binding:
    """A threat, read for the columns of one model; ``problems`` are sentences."""

    def __init__(self, threat: "Threat", columns: Encoding, training: Training):
        self.columns = columns
        self.names = Names(columns.n_columns, columns.names)
        self.problems = self.names.problems
        self.said = dict(vars(threat))
        self._resolve_unit(training)
        for what in ("free", "categories"):
            if training.rows is not None and not isinstance(self.said[what], Mapping | None):
                try:
                    self.said[what] = training.values(what, self.said[what])
                except ValueError as error:
                    self.problems.append(str(error))
                    self.said[what] = None

    def moves(self, classes: np.ndarray | None) -> Moves:
        """The moves, or one ``ValueError`` that lists everything that is wrong with the threat."""
        columns = self.columns
        if not columns.keeps_rows:
            self._check_limits()
            self._check_kinds()
        plain: list[Category] = []
        encoded: list[Category] = []
        for what, limited in (("free", False), ("categories", True)):
            of_encoder, rest = self._split(what)
            plain += _categories(self.names, what, rest, limited)
            for column, values in of_encoder.items():
                found = self._encoded(what, column, values, limited)
                encoded += [] if found is None else [found]
        numbers = self._numbers()
        frozen = np.zeros(columns.n_columns, bool) if numbers.frozen is None else numbers.frozen.copy()
        for column in self._whole_columns():
            whole = self._whole_numbers(column, numbers)
            encoded += [] if whole is None else [whole]
        categories = self._together([*plain, *encoded], frozen)
        attacked = None if classes is None else self._attacked(classes)
        if self.problems:
            raise ValueError(" ".join(self.problems))
        if plain:  # their values are enumerated, so these columns do not move as numbers
            frozen[np.concatenate([group.columns for group in plain])] = True
            numbers = replace(numbers, frozen=frozen)
        if numbers.integer is not None:
            integer = numbers.integer & ~frozen
            numbers = replace(numbers, integer=integer if integer.any() else None)
        gaps = {column: [columns.gap(column)] for column in columns.gaps}
        gaps |= {column: columns.gap_codes(column) for column in columns.encoded_numbers}
        labels: list = list(range(columns.n_columns)) if columns.names is None else list(map(str, columns.names))
        moves = replace(
            columns.moves(numbers), categories=categories, attacked=attacked, gaps=gaps, labels=tuple(labels)
        )
        return replace(moves, why_frozen=self._why_frozen(moves))

    def _resolve_unit(self, training: Training) -> None:
        """Numbers in place of "std" and "range", in the unit or in some of its values."""
        given = self.said["unit"]
        if not has_words(given):
            return
        self.said["unit"] = None
        if isinstance(given, str) and given not in UNIT_WORDS:
            self.problems.append(f'unit must be numbers, "std" or "range"; got {given!r}.')
            return
        try:
            self.said["unit"] = training.unit(given)
        except ValueError as error:
            self.problems.append(str(error))
            return
        if self.said["unit"] is None:
            self.problems.append(
                f"unit={given!r} needs rows of training: Threat(...).fitted_to(X_train), or give certify "
                "reference=(X_train, y_train)."
            )

    def _numbers(self) -> Moves:
        """The moves of the user's columns as numbers."""
        names, said = self.names, self.said
        try:
            norm = as_norm(said["norm"], names.n_features)
        except ValueError as error:
            names.problem(str(error))
            norm = L2()
        unit = names.values("unit", said["unit"], 1.0)
        lower = names.values("lower", said["lower"], -np.inf)
        upper = names.values("upper", said["upper"], np.inf)
        frozen, up, down, integer = (
            names.mask(what, said[what]) for what in ("frozen", "only_up", "only_down", "integer")
        )
        if unit is not None and not (np.isfinite(unit) & (unit > 0)).all():
            names.problem(f"unit must be a positive number; that of {names.first(~(unit > 0))} is not.")
        elif unit is not None and ((unit < _UNITS[0]) | (unit > _UNITS[1])).any():
            outside = (unit < _UNITS[0]) | (unit > _UNITS[1])
            names.problem(
                f"unit must be between {_UNITS[0]:g} and {_UNITS[1]:g}, so that sizes are numbers of float64; that of "
                f"{names.first(outside)} is not."
            )
        if lower is not None and upper is not None and (lower > upper).any():
            names.problem(f"lower is above upper for feature {names.first(lower > upper)}.")
        relations = _relations(names, said["relations"])
        unit = None if unit is None or (unit == 1.0).all() else unit
        return Moves(norm, unit, lower, upper, frozen, up, down, relations, integer)

    def _together(self, groups: list[Category], frozen: np.ndarray) -> Categories | None:
        """The categories; a column twice, a column that is also frozen, and too many choices are problems."""
        most = self.said["max_changes"]
        if most is not None and self.said["categories"] is None:
            self.problems.append("max_changes limits the changes of categories=, but that names none.")
        if most is not None and (isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 0):
            self.problems.append(f"max_changes must be a whole number of at least 0; got {most!r}.")
            return None
        if not groups:
            return None
        n = self.columns.n_columns
        used = np.bincount(np.concatenate([group.columns for group in groups]), minlength=n)[:n]
        if (used > 1).any():
            self.problems.append(f"Column {self._called(used > 1)} is in two categories.")
        if (frozen & (used > 0)).any():
            self.problems.append(
                f"Column {self._called(frozen & (used > 0))} is frozen, and a category that may change."
            )
        combined = Categories(groups, None if most is None else int(most))
        if combined.count() > LIMIT:
            self.problems.append(
                f"The categories have {combined.count():,} combinations a row, more than {LIMIT:,}: free fewer of "
                "them, or limit how many change at once (categories= with max_changes=)."
            )
        return combined

    def _called(self, mask: np.ndarray) -> str:
        j = int(np.argmax(mask))
        return self.columns.name(j) if j in self.columns.categories else self.names.name(j)

    def _attacked(self, known: np.ndarray) -> np.ndarray | None:
        """Codes of the classes that the threat names, however they are written; see :func:`class_codes`."""
        if self.said["classes"] is None:
            return None
        codes, unknown = class_codes(np.atleast_1d(np.asarray(self.said["classes"], dtype=object)), known)
        if unknown:
            self.problems.append(
                f"classes names {listed(unknown)}, but the classes of the model are {listed_classes(known)}."
            )
        return codes

    def _why_frozen(self, moves: Moves) -> dict[int | str, str]:
        """Column that no move changes -> why."""
        columns = self.columns
        changing = set() if moves.categories is None else set(moves.categories.columns.tolist())
        still = ~moves.can_move(columns.size)
        out = {}
        for j in range(columns.n_columns):
            if j in changing or not still[j]:
                continue
            unread = columns.read is not None and j not in columns.read and j not in columns.categories
            words = j in columns.categories and j not in columns.encoded_numbers
            out[moves.labels[j]] = "words" if words else "no step reads it" if unread else "by the threat"
        return out

    def _named(self, what: str) -> list[int]:
        """The columns that a parameter names: those of a mapping, a list or a mask."""
        given = self.said[what]
        if given is None or (what in ("unit", "lower", "upper") and not isinstance(given, Mapping)):
            return []
        if not isinstance(given, Mapping) and np.asarray(given).dtype == bool:
            return np.flatnonzero(np.asarray(given)).tolist()
        found = [self.names.number(name) for name in (given if isinstance(given, Mapping) else _flat(given))]
        return [at for at in found if at is not None]

    def _split(self, what: str) -> tuple[dict[int, Any], Any]:
        """Encoded columns with the values that ``what`` names for them (None: all that are known), and the rest."""
        given = self.said[what]
        if given is None or not self.columns.categories:
            return {}, given
        rest = dict(given if isinstance(given, Mapping) else dict.fromkeys(_flat(given)))
        encoded: dict[int, Any] = {}
        for name in list(rest):
            column = self.names.number(name)
            if column is not None and column in self.columns.categories:
                encoded[column] = rest.pop(name)
        for name, values in rest.items():
            members = _flat(values)
            inside = [at for at in map(self.names.number, members) if at in self.columns.categories]
            if inside and self.names.name_group(members):
                self.problems.append(
                    f"{what} of {name!r} is a group of columns of which an encoder reads {self._list(inside)}: name "
                    f"such a column by itself, {what}={{column: [values]}}."
                )
        others: Any = rest if isinstance(given, Mapping) else list(rest)
        return encoded, others or None

    def _list(self, columns) -> str:
        """Columns by name, for a sentence."""
        return ", ".join(self.columns.name(column) for column in columns)

    def _check_limits(self) -> None:
        """Limits of words, and relations of columns that are not read, have no meaning: they are refused."""
        columns = self.columns
        words = set(columns.categories) - set(columns.encoded_numbers)
        for what in _LIMITS:
            named = sorted(words & set(self._named(what)))
            if named:
                self.problems.append(
                    f"{what} names {self._list(named)}, which {'holds' if len(named) == 1 else 'hold'} words: words "
                    "have no size or direction; say free or categories of what may change."
                )
        for number, relation in enumerate(self.said["relations"] or ()):
            terms = relation[0] if isinstance(relation, tuple | list) and len(relation) == 3 else {}
            at = [self.names.number(name) for name in terms] if isinstance(terms, Mapping) else []
            wrong = [j for j in at if j in words or (j is not None and columns.read is not None and
                     j not in columns.read and j not in columns.categories)]  # fmt: skip
            if wrong:
                self.problems.append(
                    f"Relation {number} names {self._list(wrong)}: a relation is between columns of numbers that the "
                    "model reads; leave it out."
                )

    def _check_kinds(self) -> None:
        """Numbers that an encoder reads are refused unless the threat says what they are: one sentence lists all."""
        said = {at for what in ("frozen", "free", "categories", "integer") for at in self._named(what)}
        unsaid = [j for j in self.columns.encoded_numbers if j not in said]
        if unsaid:
            one = len(unsaid) == 1
            names = "[" + ", ".join(repr(self.columns.label(j)) for j in unsaid) + "]"
            self.problems.append(
                f"{'Column' if one else 'Columns'} {self._list(unsaid)} {'holds' if one else 'hold'} numbers that an "
                f"encoder reads as categories: say what a move of {'it' if one else 'them'} is, "
                f"Threat(integer={names}) for whole numbers, whose changes have a size, frozen={names} for what stays "
                f"as it is, or free={names} for what may take any value at no cost."
            )

    def _encoded(self, what: str, column: int, values, limited: bool) -> Category | None:
        """The category of a column that an encoder reads: a row of indicators for each value that it may take."""
        columns = self.columns
        known = {key(value): i for i, value in enumerate(columns.categories[column])}
        present = [value for value in columns.categories[column] if key(value)[0] == "value"]
        wanted = present if values is None else _flat(values)
        foreign = [value for value in wanted if key(value) not in known]
        if foreign:
            self.problems.append(
                f"{what} of {columns.name(column)} names {', '.join(map(repr, foreign[:5]))}, which the model does "
                f"not know: its values are {', '.join(map(repr, present[:10]))}{', …' if len(present) > 10 else ''}."
            )
            return None
        if column in self._named("integer"):
            wanted = [value for value in wanted if as_number(value).is_integer()]
        if not wanted:
            self.problems.append(f"{what} of {columns.name(column)} names no value that it may take: freeze it.")
            return None
        return Category(
            str(columns.label(column)), self._coordinates(column), self._patterns(column, wanted, known), limited,
            tuple(wanted),
        )  # fmt: skip

    def _whole_numbers(self, column: int, numbers: Moves) -> WholeNumbers | None:
        """The whole numbers that an encoder takes, as a category with a price."""
        columns = self.columns
        name = columns.name(column)
        known = {key(value): i for i, value in enumerate(columns.categories[column])}
        present = [value for value in columns.categories[column] if key(value)[0] == "value"]
        plain = [value.item() if isinstance(value, np.generic) else value for value in present]
        if not all(isinstance(value, int | float) for value in plain):
            self.problems.append(f"integer names {name}, which holds something else than numbers: freeze it.")
            return None
        if not numbers.norm.splits:
            self.problems.append(
                f"integer names {name}, which an encoder reads: its changes have no size in the norm of a matrix; take "
                "the norm 2, 1 or inf, or freeze it."
            )
            return None
        refused = columns.refused.get(column, set())
        whole = [v for v in present if as_number(v).is_integer() and known[key(v)] not in refused]
        patterns = self._patterns(column, whole, known)
        last = len(columns.categories[column])
        if last not in refused:  # the encoder takes numbers that it was not fitted on
            related = any(column in map(self.names.number, terms) for terms, *_ in self.said["relations"] or ())
            if column in columns.also_numbers or related:
                self.problems.append(
                    f"integer names {name}, which an encoder reads, and besides another step or a relation: then the "
                    "values to try have no end; freeze it, or let the encoder refuse what it does not know."
                )
                return None
            other = np.zeros((1, patterns.shape[1]))
            other[0, 0], other[0, 1 + last] = np.nan, 1.0
            patterns = np.vstack([patterns, other])
        if not len(patterns):
            self.problems.append(
                f"integer names {name}, but none of the values that its encoder takes is whole: freeze it."
            )
            return None

        def limit(array, default):
            return default if array is None else array[column]

        return WholeNumbers(
            str(columns.label(column)), self._coordinates(column), patterns, False, tuple(whole),
            known=frozenset(as_number(v) for v in present), low=limit(numbers.lower, -np.inf),
            high=limit(numbers.upper, np.inf), up=not limit(numbers.only_down, False),
            down=not limit(numbers.only_up, False), gaps=tuple(columns.gap_codes(column)),
        )  # fmt: skip

    def _whole_columns(self) -> list[int]:
        """Columns that an encoder reads, and that are whole numbers, neither frozen nor categories of the threat."""
        if not self.columns.encoded_numbers:
            return []
        said = {at for what in ("frozen", "free", "categories") for at in self._named(what)}
        return sorted((set(self._named("integer")) & set(self.columns.encoded_numbers)) - said)

    def _coordinates(self, column: int) -> np.ndarray:
        return np.array([column, *self.columns.indicators[column]])

    def _patterns(self, column: int, values, codes: dict) -> np.ndarray:
        """The number and the indicators of each value."""
        rows = np.zeros((len(values), 1 + len(self.columns.indicators[column])))
        for i, value in enumerate(values):
            rows[i, 0], rows[i, 1 + codes[key(value)]] = as_number(value), 1.0
        return rows


def listed_classes(known: np.ndarray) -> str:
    """The classes of a model, for a sentence."""
    return f"{', '.join(map(str, known.tolist()[:10]))}{', …' if len(known) > 10 else ''}"


def listed(labels: list) -> str:
    """Labels as they were given, for a sentence."""
    return f"{', '.join(map(repr, labels[:10]))}{', …' if len(labels) > 10 else ''}"


def _flat(given) -> list:
    return np.atleast_1d(np.asarray(given, dtype=object)).tolist()
