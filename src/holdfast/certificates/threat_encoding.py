"""Read a threat for a model that takes words: its categories are indicators in the encoded rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from holdfast.certificates.categories import LIMIT, Categories, Category
from holdfast.certificates.columns import Columns
from holdfast.certificates.folding.encoding import Encoding
from holdfast.certificates.folding.values import as_number, key
from holdfast.certificates.threat import Threat
from holdfast.certificates.threat_reading import Reading
from holdfast.certificates.voting import Voter
from holdfast.certificates.whole_numbers import EncodedCategory, WholeNumbers

_LIMITS = ("unit", "lower", "upper", "only_up", "only_down", "integer")


class _Reader:
    """What a threat says of the columns that an encoder reads; ``problems`` are sentences."""

    def __init__(self, threat: Threat, voter: Voter):
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
            if self.voter.fold.before.W[:, column].any() or self._has_relation(column):
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


def read_for(threat: Threat, voter: Voter) -> Reading:
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
