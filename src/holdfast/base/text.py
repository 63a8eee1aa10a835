"""Numbers and shares as text."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from os import PathLike, fspath

import numpy as np

_MAX_LENGTH = 120  # characters of a name

# What a terminal obeys or cannot show: control characters (ESC, CSI, DEL, line ends), signs that reverse the direction
# of the text, lone surrogates (bytes of a file name that are not text).
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff]")


def printable(text, keep: str = "") -> str:
    """Text without anything that a terminal obeys: control characters, but those in ``keep``, become visible, as
    ``\\x1b``.

    >>> print(printable("red: \\x1b[31m, two lines: a\\nb"))
    red: \\x1b[31m, two lines: a\\nb
    """
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else escape_control(found[0]), str(text))


def escape_control(character: str) -> str:
    """A character as Python writes it: ``\\x1b``."""
    return character.encode("unicode_escape").decode()


def json_value(value):
    """The value in JSON's own types: no numpy types, text keys, None for numbers that are not finite.

    >>> import numpy as np
    >>> json_value({"a": np.float64(0.5), 1: (np.inf, np.int8(2), np.array(["x"]))})
    {'a': 0.5, '1': [None, 2, ['x']]}
    """
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, PathLike):
        value = fspath(value)
    if isinstance(value, str):
        return str(value).encode("utf-8", "replace").decode()  # lone surrogates cannot be written
    if isinstance(value, Mapping):
        return {short_name(key): json_value(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return json_value(value.tolist())
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [json_value(each) for each in value]
    return short_name(value)


def json_text(value) -> str:
    """The value as one JSON document in which every control character is escaped, so that it may be printed.

    >>> json_text(["\\x1b[31m", "ä"]) == '[\\n "\\\\u001b[31m",\\n "ä"\\n]'
    True
    """
    text = json.dumps(json_value(value), ensure_ascii=False, allow_nan=False, indent=1)
    return _CONTROL.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


def short_name(value) -> str:
    """A label or column name as one line of printable text, cut after 120 characters."""
    text = printable(" ".join(str(value).encode("utf-8", "replace").decode().split()))
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1] + "…"


def listed(names: Iterable, most: int = 10) -> str:
    """``a, b and 3 more``: the names, of very many the first.

    >>> listed("abcd", 2), listed([1, 2])
    ('a, b and 2 more', '1, 2')
    """
    words = [str(name) for name in names]
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def significant(value, digits: int = 5):
    """A number, an array or nested lists with so many significant digits; None for what is not finite.

    >>> significant([1 / 3, float("nan"), 120000.0])
    [0.33333, None, 120000.0]
    """
    if isinstance(value, (list, tuple, np.ndarray)):
        return [significant(each, digits) for each in value]
    number = float(value)
    return float(f"{number:.{digits}g}") if math.isfinite(number) else None


def percent(share: float | None, decimals: int = 1) -> str:
    """``92.6 %``; a dash for None."""
    return "–" if share is None else f"{100 * share:.{decimals}f} %"


def number(value: float | None, digits: int = 3, strip: bool = True) -> str:
    """A number with a few significant digits, a dash for None; ``strip`` drops zeros at the end.

    >>> number(0.51234), number(1050.2), number(0.5), number(0.5, strip=False), number(3.1e-7), number(None)
    ('0.512', '1050', '0.5', '0.500', '3.1e-07', '–')
    """
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits}g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if strip and "." in text else text
