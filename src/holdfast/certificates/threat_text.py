"""A threat in words and in files."""

import json
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from holdfast.certificates.norms import Norm

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


_INFINITE = {np.inf: "inf", -np.inf: "-inf"}  # JSON has no infinity


def to_basic_types(threat) -> dict:
    """The parameters that are not the default, as numbers, strings, lists and mappings."""
    norm = threat.norm
    norm = norm.to_basic() if isinstance(norm, Norm) else norm
    given = {"norm": _to_basic(norm)}
    given |= {name: _to_basic(value) for name, value in threat.get_params(deep=False).items() if name != "norm"}
    return {name: value for name, value in given.items() if value is not None and (name, value) != ("norm", 2)}


def from_basic_types(given: Mapping, known, source: str) -> dict:
    """The parameters of a threat; unknown keys are refused, all at once."""
    if not isinstance(given, Mapping):
        raise ValueError(f"{source} must be a mapping of the parameters of a Threat; got {type(given).__name__}.")
    unknown = [key for key in given if key not in known]
    if unknown:
        guesses = [get_close_matches(str(key), known, 1) for key in unknown]
        words = [
            f"{key!r}" + (f" (is {guess[0]!r} meant?)" if guess else "")
            for key, guess in zip(unknown, guesses, strict=True)
        ]
        raise ValueError(f"{source} has unknown keys: {', '.join(words)}. A threat has {', '.join(known)}.")
    out = {key: _with_infinities(value) for key, value in given.items()}
    if out.get("relations") is not None:
        out["relations"] = [tuple(relation) for relation in out["relations"]]
    return out


def read_file(path) -> dict:
    """The content of a TOML or JSON file."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in (".toml", ".json"):
        raise ValueError(f"{path} must be a TOML or a JSON file: its name must end in .toml or .json.")
    try:
        return parse(kind[1:], path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path} to read a threat from.") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no {kind[1:].upper()} file: {error}.") from None


def parse(kind: str, text: str, source: str) -> dict:
    """The content of a text in TOML or JSON."""
    try:
        return tomllib.loads(text) if kind == "toml" else json.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        what = f"{kind.upper()} file" if source.endswith(f".{kind}") else kind.upper()
        raise ValueError(f"{source} is no {what}: {error}.") from None


def _to_basic(value):
    """Arrays and tuples as lists, numbers of NumPy as Python's, infinite numbers as strings."""
    if isinstance(value, Mapping):
        return {str(key): _to_basic(each) for key, each in value.items()}
    if hasattr(value, "tolist"):  # an array, a number of NumPy, a column of a data frame
        value = value.tolist()
    if isinstance(value, list | tuple | set):
        return [_to_basic(each) for each in value]
    if isinstance(value, float):
        if value in _INFINITE:
            return _INFINITE[value]
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def _with_infinities(value):
    """Strings for infinity turned back into numbers, in nested lists and mappings too."""
    if isinstance(value, Mapping):
        return {key: _with_infinities(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_with_infinities(each) for each in value]
    return float(value) if isinstance(value, str) and value in _INFINITE.values() else value
