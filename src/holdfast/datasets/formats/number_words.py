"""Numbers that are written with decimal commas or with signs between the thousands."""

import re

import numpy as np

from holdfast.datasets.formats.options import ReadOptions
from holdfast.numerics.formatting import short_name

_SPACES = "\u00a0\u202f '’"  # between thousands, besides points and commas
_PLAIN = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(rf"[+-]?(\d+|\d{{1,3}}([.{_SPACES}]\d{{3}})+),\d+([eE][+-]?\d+)?")
_COMMA_GROUPS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_OTHER_GROUPS = re.compile(rf"[+-]?\d{{1,3}}([.{_SPACES}]\d{{3}}){{2,}}|[+-]?\d{{1,3}}([{_SPACES}]\d{{3}})+(\.\d+)?")
_MOST = 0.5  # of the values; if a few are words, the encoder names their rows


def convert_number_words(frame, separator: str, options: ReadOptions):
    """Columns of words that are numbers in another way of writing become numbers.

    A comma is a decimal one if digits other than three follow it anywhere in the file, and one between thousands if a
    point, or a second comma, follows it. Where a column leaves it open, the file decides; then its separator (in a
    file separated by commas a quoted "25,545" has thousands); otherwise the table is refused.

    Parameters
    ----------
    frame : pandas data frame
        As read; changed columns are replaced in a copy.
    separator : str
        That of the file.
    options : ReadOptions

    Returns
    -------
    frame : pandas data frame
    notes : list of str
    """
    words = {name: _strings(frame[name]) for name in frame.columns if frame[name].dtype.kind not in "biufcmM"}
    ways = {name: _way_of_writing(values) for name, values in words.items()}
    decimal = options.decimal or ("," if "decimal" in ways.values() else None)
    open_ones = [name for name, way in ways.items() if way == "open"]
    if open_ones and decimal is None and options.thousands is None:
        if "thousands" not in ways.values() and separator != ",":
            example = next(v for v in words[open_ones[0]] if v is not None and "," in v)
            raise ValueError(
                f"Column {open_ones[0]!r} has numbers such as {example!r}: say whether the comma stands before "
                "decimals (--decimal ,) or between thousands (--thousands ,)."
            )
        decimal = "."
    _refuse_points_as_thousands(frame, decimal, options)
    converted = {}
    for name, way in ways.items():
        if way is None or (way == "decimal" and (options.decimal == "." or options.thousands == ",")):
            continue
        commas_are_decimal = way == "decimal" or (way == "open" and decimal == ",")
        converted[name] = [_number(value, commas_are_decimal) for value in words[name]]
    if not converted:
        return frame, []
    pandas_frame = frame.copy()
    for name, values in converted.items():
        numeric = all(value is None or isinstance(value, float) for value in values)
        pandas_frame[name] = np.array([np.nan if v is None else v for v in values]) if numeric else values
    commas = decimal == ","
    what = "decimal commas" if commas else "signs between the thousands"
    change = "--decimal . if they are not" if commas else "--decimal , if the commas stand before decimals"
    listed = ", ".join(short_name(name) for name in list(converted)[:10])
    return pandas_frame, [f"Numbers with {what} were read as such in {listed} ({change})."]


def _strings(column) -> list[str | None]:
    return [value.strip() if isinstance(value, str) else None for value in column.tolist()]


def _way_of_writing(values: list[str | None]) -> str | None:
    """ "decimal", "thousands", "open" (a comma that may be either), "groups" (other signs), or None: not numbers."""
    known = [value for value in values if value is not None]
    special = [v for v in known if not _PLAIN.fullmatch(v)]
    if not special:
        return None
    kinds = {
        "decimal": [v for v in special if _DECIMAL_COMMA.fullmatch(v)],
        "thousands": [v for v in special if _COMMA_GROUPS.fullmatch(v)],
        "groups": [v for v in special if _OTHER_GROUPS.fullmatch(v)],
    }
    plain = len(known) - len(special)
    kind = max(kinds, key=lambda each: len(kinds[each]))
    if len(kinds[kind]) + plain <= _MOST * len(known) or not kinds[kind]:
        return None
    if kind == "groups":
        return kind
    if any(not _COMMA_GROUPS.fullmatch(v) for v in kinds["decimal"]):
        return "decimal"  # 4,2: digits other than three after the comma
    sure = any("." in v or v.count(",") > 1 for v in kinds["thousands"])
    return "thousands" if sure else "open"


def _number(value: str | None, decimal_comma: bool):
    """The number, or the word itself where it is none."""
    if value is None:
        return None
    plain = re.sub(f"[{_SPACES}]", "", value)
    plain = plain.replace(".", "").replace(",", ".") if decimal_comma and "," in plain else plain.replace(",", "")
    if plain.count(".") > 1:
        plain = plain.replace(".", "")
    try:
        return float(plain)
    except ValueError:
        return value


def _refuse_points_as_thousands(frame, decimal: str | None, options: ReadOptions) -> None:
    """In a file with decimal commas, 1.234 was read as a number a thousand times too small, or it was not: ask."""
    if decimal != "," or options.decimal is not None or options.thousands is not None:
        return
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind != "f":
            continue
        values = column.to_numpy(dtype=np.float64)
        broken = values[np.isfinite(values) & (values != np.round(values))]
        if broken.size and (np.abs(broken * 1000 - np.round(broken * 1000)) < 1e-6).all() and broken.max() < 1000:
            if (np.abs(broken * 100 - np.round(broken * 100)) < 1e-6).all():
                continue  # 4.25 has two decimals: a point before decimals
            raise ValueError(
                f"Other columns have decimal commas, but {short_name(name)!r} has numbers such as {broken[0]:.3f}: if "
                "its points stand between thousands say --thousands . , otherwise write it with commas too."
            )
