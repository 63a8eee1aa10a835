"""A threat as numbers, words and lists, and as a TOML or JSON file."""

import json
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from holdfast.certificates.norms import Norm

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
