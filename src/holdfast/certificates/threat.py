"""``Threat``: which moves of an input are possible, and what they cost, as users say it and as arrays."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from holdfast.certificates.columns import Encoding, as_number, key
from holdfast.certificates.moves import Moves, Relations
from holdfast.certificates.norms import as_norm
from holdfast.certificates.threat_names import (
    LIMIT,
    Categories,
    Category,
    Columns,
    EncodedCategory,
    WholeNumbers,
    read_categories,
    values_of,
    widths,
)
from holdfast.certificates.threat_text import from_basic_types, parse, read_file, sentences, to_basic_types
from holdfast.certificates.vote import Voter

_UNITS = 1e-290, 1e290  # smallest and largest unit: sizes in such units are still numbers of float64
_SENSES = ("<=", ">=", "==")


@dataclass(frozen=True)
class Reading:
    """A threat in arrays over the columns of one model.

    Attributes
    ----------
    moves : Moves
        Moves of the numbers; the columns of categories are frozen.
    categories : Categories or None
        Which categories may change; each choice of them is certified as a separate row.
    names : list of str
        Of the columns.
    gaps : dict of int to list of int
        Column -> the coordinates of an encoded row of which one is 1 where it has a gap.
    """

    moves: Moves
    categories: Categories | None
    names: list[str]
    gaps: dict[int, list[int]] = field(default_factory=dict)

    def check_rows(self, rows: np.ndarray) -> None:
        """Refuse rows that break the relations themselves, or that have no category; warn of a threat without moves."""
        problems = [] if self.categories is None else self.categories.strange(rows)
        if self.categories is None and not self.moves.can_move(rows.shape[1]).any():
            warnings.warn(
                "The threat lets nothing move: every feature is frozen, or can go neither up nor down, and no category "
                "may change. So every answer stands, which says nothing about the model. Free some feature.",
                UserWarning,
                stacklevel=3,
            )
        if self.moves.relations is not None:
            A, b = self.moves.relations
            for column, at in self.gaps.items():
                gap = rows[:, at].any(axis=1)
                if A[:, column].any() and gap.any():
                    problems.append(
                        f"A relation names {self.names[column]}, which has a gap in {int(gap.sum())} of {len(rows)} "
                        f"rows, the first is row {int(np.argmax(gap))}: leave out such rows, or drop the relation."
                    )
            broken = Relations(A, b).broken(rows)
            for k in np.flatnonzero(broken.any(axis=0)):
                first = int(np.argmax(broken[:, k]))
                problems.append(
                    f"{int(broken[:, k].sum())} of {len(rows)} rows break the relation {self._words(A[k], b[k])} "
                    f"before any move, the first is row {first}: correct or leave out such rows, or drop the relation."
                )
        if problems:
            raise ValueError(" ".join(problems))

    def _words(self, a: np.ndarray, b: float) -> str:
        terms = " + ".join(f"{a[i]:g} {self.names[i]}" for i in np.flatnonzero(a))
        return f"{terms} <= {b:g}".replace("+ -", "- ")


def read_threat(threat: "Threat", n_features: int, names) -> Reading:
    """The threat for a model with these columns; one ``ValueError`` lists everything that is wrong with it."""
    columns = Columns(n_features, names)
    norm = as_norm(threat.norm, n_features)
    unit = None if "unit" in threat.needs_rows else columns.values("unit", threat.unit, 1.0)
    if isinstance(threat.unit, str) and threat.unit not in ("std", "range"):
        columns.problem(f'unit must be numbers, "std" or "range"; got {threat.unit!r}.')
    elif "unit" in threat.needs_rows:
        columns.problem(
            f"unit={threat.unit!r} needs rows of training: Threat(...).fitted_to(X_train), or give certify "
            "reference=(X_train, y_train)."
        )
    lower = columns.values("lower", threat.lower, -np.inf)
    upper = columns.values("upper", threat.upper, np.inf)
    frozen, up, down, integer = (
        columns.mask(what, getattr(threat, what)) for what in ("frozen", "only_up", "only_down", "integer")
    )
    if unit is not None and not (np.isfinite(unit) & (unit > 0)).all():
        columns.problem(f"unit must be a positive number; that of {columns.first(~(unit > 0))} is not.")
    elif unit is not None and ((unit < _UNITS[0]) | (unit > _UNITS[1])).any():
        strange = (unit < _UNITS[0]) | (unit > _UNITS[1])
        columns.problem(
            f"unit must be between {_UNITS[0]:g} and {_UNITS[1]:g}, so that sizes are numbers of float64; that of "
            f"{columns.first(strange)} is not."
        )
    if lower is not None and upper is not None and (lower > upper).any():
        columns.problem(f"lower is above upper for feature {columns.first(lower > upper)}.")
    groups = read_categories(columns, "free", threat.free, limited=False)
    groups += read_categories(columns, "categories", threat.categories, limited=True)
    categories = _categories(columns, groups, threat, frozen)
    relations = _relations(columns, threat.relations)
    if columns.problems:
        raise ValueError(" ".join(columns.problems))
    if unit is not None and (unit == 1.0).all():
        unit = None
    if categories is not None:  # their values are enumerated, so these columns do not move as numbers
        frozen = np.zeros(n_features, bool) if frozen is None else frozen
        frozen[categories.columns] = True
    if integer is not None and frozen is not None:
        integer = integer & ~frozen
    integer = None if integer is None or not integer.any() else integer
    return Reading(
        Moves(norm, unit, lower, upper, frozen, up, down, relations, integer), categories,
        [columns.name(i) if columns.index else f"feature {i}" for i in range(n_features)],
    )  # fmt: skip


def _categories(columns: Columns, groups: list[Category], threat: "Threat", frozen) -> Categories | None:
    """The categories together; a column twice, a column that is also frozen, and too many choices are problems."""
    most = threat.max_changes
    if most is not None and threat.categories is None:
        columns.problem("max_changes limits the changes of categories=, but that names none.")
    if most is not None and (isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 0):
        columns.problem(f"max_changes must be a whole number of at least 0; got {most!r}.")
        return None
    if not groups:
        return None
    used = np.bincount(np.concatenate([group.columns for group in groups]), minlength=columns.n_features)
    if (used > 1).any():
        columns.problem(f"Column {columns.first(used > 1)} is in two categories.")
    if frozen is not None and (frozen & (used > 0)).any():
        columns.problem(f"Column {columns.first(frozen & (used > 0))} is frozen, and a category that may change.")
    combined = Categories(groups, None if most is None else int(most))
    if combined.count() > LIMIT:
        columns.problem(
            f"The categories have {combined.count():,} combinations a row, more than {LIMIT:,}: free fewer of them, or "
            "limit how many change at once (categories= with max_changes=)."
        )
    return combined


def _relations(columns: Columns, given) -> tuple[np.ndarray, np.ndarray] | None:
    """``A z ≤ b``; an equality is two of them."""
    rows, levels = [], []
    for number, relation in enumerate([] if given is None else given):
        try:
            terms, sense, value = relation
            level = float(value)
            terms = dict(terms)
        except (TypeError, ValueError):
            columns.problem(f'Relation {number} must be ({{column: factor}}, "<=", number); got {relation!r}.')
            continue
        if sense not in _SENSES:
            columns.problem(f"Relation {number} must say one of {', '.join(_SENSES)}; got {sense!r}.")
            continue
        a = columns.values(f"relation {number}", terms, 0.0)
        if a is None or not np.isfinite(a).all() or not np.isfinite(level):
            columns.problem(f"Relation {number} must have finite numbers.")
            continue
        if not a.any():
            columns.problem(f"Relation {number} names no column with a factor other than 0.")
            continue
        if sense in ("<=", "=="):
            rows.append(a)
            levels.append(level)
        if sense in (">=", "=="):
            rows.append(-a)
            levels.append(-level)
    return (np.array(rows), np.array(levels)) if rows else None


_LISTS = ("frozen", "only_up", "only_down", "integer")
_VALUES = ("unit", "lower", "upper")


def encoded_threat(threat: "Threat", names: Sequence[str], groups: Mapping[str, Sequence[int]]) -> "Threat":
    """The same threat for encoded rows, by the numbers of their columns; see :meth:`Threat.encoded`."""
    at = {str(name): number for number, name in enumerate(names)}
    raw = {str(name): [int(column) for column in columns] for name, columns in groups.items()}
    threat = by_name(threat, table_columns(names, groups))
    parameters, problems = threat.get_params(), []

    def columns_of(what: str, column) -> list[int]:
        if str(column) in raw:
            if what in ("frozen",):
                return raw[str(column)]
            problems.append(f"{what} names {column!r}, which holds categories: a category has no direction or size.")
            return []
        if str(column) in at:
            return [at[str(column)]]
        known = [name for name, number in at.items() if not any(number in group for group in raw.values())]
        shown = ", ".join([*known, *raw][:8])
        problems.append(
            f"{what} names {column!r}, but the columns are {shown}{', …' if len(known) + len(raw) > 8 else ''}."
        )
        return []

    for what in _LISTS:
        if parameters[what] is not None:
            listed = np.atleast_1d(np.asarray(parameters[what])).tolist()
            parameters[what] = [number for column in listed for number in columns_of(what, column)]
    for what in _VALUES:
        if isinstance(parameters[what], Mapping):
            parameters[what] = {
                number: value for column, value in parameters[what].items() for number in columns_of(what, column)
            }
    for what in ("free", "categories"):
        if parameters[what] is not None:
            parameters[what] = _changing(what, parameters[what], raw, columns_of, problems)
    if parameters["relations"] is not None:
        parameters["relations"] = [
            ({number: factor for column, factor in terms.items() for number in columns_of("relations", column)}, *rest)
            for terms, *rest in parameters["relations"]
        ]
    if problems:
        raise ValueError(" ".join(problems))
    changing = {column for what in ("free", "categories") for column in (parameters[what] or {})}
    still = [number for name, columns in raw.items() if name not in changing for number in columns]
    parameters["frozen"] = sorted({*(parameters["frozen"] or []), *still}) or None
    return type(threat)(**parameters)


def table_columns(names: Sequence[str], groups: Mapping[str, Sequence[int]]) -> list[str]:
    """The columns of a raw table, in their order: those that are groups once, in place of their encoded columns."""
    group_of = {int(number): str(name) for name, numbers in groups.items() for number in numbers}
    return list(dict.fromkeys(group_of.get(number, str(name)) for number, name in enumerate(names)))


def by_name(threat: "Threat", names: Sequence[str]) -> "Threat":
    """The same threat with the columns of a table by name; a number is the position of a column, not its name."""
    columns, parameters = Columns(len(names), names), threat.get_params()

    def name(column):
        at = columns.number(column)
        return column if at is None else str(names[at])

    for what in (*_LISTS, *_VALUES, "free", "categories"):
        given = parameters[what]
        if isinstance(given, Mapping):
            parameters[what] = {name(column): value for column, value in given.items()}
        elif given is not None and what not in _VALUES and np.asarray(given).dtype != bool:
            parameters[what] = [name(column) for column in np.atleast_1d(np.asarray(given, dtype=object)).tolist()]
    if threat.relations is not None:
        parameters["relations"] = [
            ({name(column): factor for column, factor in each[0].items()}, *each[1:])
            if isinstance(each, Sequence) and isinstance(each[0], Mapping)
            else each
            for each in threat.relations
        ]
    return type(threat)(**parameters)


def _changing(what: str, given, raw: dict, columns_of, problems: list[str]) -> dict:
    """Categories that may change: a raw column of words is the group of its columns of 0 and 1."""
    out: dict = {}
    values = given if isinstance(given, Mapping) else dict.fromkeys(np.atleast_1d(np.asarray(given)).tolist())
    for column, listed in values.items():
        if str(column) in raw:
            if listed is not None and len(list(listed)) != len(raw[str(column)]):
                problems.append(
                    f"{what} lists some of the values of {column!r}: name the column alone for all of them."
                )
            out[str(column)] = raw[str(column)]
        elif listed is None and columns_of(what, column):
            problems.append(f"{what} names {column!r}, whose values are not known: {what}={{{column!r}: [values]}}.")
        elif listed is not None:
            out |= dict.fromkeys(columns_of(what, column), listed)
    return out


_LIMITS = ("unit", "lower", "upper", "only_up", "only_down", "integer")


class _Reader:
    """What a threat says of the columns that an encoder reads; ``problems`` are sentences."""

    def __init__(self, threat: "Threat", voter: Voter):
        self.threat, self.voter = threat, voter
        self.encoding: Encoding = voter.encoding
        self.columns = Columns(self.encoding.n_columns, voter.feature_names)
        self.problems: list[str] = []

    def named(self, what: str) -> list[int]:
        """The columns that a parameter names: those of a mapping, a list or a mask."""
        given = getattr(self.threat, what)
        if given is None or (what in ("unit", "lower", "upper") and not isinstance(given, Mapping)):
            return []
        if not isinstance(given, Mapping) and np.asarray(given).dtype == bool:
            return np.flatnonzero(np.asarray(given)).tolist()
        found = [self.number(name) for name in (given if isinstance(given, Mapping) else _flat(given))]
        return [at for at in found if at is not None]

    def number(self, name) -> int | None:
        """The number of a column; None if there is none."""
        return self.columns.number(name)

    def split(self, what: str) -> tuple[dict[int, Any], Any]:
        """Encoded columns with the values that ``what`` names for them (None: all that are known), and the rest."""
        given = getattr(self.threat, what)
        if given is None:
            return {}, None
        rest = dict(given if isinstance(given, Mapping) else dict.fromkeys(_flat(given)))
        encoded = {}
        for name in list(rest):
            column = self.number(name)
            if column in self.encoding.categories:
                encoded[column] = rest.pop(name)
        for name, members in rest.items():
            inside = [at for at in map(self.number, _flat(members)) if at in self.encoding.categories]
            if self._is_group(members) and inside:
                self.problems.append(
                    f"{what} of {name!r} is a group of columns of which an encoder reads {self.list(inside)}: name "
                    f"such a column by itself, {what}={{column: [values]}}."
                )
        others: Any = rest if isinstance(given, Mapping) else list(rest)
        return encoded, others or None

    def _is_group(self, values) -> bool:
        """True if values are names of columns, as for a plain category."""
        if values is None:
            return False
        listed = _flat(values)
        return bool(listed) and all(value is None or value in self.columns.index for value in listed)

    def list(self, columns) -> str:
        """Columns by name, for a sentence."""
        return ", ".join(self.encoding.name(column) for column in columns)

    def check_limits(self) -> None:
        """Limits of words, and relations of columns that are not read, have no meaning: they are refused."""
        encoding = self.encoding
        words = set(encoding.categories) - set(encoding.encoded_numbers)
        for what in _LIMITS:
            named = sorted(words & set(self.named(what)))
            if named:
                self.problems.append(
                    f"{what} names {self.list(named)}, which {'holds' if len(named) == 1 else 'hold'} words: words "
                    "have no size or direction; say free or categories of what may change."
                )
        for number, relation in enumerate(self.threat.relations or ()):
            terms = relation[0] if isinstance(relation, tuple | list) and len(relation) == 3 else {}
            at = [self.number(name) for name in terms] if isinstance(terms, Mapping) else []
            wrong = [j for j in at if j in words or (j is not None and encoding.read is not None and
                     j not in encoding.read and j not in encoding.categories)]  # fmt: skip
            if wrong:
                self.problems.append(
                    f"Relation {number} names {self.list(wrong)}: a relation is between columns of numbers that the "
                    "model reads; leave it out."
                )

    def check_kinds(self) -> None:
        """Numbers that an encoder reads are refused unless the threat says what they are: one sentence lists all."""
        said = {at for what in ("frozen", "free", "categories", "integer") for at in self.named(what)}
        unsaid = [j for j in self.encoding.encoded_numbers if j not in said]
        if unsaid:
            one = len(unsaid) == 1
            names = "[" + ", ".join(repr(self.encoding.label(j)) for j in unsaid) + "]"
            self.problems.append(
                f"{'Column' if one else 'Columns'} {self.list(unsaid)} {'holds' if one else 'hold'} numbers that an "
                f"encoder reads as categories: say what a move of {'it' if one else 'them'} is, "
                f"Threat(integer={names}) for whole numbers, whose changes have a size, frozen={names} for what stays "
                f"as it is, or free={names} for what may take any value at no cost."
            )
        for column in sorted(set(self.named("frozen")) & {*self.named("free"), *self.named("categories")}):
            if column in self.encoding.categories:
                self.problems.append(f"Column {self.encoding.name(column)} is frozen, and a category that may change.")

    def category(self, what: str, column: int, values, limited: bool, whole: bool) -> EncodedCategory | None:
        """The category of a column: a row of indicators for each value that it may take."""
        encoding = self.encoding
        known = {key(value): i for i, value in enumerate(encoding.categories[column])}
        present = [value for value in encoding.categories[column] if key(value)[0] == "value"]
        wanted = present if values is None else _flat(values)
        strange = [value for value in wanted if key(value) not in known]
        if strange:
            self.problems.append(
                f"{what} of {encoding.name(column)} names {', '.join(map(repr, strange[:5]))}, which the model does "
                f"not know: its values are {', '.join(map(repr, present[:10]))}{', …' if len(present) > 10 else ''}."
            )
            return None
        if whole:
            wanted = [value for value in wanted if as_number(value).is_integer()]
        if not wanted:
            self.problems.append(f"{what} of {encoding.name(column)} names no value that it may take: freeze it.")
            return None
        return EncodedCategory(
            str(encoding.label(column)), self._coordinates(column), self._patterns(column, wanted, known), limited,
            tuple(wanted),
        )  # fmt: skip

    def whole_numbers(self, column: int, limits: "Reading") -> WholeNumbers | None:
        """The whole numbers that an encoder takes, as a category with a price."""
        encoding, moves = self.encoding, limits.moves
        name = encoding.name(column)
        known = {key(value): i for i, value in enumerate(encoding.categories[column])}
        present = [value for value in encoding.categories[column] if key(value)[0] == "value"]
        plain = [value.item() if isinstance(value, np.generic) else value for value in present]
        if not all(isinstance(value, int | float) for value in plain):
            self.problems.append(f"integer names {name}, which holds something else than numbers: freeze it.")
            return None
        if not moves.norm.splits:
            self.problems.append(
                f"integer names {name}, which an encoder reads: its changes have no size in the norm of a matrix; take "
                "the norm 2, 1 or inf, or freeze it."
            )
            return None
        refused = encoding.refused.get(column, set())
        whole = [v for v in present if as_number(v).is_integer() and known[key(v)] not in refused]
        patterns = self._patterns(column, whole, known)
        last = len(encoding.categories[column])
        if last not in refused:  # the encoder takes numbers that it was not fitted on
            if self.voter.chain.reads(column) or self._has_relation(column):
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
            str(encoding.label(column)), self._coordinates(column), patterns, False, tuple(whole),
            known=frozenset(as_number(v) for v in present), low=limit(moves.lower, -np.inf),
            high=limit(moves.upper, np.inf), up=not limit(moves.only_down, False), down=not limit(moves.only_up, False),
            gaps=tuple(encoding.gap_codes(column)),
        )  # fmt: skip

    def _has_relation(self, column: int) -> bool:
        return any(column in map(self.number, terms) for terms, *_ in self.threat.relations or ())

    def _coordinates(self, column: int) -> np.ndarray:
        return np.array([column, *self.encoding.indicators[column]])

    def _patterns(self, column: int, values, codes: dict) -> np.ndarray:
        """The number and the indicators of each value."""
        rows = np.zeros((len(values), 1 + len(self.encoding.indicators[column])))
        for i, value in enumerate(values):
            rows[i, 0], rows[i, 1 + codes[key(value)]] = as_number(value), 1.0
        return rows


def read_for(threat: "Threat", voter: Voter) -> Reading:
    """The threat in coordinates of the encoded rows of a voter; one ``ValueError`` lists everything that is wrong."""
    encoding = voter.encoding
    if encoding.keeps_rows:
        return threat.read(voter.n_features, voter.feature_names)
    reader = _Reader(threat, voter)
    reader.check_limits()
    reader.check_kinds()
    rest: dict[str, Any] = {}  # parameters of the threat without the columns of words
    groups: list[Category] = []
    whole = set(reader.named("integer"))
    changing: set[int] = set()
    for what, limited in (("free", False), ("categories", True)):
        encoded, rest[what] = reader.split(what)
        for column, values in encoded.items():
            group = reader.category(what, column, values, limited, column in whole)
            groups += [] if group is None else [group]
            if column in changing:
                reader.problems.append(f"Column {encoding.name(column)} is in two categories.")
            changing.add(column)
    if rest["categories"] is None:
        rest["max_changes"] = None
    try:
        reading = type(threat)(**threat.get_params() | rest).read(encoding.n_columns, voter.feature_names)
    except ValueError as error:
        reader.problems.append(str(error))
    else:
        for column in sorted((whole & set(encoding.encoded_numbers)) - changing - set(reader.named("frozen"))):
            found = reader.whole_numbers(column, reading)
            groups += [] if found is None else [found]
    if reader.problems:
        raise ValueError(" ".join(reader.problems))
    moves = encoding.moves(reading.moves)
    gaps = {column: [encoding.gap(column)] for column in encoding.gaps}
    gaps |= {column: encoding.gap_codes(column) for column in encoding.encoded_numbers}
    if not groups:
        return Reading(moves, reading.categories, reading.names, gaps)
    others = () if reading.categories is None else reading.categories.groups
    combined = Categories([*others, *groups], threat.max_changes)
    if combined.count() > LIMIT:
        raise ValueError(
            f"The categories have {combined.count():,} combinations a row, more than {LIMIT:,}: freeze some of them, "
            "or limit how many change at once (categories= with max_changes=)."
        )
    return Reading(moves, combined, reading.names, gaps)


def frozen_columns(reading: Reading, voter: Voter) -> dict[int | str, str]:
    """Column that no move of the threat changes -> why: "words", "no step reads it" or "by the threat"."""
    encoding, moves = voter.encoding, reading.moves
    changing = set() if reading.categories is None else set(reading.categories.columns.tolist())
    still = ~moves.can_move(encoding.size)
    out = {}
    for j in range(encoding.n_columns):
        if j in changing or not still[j]:
            continue
        unread = encoding.read is not None and j not in encoding.read and j not in encoding.categories
        words = j in encoding.categories and j not in encoding.encoded_numbers
        out[encoding.label(j)] = "words" if words else "no step reads it" if unread else "by the threat"
    return out


def enumerated_values(reading: Reading, voter: Voter) -> dict[int | str, tuple]:
    """Column that an encoder reads, and that may change -> the values that were tried."""
    groups = () if reading.categories is None else reading.categories.groups
    label = voter.encoding.label
    return {
        label(int(group.columns[0])): tuple(np.array(group.values, dtype=object).tolist())
        for group in groups if isinstance(group, EncodedCategory)
    }  # fmt: skip


def _flat(given) -> list:
    return np.atleast_1d(np.asarray(given, dtype=object)).tolist()


class Threat(BaseEstimator):
    """``{δ : ‖δ / unit‖ ≤ r, lower ≤ x + δ ≤ upper, δ_i ≥ 0 (only up), δ_i = 0 (frozen), A(x + δ) ≤ b, …}``.

    Features are given by the names of the model's columns, or by number. Values for all features are a number or a
    sequence; values for some features are a mapping.

    Parameters
    ----------
    norm : {2, numpy.inf, 1} or array-like of shape (n_features, n_features), default=2
        How moves are measured; a matrix ``A_0`` is the norm ``√(δᵀ A_0 δ)``.
    unit : float, array-like, mapping, "std" or "range", optional
        The move that counts as size 1 in each feature; 1 for features that a mapping leaves out. ``"std"`` and
        ``"range"`` are the standard deviation and the largest less the smallest value in the rows of training: those
        that :func:`holdfast.certify` knows (``reference=``, or the rows of a classifier that stores them), or those
        given to :meth:`fitted_to`. A feature that is constant there has the unit 1.
    lower, upper : float, array-like or mapping, optional
        A box: features of a moved row can only lie within it. A row that lies outside may stay there.
    frozen : array-like of bool, int or str, optional
        Features that cannot move, as a mask, as numbers or as names.
    only_up, only_down : array-like of bool, int or str, optional
        Features that can only grow, or only shrink.
    integer : array-like of bool, int or str, optional
        Features that are whole numbers after a move (or keep the value they have). Those that an encoder reads are
        tried value by value, each at its price.
    free : mapping or sequence, optional
        Categories that may take any of these values, at no cost; values that are not listed are not looked at.
        ``{"race": [0, 1, 2]}`` is a column of numbers and its values,
        ``{"race": ["race_a", "race_b"]}`` a group of columns of which one is 1 and the others are 0 (with ``None``
        among them also none). A plain list of columns takes the values of the rows of training.
    categories : mapping or sequence, optional
        Other categories that may change at no cost, no more than ``max_changes`` of them at once; given as ``free`` is.
    max_changes : int, optional
        How many of ``categories`` may change at once; by default all.
    relations : sequence of tuples (mapping, {"<=", ">=", "=="}, float), optional
        Linear relations that hold before and after a move: ``({"paid": 1, "owed": -1}, "<=", 0)`` is ``paid ≤ owed``.
    classes : array-like, optional
        Only rows that are predicted to be of these classes are attacked; others have an infinite radius.

    Examples
    --------
    >>> from holdfast import Threat
    >>> threat = Threat(norm=2, unit={"income": 1000.0}, frozen=["sex"], only_up=["age"])
    >>> threat
    Threat(frozen=['sex'], only_up=['age'], unit={'income': 1000.0})
    >>> moves = threat.moves(3, names=["age", "income", "sex"])
    >>> moves.unit.tolist(), moves.frozen.tolist(), moves.only_up.tolist()
    ([1.0, 1000.0, 1.0], [False, False, True], [True, False, False])
    >>> print(*threat.describe(), sep="\\n")
    The size of a move is its Euclidean length.
    income counts in units of 1000.
    sex cannot change.
    age can only grow.
    """

    def __init__(
        self, norm=2, *, unit=None, lower=None, upper=None, frozen=None, only_up=None, only_down=None, integer=None,
        free=None, categories=None, max_changes=None, relations=None, classes=None,
    ):  # fmt: skip
        self.norm = norm
        self.unit = unit
        self.lower = lower
        self.upper = upper
        self.frozen = frozen
        self.only_up = only_up
        self.only_down = only_down
        self.integer = integer
        self.free = free
        self.categories = categories
        self.max_changes = max_changes
        self.relations = relations
        self.classes = classes

    def moves(self, n_features: int, names: Sequence[str] | None = None) -> Moves:
        """The numeric moves for a model with these columns; one ``ValueError`` lists everything that is wrong."""
        return self.read(n_features, names).moves

    def read(self, n_features: int, names: Sequence[str] | None = None) -> Reading:
        """The threat for a model with these columns: moves of numbers, and categories.

        Parameters
        ----------
        n_features : int
        names : sequence of str, optional
            Of the columns of the model.

        Returns
        -------
        Reading
        """
        return read_threat(self, n_features, names)

    @property
    def needs_rows(self) -> list[str]:
        """Parameters that are words, or columns without values, until training rows are given."""
        words = isinstance(self.unit, str) or (
            isinstance(self.unit, Mapping) and any(isinstance(value, str) for value in self.unit.values())
        )
        lists = [name for name in ("free", "categories") if not isinstance(getattr(self, name), Mapping | None)]
        return ["unit"] * words + lists

    def fitted_to(self, X) -> "Threat":
        """A threat with numbers in place of ``"std"``, ``"range"`` and lists of categories, from rows of training.

        The result is a plain threat: it can be cloned, written to a file and used with any model of these columns.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)

        Returns
        -------
        Threat
        """
        changed = self.get_params()
        needed = self.needs_rows
        if "unit" in needed:
            changed["unit"] = widths(X, self.unit)
        for name in ("free", "categories"):
            if name in needed:
                changed[name] = values_of(X, name, changed[name])
        return Threat(**changed)

    def encoded(self, names: Sequence[str], groups: Mapping[str, Sequence[int]]) -> "Threat":
        """The same threat for rows behind an encoder: categories that are not named as changing are frozen.

        Parameters
        ----------
        names : sequence of str
            The encoded columns. A column of numbers keeps its name.
        groups : mapping
            Raw column of categories -> numbers of its columns of 0 and 1.

        Returns
        -------
        Threat
            With columns by number; ``free=["race"]`` is the group of the columns of race.
        """
        return encoded_threat(self, names, groups)

    def describe(self) -> list[str]:
        """Describe in plain sentences which features may move, and at what cost."""
        return sentences(self)

    def to_dict(self) -> dict:
        """The parameters that are not the default, as numbers, strings, lists and mappings."""
        return to_basic_types(self)

    @classmethod
    def from_dict(cls, given: Mapping, source: str = "The threat") -> "Threat":
        """The threat of :meth:`to_dict`; unknown keys are refused by name."""
        return cls(**from_basic_types(given, cls._get_param_names(), source))

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON."""
        import json

        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> "Threat":
        """The threat of :meth:`to_json`."""
        return cls.from_dict(parse("json", text, "The threat"))

    @classmethod
    def from_file(cls, path) -> "Threat":
        """The threat in a TOML or JSON file, whose keys are the parameters.

        Parameters
        ----------
        path : str or Path
            A name that ends in ``.toml`` or ``.json``.

        Returns
        -------
        Threat
        """
        return cls.from_dict(read_file(path), str(path))

    def __eq__(self, other) -> bool:
        return isinstance(other, Threat) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(repr(self.to_dict()))


def checked_threat(threat) -> Threat:
    """The threat; anything else, such as a dict of its parameters, is refused."""
    if not isinstance(threat, Threat):
        made = "; Threat.from_dict makes one of a dict" if isinstance(threat, Mapping) else ""
        raise TypeError(f"threat must be a Threat; got {type(threat).__name__}{made}.")
    return threat
