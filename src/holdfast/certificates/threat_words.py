"""A threat in plain sentences, for reports and terminals."""

from collections.abc import Mapping

import numpy as np

_NAMED = {
    "2": "its Euclidean length",
    "inf": "the largest change of a feature",
    "1": "the sum of the changes of its features",
}
_SHOWN = 8  # columns that a sentence lists


TRAINING = "the rows of training"


def sentences(threat, deviations_of: str = TRAINING, values_in: str | None = None) -> list[str]:
    """One sentence for each limit of a threat: which features may move, and at what cost.

    Parameters
    ----------
    threat : Threat
    deviations_of : str
        The rows that standard deviations are of.
    values_in : str, optional
        The rows that the values listed by ``free`` and ``categories`` are from; None: the threat itself lists them.
    """
    out = [f"The size of a move is {_norm(threat.norm)}."]
    out += _units(threat.unit, deviations_of)
    for what, word in (("lower", "at least"), ("upper", "at most")):
        out += _values(getattr(threat, what), f"stays {word}", "Every feature", "Each feature has its own limit")
    for what, one, many in (
        ("frozen", "cannot change", "cannot change"),
        ("only_up", "can only grow", "can only grow"),
        ("only_down", "can only shrink", "can only shrink"),
        ("integer", "stays a whole number", "stay whole numbers"),
    ):
        names = _columns(getattr(threat, what))
        if names:
            out.append(f"{_list(names)} {one if len(names) == 1 else many}.")
    if threat.free is not None:
        values = _values_of(threat.free, values_in)
        out += [f"{name} may take any of {what}, at no cost." for name, what in values[:_SHOWN]]
        if len(values) > _SHOWN:
            out.append(f"So may {len(values) - _SHOWN} more, each any of the values that it is tried with.")
    if threat.categories is not None:
        values = _values_of(threat.categories, values_in)
        most = len(values) if threat.max_changes is None else min(threat.max_changes, len(values))
        names = [f"{name} ({what})" for name, what in values]
        out.append(f"Up to {most} of {_list(names)} may change, at no cost.")
    for terms, sense, value in threat.relations or ():
        left = " + ".join(f"{'' if factor == 1 else f'{factor:g} '}{name}" for name, factor in terms.items())
        left = left.replace("+ -1 ", "- ").replace("+ -", "- ")
        out.append(f"{left} {sense} {value:g} holds before and after a move.")
    if threat.classes is not None:
        out.append(f"Only rows with the answer {_list(_columns(threat.classes), 'or')} are attacked.")
    return out


def _values_of(given, values_in: str | None) -> list[tuple[str, str]]:
    """Columns of categories, and which values they are tried with."""
    listed = given if isinstance(given, Mapping) else dict.fromkeys(_columns(given))
    out = []
    for name, values in listed.items():
        count = None if values is None else np.size(np.asarray(values, dtype=object))
        own = f"its values in {TRAINING}" if count is None else f"{count} value{'s' if count != 1 else ''}"
        out.append((_name(name), own if count is None or values_in is None else f"its {own} in {values_in}"))
    return out


def _norm(norm) -> str:
    norm = getattr(norm, "name", norm)
    if np.ndim(norm) > 0 or norm == "ellipsoid":
        return "√(δᵀ A_0 δ), with the matrix A_0 that was given"
    return _NAMED.get(str(norm).lower().removeprefix("l").removesuffix(".0"), f"measured by {norm}")


def _units(unit, deviations_of: str) -> list[str]:
    """Units, in sentences."""
    word = {"std": f"standard deviations of {deviations_of}", "range": f"ranges of {TRAINING}"}
    if isinstance(unit, str):
        return [f"Changes count in {word.get(unit, unit)}."]
    if isinstance(unit, Mapping) and len(unit) <= _SHOWN:
        return [
            f"{k} counts in {word.get(v, f'units of {v}') if isinstance(v, str) else f'units of {v:g}'}."
            for k, v in unit.items()
        ]
    return _values(unit, "counts in units of", "Every feature", "Each feature has its own unit")


def _values(given, verb: str, everything: str, each: str) -> list[str]:
    """One sentence for each feature; one for all of them if there are many."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        if len(given) <= _SHOWN:
            return [f"{_name(column)} {verb} {value:g}." for column, value in given.items()]
        return [f"{each} ({len(given)} of them)."]
    return [f"{everything} {verb} {float(given):g}."] if np.ndim(given) == 0 else [f"{each}."]


def _columns(given) -> list[str]:
    """The columns of a list, a mapping or a mask."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [_name(name) for name in given]
    given = np.atleast_1d(np.asarray(given))
    return [_name(name) for name in (np.flatnonzero(given) if given.dtype == bool else given).tolist()]


def _name(column) -> str:
    return column if isinstance(column, str) else f"feature {column}"


def _list(names: list[str], word: str = "and") -> str:
    if len(names) > _SHOWN:
        return f"{', '.join(names[:_SHOWN])} {word} {len(names) - _SHOWN} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
