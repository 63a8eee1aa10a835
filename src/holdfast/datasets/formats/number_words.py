"""Numbers in words: what a number looks like, and which signs stand in a file before decimals and between thousands."""

import re
from collections import Counter
from functools import cache

import numpy as np

from holdfast.datasets.formats.options import ReadOptions
from holdfast.numerics.formatting import short_name

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")  # as programs write one
USUAL = (".", ",", "'", " ")  # between thousands; the last two stand for all of their kind
_SPACES = "\u00a0\u202f\u2009 "
_QUOTES = "'\u2019"
_DECIMAL_COMMA = re.compile(
    rf"[+-]?([0-9]+|[1-9][0-9]{{0,2}}([.{_SPACES}{_QUOTES}][0-9]{{3}})+),[0-9]+([eE][+-]?[0-9]+)?"
)
_COMMA_GROUPS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_POINT_GROUPS = re.compile(r"[+-]?[1-9][0-9]{0,2}(\.[0-9]{3}){2,}")
_ONE_POINT_GROUP = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")  # may be a point before decimals, too
_SPACED = re.compile(
    rf"[+-]?[1-9][0-9]{{0,2}}([{_SPACES}{_QUOTES}])[0-9]{{3}}(\1[0-9]{{3}})*(\.[0-9]*)?([eE][+-]?[0-9]+)?"
)
_ADDRESS = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}")  # of a computer
_KINDS = (NUMBER, _DECIMAL_COMMA, _COMMA_GROUPS, _POINT_GROUPS, _SPACED)
_MOST = 0.5  # of the values; if a few are words, the encoder names their rows
_DIGITS = str.maketrans("23456789", "11111111")
_NAMES = {".": "points", ",": "commas", " ": "spaces", "'": "apostrophes"}


def parse(word: str, decimal: str | None = ".", thousands: str | None = None) -> float | None:
    """The number that a word is under these signs; None if it is none.

    Between thousands may stand ``thousands``, or, if that is None, any sign but the decimal one; exactly three digits
    follow it.
    """
    word = word.strip()
    if NUMBER.fullmatch(word) and "." not in word:
        return float(word)
    decimal = decimal or "."
    pattern, between = _pattern(decimal, thousands)
    return float(between.sub("", word).replace(decimal, ".")) if pattern.fullmatch(word) else None


@cache
def _pattern(decimal: str, thousands: str | None) -> tuple[re.Pattern, re.Pattern]:
    """What a number with these signs looks like, and its signs between thousands."""
    signs = thousands or ("." if decimal == "," else ",") + _SPACES + _QUOTES
    signs = _SPACES if signs in _SPACES else _QUOTES if signs in _QUOTES else signs
    between, point = f"[{re.escape(signs)}]", re.escape(decimal)
    grouped = rf"[1-9][0-9]{{0,2}}({between})[0-9]{{3}}(\2[0-9]{{3}})*"
    number = rf"[+-]?({grouped}|[0-9]+|(?={point}[0-9]))({point}[0-9]*)?([eE][+-]?[0-9]+)?"
    return re.compile(number), re.compile(between)


def convert_number_words(frame, text_of, separator: str, options: ReadOptions):
    """Columns of words that are numbers in another way of writing become numbers.

    The signs are decided once for a file: as the options say; else a comma stands before decimals if other than three
    digits follow it anywhere, and between thousands if a point, or a second comma, follows it. If both happen, or if
    the file leaves it open (in a file separated by commas a quoted "25,545" has thousands), it is refused. Every cell
    of a column of numbers is then read with these signs, or refused with its row.

    Parameters
    ----------
    frame : pandas data frame
        As read; changed columns are replaced in a copy.
    text_of : callable
        Given names of columns, their cells as they are in the file.
    separator : str
        That of the file.
    options : ReadOptions

    Returns
    -------
    frame : pandas data frame
    notes : list of str
    decimal, thousands : str or None
        The signs that were seen, or said.
    """
    needed = [
        n for n in frame.columns if (options.columns is None or str(n) in options.columns) and n not in options.drop
    ]
    words = {name: _strings(frame[name]) for name in needed if frame[name].dtype.kind not in "biufcmM"}
    words = {name: values for name, values in words.items() if _are_numbers(values, options)}
    floats = [name for name in needed if frame[name].dtype.kind == "f"]
    decimal = options.decimal or {".": ",", ",": "."}.get(options.thousands or "") or _decimal_sign(words, separator)
    if decimal == "," and floats:  # their points were taken for decimal ones
        text = {name: _strings(column) for name, column in text_of(floats).items()}
        _refuse_points_that_may_be_either(text, words, options)
        words |= text
    converted, seen = {}, ""
    for name, values in words.items():
        signed = [v for v, _ in _examples(values) if _has_signs(v, decimal or ".", options)]
        parsed = [v for v in signed if parse(v, decimal, options.thousands) is not None]
        if not signed or not (parsed or any(NUMBER.fullmatch(v) for v in signed)):
            continue  # plain numbers; or other words, such as 4,2 where points stand before decimals
        converted[name] = _numbers(name, values, decimal, options)
        seen += "".join(signed)
    thousands = options.thousands
    if thousands is None:
        thousands = next((s for s in USUAL if s != (decimal or ".") and _has_sign(s, seen)), None)
    if decimal is None and (thousands is not None or any(_has_fractions(frame[name]) for name in floats)):
        decimal = "."
    if not converted:
        return frame, [], decimal, thousands
    frame = frame.copy()
    for name, numbers in converted.items():
        frame[name] = numbers
    return frame, [_note(list(converted), decimal, thousands)], decimal, thousands


def _note(names: list, decimal: str | None, thousands: str | None) -> str:
    """The signs that were taken, and how to take others."""
    signs = ["decimal commas"] if decimal == "," else []
    signs += [f"{_NAMES.get(thousands, repr(thousands))} between the thousands"] if thousands is not None else []
    other = "--decimal ." if decimal == "," else "--decimal ,"
    listed = ", ".join(short_name(name) for name in names[:10]) + (
        f" and {len(names) - 10} more" if len(names) > 10 else ""
    )
    return f"Numbers with {' and '.join(signs) or 'decimal points'} were read as such in {listed} (else: {other})."


def _has_sign(sign: str, text: str) -> bool:
    return any(each in text for each in (_SPACES if sign == " " else _QUOTES if sign == "'" else sign))


def _examples(values: list[str | None]) -> list[tuple[str, int]]:
    """A value of each shape, and its row from 1: digits other than 0 are alike to all that is asked of it."""
    first: dict[str, tuple[str, int]] = {}
    for row, value in enumerate(values, 1):
        if value is not None:
            first.setdefault(value.translate(_DIGITS), (value, row))
    return list(first.values())


def _strings(column) -> list[str | None]:
    return [value.strip() if isinstance(value, str) else None for value in column.tolist()]


def _looks_like_a_number(value: str, options: ReadOptions) -> bool:
    """In some way of writing."""
    return any(kind.fullmatch(value) for kind in _KINDS) or parse(value, options.decimal, options.thousands) is not None


def _are_numbers(values: list[str | None], options: ReadOptions) -> bool:
    """True if more than half of the words are numbers."""
    known = Counter(value.translate(_DIGITS) for value in values if value is not None)
    if all(_ADDRESS.fullmatch(shape) for shape in known):
        return False
    return sum(n for shape, n in known.items() if _looks_like_a_number(shape, options)) > _MOST * known.total()


def _has_signs(value: str, decimal: str, options: ReadOptions) -> bool:
    """True for a number that programs would not read as it is meant."""
    if NUMBER.fullmatch(value):
        return decimal == "," and "." in value
    return _looks_like_a_number(value, options)


def _has_fractions(column) -> bool:
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return bool((np.isfinite(values) & (values != np.round(values))).any())


def _decimal_sign(words: dict, separator: str) -> str | None:
    """The decimal sign that the cells show; None if no cell needs one."""
    cells = [(name, row, value) for name, values in words.items() for value, row in _examples(values)]
    comma = next((c for c in cells if _shows_comma(c[2])), None)
    point = next((c for c in cells if _shows_point(c[2])), None)
    if comma and point:
        raise ValueError(
            f"Column {short_name(comma[0])!r} has {comma[2]!r} in row {comma[1]}, but column {short_name(point[0])!r} "
            f"has {point[2]!r} in row {point[1]}: which sign stands before decimals? Write all numbers with the same."
        )
    if comma or point:
        return "," if comma else "."
    either = next((c for c in cells if _COMMA_GROUPS.fullmatch(c[2])), None)
    if either is None:
        return None
    if separator != ",":
        raise ValueError(
            f"Column {short_name(either[0])!r} has numbers such as {either[2]!r}: say whether the comma stands before "
            "decimals (--decimal ,) or between thousands (--thousands ,)."
        )
    return "."


def _shows_comma(value: str) -> bool:
    """4,2 and 1.234.567: the comma is the decimal sign."""
    if _ADDRESS.fullmatch(value):
        return False
    return bool(_DECIMAL_COMMA.fullmatch(value) and not _COMMA_GROUPS.fullmatch(value)) or bool(
        _POINT_GROUPS.fullmatch(value)
    )


def _shows_point(value: str) -> bool:
    """4.2, 1,234.5 and 1,234,567: the point is the decimal sign."""
    if NUMBER.fullmatch(value):
        return "." in value and not _ONE_POINT_GROUP.fullmatch(value)
    commas = _COMMA_GROUPS.fullmatch(value)
    return bool(commas and (value.count(",") > 1 or "." in value)) or bool(_SPACED.fullmatch(value) and "." in value)


def _numbers(name, values: list[str | None], decimal: str | None, options: ReadOptions) -> np.ndarray:
    """The column as floats, or, if there are words in it, as floats and words; a number with other signs is refused."""
    out: list = []
    for row, value in enumerate(values, 1):
        number = None if value is None else parse(value, decimal, options.thousands)
        if value is not None and number is None and _looks_like_a_number(value, options):
            groups = "signs" if options.thousands is None else _NAMES.get(options.thousands, repr(options.thousands))
            raise ValueError(
                f"Column {short_name(name)!r} has {value!r} in row {row}, but its numbers have "
                f"{_NAMES[decimal or '.']} before decimals, and {groups} between thousands, which three digits follow: "
                "correct the cell, leave the column out (--drop), or say which signs the file has (--decimal, "
                "--thousands)."
            )
        out.append(np.nan if value is None else value if number is None else number)
    words = any(isinstance(each, str) for each in out)
    return np.array(out, dtype=object if words else np.float64)


def _refuse_points_that_may_be_either(text: dict, words: dict, options: ReadOptions) -> None:
    """In a file with decimal commas, 1.234 is a number a thousand times too small, or it is not: ask."""
    if options.decimal is not None or options.thousands is not None:
        return
    if any(value is not None and "." in value for values in words.values() for value in values):
        return  # 1.234,5: points stand between thousands in this file
    for name, values in text.items():
        known = [value for value in values if value is not None and "." in value]
        if known and all(_ONE_POINT_GROUP.fullmatch(value) for value in known):
            raise ValueError(
                f"Other columns have decimal commas, but {short_name(name)!r} has numbers such as {known[0]}: if "
                "its points stand between thousands say --thousands . , otherwise write it with commas too."
            )
