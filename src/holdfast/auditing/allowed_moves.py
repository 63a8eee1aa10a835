"""The moves of encoded rows that a threat on a table allows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.auditing.encoded_threat import by_name, encoded_threat, table_columns
from holdfast.auditing.sections import column_ranges
from holdfast.base.text import short_name
from holdfast.certificates.binding import Names
from holdfast.certificates.columns import Encoding
from holdfast.certificates.norms import as_norm
from holdfast.certificates.threat import Threat, checked_threat
from holdfast.certificates.threat_text import TRAINING, sentences
from holdfast.explanations import Counterfactuals


def in_table_columns(answers: Counterfactuals, encoder) -> Counterfactuals:
    """The same answers, their columns those of the table that the encoder took.

    Parameters
    ----------
    answers : Counterfactuals
        Of rows as the encoder makes them.
    encoder : TableEncoder
    """
    from pandas import DataFrame  # installed: the encoder took a table

    groups, origins = category_groups(encoder), encoder.origins()
    columns = list(dict.fromkeys(origins))
    first = np.array([origins.index(name) for name in columns])
    recoded = np.zeros((len(answers), len(columns)), bool)
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for c, name in enumerate(columns):
        if name not in groups:
            before[name], after[name] = answers.rows[:, first[c]], answers.values[:, first[c]]
            continue
        members = groups[name]
        there = answers.valid & np.isfinite(answers.values[:, members]).all(axis=1)
        changed = (answers.values[:, members] != answers.rows[answers.row][:, members]).any(axis=1)
        recoded[:, c] = there & changed
        known = encoder.categories_[name]
        before[name] = [category_of(row[members], known) for row in answers.rows]
        after[name] = [
            category_of(row[members], known) if ok else None for row, ok in zip(answers.values, there, strict=True)
        ]
    numbers = np.array([name not in groups for name in columns])
    values, rows = (np.where(numbers, each[:, first], 0.0) for each in (answers.values, answers.rows))
    values[~answers.valid] = np.nan
    return replace(
        answers,
        points=DataFrame(after, columns=columns),
        original=DataFrame(before, columns=columns),
        values=values,
        rows=rows,
        columns=columns,
        unit=None if answers.unit is None else answers.unit[first],
        recoded=recoded,
    )


NONE_OF_THEM = "none of the known"


def coded(column, known: list) -> np.ndarray:
    """The codes of the values of a column: places in ``known``, to which new values are added."""
    places = {str(value): place for place, value in enumerate(known)}
    codes = np.empty(len(column))
    for k, value in enumerate(column):
        if str(value) not in places:
            places[str(value)] = len(known)
            known.append(value)
        codes[k] = places[str(value)]
    return codes


def cells_as_numbers(cells: np.ndarray, rows: np.ndarray, frozen: np.ndarray, words: Mapping[int, list]) -> np.ndarray:
    """Moved rows as numbers: words by their codes, frozen columns as in the rows; NaN where there is no moved row.

    A gap of a row is a gap of the moved row.
    """
    cells = np.asarray(cells)
    if cells.dtype.kind == "f" and not frozen.any():
        return cells
    moved = np.full(rows.shape, np.nan)
    movable = np.flatnonzero(~frozen)
    moved[:, movable] = cells[:, movable].astype(np.float64)
    known = (np.isfinite(moved) | np.isnan(rows))[:, movable].all(axis=1)
    known &= ~np.array([all(value is None or value != value for value in row) for row in cells.tolist()], dtype=bool)
    for k in np.flatnonzero(frozen).tolist():
        moved[known, k] = coded(cells[known, k], words[k]) if k in words else rows[known, k]
    moved[~known] = np.nan
    return moved


def one_hot_changes(before: np.ndarray, after: np.ndarray, groups: Mapping[str, list[int]], categories: Mapping):
    """The categories that differ between two encoded rows, and the second row with those of the first."""
    changed, rest = [], after.copy()
    for name, members in groups.items():
        if name not in categories or np.array_equal(before[members], after[members]):
            continue
        old, new = (category_of(row[members], categories[name]) for row in (before, after))
        changed.append({"feature": short_name(name), "from": old, "to": new, "category": True})
        rest[members] = before[members]
    return changed, rest


def word_changes(before: np.ndarray, after: np.ndarray, names: list[str], words: Mapping[int, list]):
    """The same of rows in which words are codes."""
    changed, rest = [], after.copy()
    for k, known in words.items():
        if before[k] != after[k] and np.isfinite(after[k]):
            old, new = (short_name(str(known[int(row[k])])) for row in (before, after))
            changed.append({"feature": short_name(names[k]), "from": old, "to": new, "category": True})
            rest[k] = before[k]
    return changed, rest


def category_of(indicators: np.ndarray, known: list) -> str:
    """The category that indicators stand for."""
    return short_name(str(known[int(indicators.argmax())])) if indicators.any() else NONE_OF_THEM


DEVIATIONS = "standard deviations"
OWN_UNITS = "units of the threat"


@dataclass(frozen=True, eq=False)
class AllowedMoves:
    """A threat on the columns of the user's table, in numbers, and what it becomes behind an encoder.

    Attributes
    ----------
    threat : Threat
        By the names of the table; its unit is an array over the features.
    names : list of str
        Of the features.
    groups : dict
        Columns of categories -> the features that an encoder made of them.
    words : ndarray of bool of shape (n_features,)
        Features that are categories: encoded ones, or columns of words.
    units : str
        What sizes are measured in.
    given : Threat or None
        As the user gave it, with columns by name.
    deviations_of, values_in : str
        In words, the rows that standard deviations are of, and that values of ``free`` and ``categories`` are from.
    """

    threat: Threat
    names: list[str]
    groups: Mapping[str, Sequence[int]]
    words: np.ndarray
    units: str = DEVIATIONS
    given: Threat | None = None
    deviations_of: str = TRAINING
    values_in: str = TRAINING

    @cached_property
    def numbered(self) -> Threat:
        """The threat for rows of numbers, features by their numbers."""
        return encoded_threat(self.threat, self.names, self.groups)

    @cached_property
    def changing(self) -> list[str]:
        """Columns of categories that may change."""
        listed = [name for what in (self.threat.free, self.threat.categories) for name in (what or ())]
        return [self._column_name(name) for name in listed]

    @cached_property
    def frozen(self) -> np.ndarray:
        """The features that no amount moves: categories, and what the threat freezes."""
        return self.words | self._frozen()

    @property
    def still(self) -> np.ndarray:
        """The features that stay as they are: frozen, and not a category that may change."""
        out = self.frozen.copy()
        for name in self.changing:
            out[self.members(name)] = False
        return out

    def members(self, column: str) -> list[int]:
        """The features of a column of the table."""
        return list(self.groups[column]) if column in self.groups else [self.names.index(column)]

    def sentences(self) -> list[str]:
        """Plain sentences on what was allowed to move; columns of categories that stay as they are named."""
        unit = "std" if self.given is None else self.given.unit or "std"  # as the user said it, not as an array
        listed = self.given is not None and any(
            isinstance(getattr(self.given, what), Mapping) for what in ("free", "categories")
        )
        shown = Threat(**self.threat.get_params() | {"unit": unit})
        out = sentences(shown, self.deviations_of, None if listed else self.values_in)
        fixed = [name for name in self.groups if name not in self.changing]
        words = [k for k in np.flatnonzero(self.words & self.still).tolist() if not self._in_groups(k)]
        fixed += [self.names[k] for k in words]
        fixed = [name for name in fixed if name not in map(str, self._frozen_names())]
        if fixed:
            (sentence,) = Threat(frozen=fixed).describe()[1:]
            hold = "it holds" if len(fixed) == 1 else "they hold"
            out.append(f"{sentence.removesuffix('.')}: {hold} categories, which change only if the threat says so.")
        return out

    def extent(self, X: np.ndarray) -> float:
        """The size of the diagonal of the box around the rows, over what may move: no two rows are farther."""
        reach = np.where(self.frozen, 0.0, column_ranges(X))[None] / np.asarray(self.threat.unit)
        return float(as_norm(self.threat.norm, X.shape[1]).diameter(reach, reach)[0])

    def for_tuning(self, mean: np.ndarray, deviation: np.ndarray) -> Threat:
        """Norm, units, box and sides for rows ``(x − mean) / deviation``; the rest is left out, which is sound."""
        moves = self.numbered.bind(Encoding(len(self.names)))
        unit = np.asarray(self.threat.unit) / deviation

        def scaled(limit):
            return None if limit is None else (np.broadcast_to(limit, mean.shape) - mean) / deviation

        return Threat(
            self.threat.norm, unit=None if (unit == 1.0).all() else unit, lower=scaled(moves.lower),
            upper=scaled(moves.upper), only_up=moves.only_up, only_down=moves.only_down,
            frozen=self.frozen if self.frozen.any() else None,
        )  # fmt: skip

    def with_free(self, column: str) -> "AllowedMoves":
        """The same moves of numbers, one column besides that takes any value; all other categories stay."""
        changed: dict = {"free": [column], "categories": None, "max_changes": None}
        if self.threat.frozen is not None:
            changed["frozen"] = [name for name in self._frozen_names() if self._column_name(name) != column]
        return replace(self, threat=Threat(**self.threat.get_params() | changed), given=None)

    def with_values(self, X: np.ndarray) -> "AllowedMoves":
        """Columns of numbers that ``free`` or ``categories`` list without values, with those of the rows."""
        changed: dict = {}
        for what in ("free", "categories"):
            listed = getattr(self.threat, what)
            if listed is None or isinstance(listed, Mapping):
                continue
            changed[what] = {}
            for name in np.atleast_1d(np.asarray(listed, dtype=object)).tolist():
                known = str(name) in self.names and not self.words[self.names.index(str(name))]
                values = np.unique(X[:, self.names.index(str(name))]) if known else None
                changed[what][name] = None if values is None else values[np.isfinite(values)].tolist()
        return replace(self, threat=Threat(**self.threat.get_params() | changed))

    def _frozen_names(self) -> list:
        listed = self.threat.frozen
        return [] if listed is None else np.atleast_1d(np.asarray(listed, dtype=object)).tolist()

    def _column_name(self, name) -> str:
        """The name of a column that is named or numbered."""
        if str(name) in self.groups or str(name) in self.names:
            return str(name)
        return self.names[int(name)] if str(name).isdecimal() and int(name) < len(self.names) else str(name)

    def _frozen(self) -> np.ndarray:
        out = np.zeros(len(self.names), bool)
        for name in self._frozen_names():
            column = self._column_name(name)
            if column in self.groups or column in self.names:
                out[self.members(column)] = True
        return out

    def _in_groups(self, feature: int) -> bool:
        return any(feature in members for members in self.groups.values())


def allowed_moves(
    given: Threat | None,
    names: Sequence[str],
    words: np.ndarray,
    groups: Mapping[str, Sequence[int]],
    X: np.ndarray,
    deviation: np.ndarray,
    *,
    deviations_of: str = TRAINING,
    values_in: str = TRAINING,
) -> AllowedMoves:
    """The threat of an audit; without units of its own moves are measured in standard deviations.

    Parameters
    ----------
    given : Threat or None
        On the columns of the user's table. None: every number may move, in Euclidean length.
    names : sequence of str
        Of the features.
    words : ndarray of bool
        Features that are categories.
    groups : mapping
        Columns of categories -> their features, if an encoder made some.
    X : ndarray of shape (n_rows, n_features)
        Rows of training, for ranges and for the values of categories.
    deviation : ndarray of shape (n_features,)
    deviations_of, values_in : str
        What the deviations, and X, are: :data:`TRAINING`, or the words for other rows, which have no ranges to measure
        by.

    Returns
    -------
    AllowedMoves
        Everything that is wrong with the threat is reported in one ``ValueError``.
    """
    names, words = [str(name) for name in names], np.asarray(words, dtype=bool)
    threat = Threat() if given is None else checked_threat(given)
    if threat.frozen is not None and np.asarray(threat.frozen).dtype == bool:
        threat = Threat(**threat.get_params() | {"frozen": [names[k] for k in np.flatnonzero(threat.frozen)]})
    threat = by_name(threat, table_columns(names, groups))
    given = None if given is None else threat
    unit = _unit(threat.unit, names, X if values_in == TRAINING else None, deviation)
    has_units = threat.unit is not None and not (isinstance(threat.unit, str) and threat.unit == "std")
    threat = Threat(**threat.get_params() | {"unit": unit})
    if not has_units and deviations_of != TRAINING and len(X) == 1:
        raise ValueError(
            "One row has no standard deviation to measure moves by: give the audit reference=(X_train, y_train) "
            "(--reference), or a Threat whose unit is numbers."
        )
    units = OWN_UNITS if has_units else DEVIATIONS
    if units == DEVIATIONS and deviations_of != TRAINING:
        units += f" of {deviations_of}"
    out = AllowedMoves(threat, names, groups, words, units, given, deviations_of, values_in)
    if given is not None:
        out = out.with_values(X)
    if given is not None and (groups or not words.any()):  # else the model itself reads the threat, and checks it
        out.numbered.bind(Encoding(len(names), names))  # raises if something is wrong, before any work
    return out


def _unit(given, names: list[str], X: np.ndarray | None, deviation: np.ndarray) -> np.ndarray:
    """The unit of each feature; X are rows of training, None if they are not known."""
    known = {"std": deviation}
    if X is not None:
        width = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
        known["range"] = np.where(width > 0, width, 1.0)
    elif "range" in (given.values() if isinstance(given, Mapping) else [given] if isinstance(given, str) else []):
        raise ValueError(
            f"unit={given!r} needs rows of training: give the audit reference=(X_train, y_train) (--reference), or a "
            "Threat whose unit is numbers."
        )
    columns = Names(len(names), names)
    if isinstance(given, str) and given in known:
        return known[given]
    if isinstance(given, Mapping):
        words = [name for name, value in given.items() if isinstance(value, str) and value in known]
        at = {name: columns.find("unit", name) for name in words}
        plain_units = {name: value for name, value in given.items() if name not in at}
        given = plain_units | {name: known[given[name]][k] for name, k in at.items() if k is not None}
    unit = deviation if given is None else columns.values("unit", given, 1.0)
    if columns.problems or unit is None:
        raise ValueError(" ".join(columns.problems))
    return unit


def category_groups(encoder) -> dict[str, list[int]]:
    """The columns that a :class:`~holdfast.datasets.TableEncoder` encodes -> the features it makes of each."""
    groups: dict[str, list[int]] = {name: [] for name in encoder.categories_}
    for k, name in enumerate(encoder.origins()):
        if name in groups:
            groups[name].append(k)
    return groups
