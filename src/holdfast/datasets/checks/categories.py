"""Columns of words with too many categories for the number of rows: names, free text, dates, badly written numbers."""

import re
from collections.abc import Iterator

import numpy as np

from holdfast.datasets.checks.finding import Finding, flag_for
from holdfast.datasets.checks.table_view import TableView
from holdfast.datasets.dates import holds_dates, looks_like_dates
from holdfast.datasets.formats.number_words import NUMBER
from holdfast.numerics.formatting import short_name

MAX_CATEGORIES = 100  # of a column; one with more is most likely an identifier
ROWS_PER_CATEGORY = 3  # on average; with fewer a category says nothing of new rows
_NUMBER_INSIDE = re.compile(r"[^\d+-]{0,4}\s?[+-]?\d[\d.,'\u00a0\u202f ]*\s?[^\d\s]{0,4}")
_TEXT_LENGTH = 30  # characters on average, with spaces


def most_categories(n_rows: int) -> int:
    """Categories that a column of so many rows may have; two always."""
    return max(2, min(MAX_CATEGORIES, n_rows // ROWS_PER_CATEGORY))


def check_categories(table: TableView) -> Iterator[Finding]:
    """Each column of words is one kind of these, or none; all are refused until the user decides."""
    for name, words in table.words.items():
        distinct = len(set(words))
        if not words or name in table.categorical or _mostly_plain_numbers(words):
            continue
        example = short_name(words[0])[:40]
        if looks_like_dates(words):
            yield Finding(
                name, "date", f"holds dates such as {example!r} (as days since 1970, or leave it out with --drop)",
                flag_for("--dates", name), fatal=True,
            )  # fmt: skip
        elif _is_number_in_words(words):
            yield Finding(
                name, "number", f"holds numbers written as {example!r}: write them as plain numbers (see --decimal, "
                "--thousands), or leave it out", flag_for("--drop", name), fatal=True,
            )  # fmt: skip
        elif distinct > most_categories(table.n_rows):
            text = np.mean([len(w) for w in words]) > _TEXT_LENGTH and any(" " in w for w in words)
            what = "free text" if text else "different words"
            kind = "text" if text else "identifier" if distinct > 0.9 * len(words) else "categories"
            yield Finding(
                name, kind, f"has {distinct} {'values of ' if text else ''}{what} in {table.n_rows} rows, such as "
                f"{example!r}: too many to learn from", flag_for("--drop", name), fatal=True,
            )  # fmt: skip


def check_date_columns(table: TableView) -> Iterator[Finding]:
    """Columns whose type is a date."""
    for name in table.frame.columns:
        if name not in table.dates and holds_dates(table.frame[name]):
            yield Finding(
                str(name), "date", "holds dates (as days since 1970, or leave it out with --drop)",
                flag_for("--dates", str(name)), fatal=True,
            )  # fmt: skip


def _mostly_plain_numbers(words: list[str]) -> bool:
    """True if more than half are numbers: a few words among them are refused by the encoder, which names the row."""
    return sum(bool(NUMBER.fullmatch(w.strip())) for w in words) > 0.5 * len(words)


def _is_number_in_words(words: list[str]) -> bool:
    """``CHF 25,545``, ``17.1%``: nine of ten values are a number between a few signs, and several differ."""
    hits = sum(bool(_NUMBER_INSIDE.fullmatch(w.strip())) and any(c.isdigit() for c in w) for w in words)
    punctuated = sum(bool(re.search(r"\d[.,]\d|[%€$£]|\d \d{3}", w)) for w in words)
    return hits >= 0.9 * len(words) and punctuated >= 0.5 * len(words) and len(set(words)) > 2
