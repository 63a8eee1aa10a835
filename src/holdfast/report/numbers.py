"""Numbers and names for people and for JSON."""

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real

import numpy as np

_LONGEST = 120  # characters of a name


def plain(value):
    """The value as JSON knows it: no numpy types, text keys, None for what is not a finite number.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"a": np.float64(0.5), 1: (np.inf, np.int8(2), np.array(["x"]))})
    {'a': 0.5, '1': [None, 2, ['x']]}
    """
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return str(value).encode("utf-8", "replace").decode()  # lone surrogates cannot be written
    if isinstance(value, Mapping):
        return {name(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [plain(each) for each in value]
    return name(value)


def name(value) -> str:
    """A label or column name as one line of text, not too long."""
    text = " ".join(str(value).encode("utf-8", "replace").decode().split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def rounded(value, digits: int = 5):
    """An array, or nested lists, with so many significant digits; None for what is not finite.

    Examples
    --------
    >>> rounded([1 / 3, float("nan"), 120000.0])
    [0.33333, None, 120000.0]
    """
    if isinstance(value, (list, tuple, np.ndarray)):
        return [rounded(each, digits) for each in value]
    number = float(value)
    return float(f"{number:.{digits}g}") if math.isfinite(number) else None


def percent(share: float | None, decimals: int = 1) -> str:
    """``92.6 %``; a dash for None."""
    return "–" if share is None else f"{100 * share:.{decimals}f} %"


def number(value: float | None, digits: int = 3, strip: bool = True) -> str:
    """A number with a few significant digits, a dash for None; ``strip`` drops zeros at the end.

    Examples
    --------
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
