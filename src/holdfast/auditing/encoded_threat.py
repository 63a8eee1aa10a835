"""A threat on the columns of a table, for the rows that a ``TableEncoder`` makes of it."""

from collections.abc import Mapping, Sequence

import numpy as np

from holdfast.certificates.binding import Names
from holdfast.certificates.threat import Threat

_LISTS = ("frozen", "only_up", "only_down", "integer")
_VALUES = ("unit", "lower", "upper")


def encoded_threat(threat: Threat, names: Sequence[str], groups: Mapping[str, Sequence[int]]) -> Threat:
    """The same threat for encoded rows, by the numbers of their columns."""
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


def by_name(threat: Threat, names: Sequence[str]) -> Threat:
    """The same threat with the columns of a table by name; a number is the position of a column, not its name."""
    columns, parameters = Names(len(names), names), threat.get_params()

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
