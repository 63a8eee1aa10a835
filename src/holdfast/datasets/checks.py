"""What is wrong with a table: identifiers, leaks, sentinels, duplicates, small classes, codes."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from holdfast.base.text import listed, short_name
from holdfast.datasets.columns import holds_dates, looks_like_dates
from holdfast.datasets.formats import NUMBER
from holdfast.datasets.tables import Dataset

_LISTED = 8  # columns that are named in one sentence


@dataclass(frozen=True)
class Finding:
    """One remark on a table; ``kind`` is the name of the check."""

    column: str | None  # None for the whole table
    kind: str
    sentence: str
    flag: str = ""  # what to add to the command line, ready to be pasted; empty if there is nothing to add
    fatal: bool = False  # the table is refused until the user has decided

    def to_dict(self) -> dict:
        """The same for a JSON document."""
        return {
            "column": None if self.column is None else short_name(self.column),
            "kind": self.kind,
            "sentence": self.sentence,
            "flag": self.flag,
            "fatal": self.fatal,
        }


def flag_for(option: str, column: str) -> str:
    """``--drop 'patient id'``, quoted for a shell."""
    return f"{option} {shlex.quote(short_name(column))}"


def all_flags(findings: Sequence[Finding]) -> str:
    """Every flag once, in the order of the findings."""
    return " ".join(dict.fromkeys(finding.flag for finding in findings if finding.flag))


def describe(findings: Sequence[Finding]) -> list[str]:
    """The findings as sentences with their flags; those of one kind and one wording together.

    >>> describe([Finding("a", "code", "has two values", "--categorical a")])
    ["Column 'a' has two values: --categorical a."]
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.kind, finding.sentence), []).append(finding)
    sentences = []
    for (_, sentence), members in groups.items():
        names = [repr(short_name(f.column)) for f in members if f.column is not None]
        word, each = ("Column", "") if len(names) == 1 else ("Columns", ": each")
        what = f"{word} {listed(names, _LISTED)}{each} " if names else ""
        flags = all_flags(members)
        sentences.append(f"{what}{sentence}{': ' + flags if flags else ''}.")
    return sentences


def refuse_fatal(findings: Sequence[Finding]) -> None:
    """Raise one ``ValueError`` for all findings that need a decision, with the flags to add."""
    fatal = [finding for finding in findings if finding.fatal]
    if not fatal:
        return
    sentences = [each.removesuffix(".") for each in describe(fatal)]
    others = [each.removesuffix(".") for each in describe([f for f in findings if not f.fatal])]
    also = f" Also found: {'; '.join(others)}." if others else ""
    flags = all_flags(fatal)
    paste = f" All at once: {flags}" if len(sentences) > 1 and flags else ""
    raise ValueError(f"The table needs a decision first. {'; '.join(sentences)}.{also}{paste}")


@dataclass(frozen=True, eq=False)
class TableView:
    """The features of a table, its labels, and which columns the user has declared as categories or dates."""

    frame: Any
    y: np.ndarray
    target: str
    categorical: Sequence[str] = ()
    dates: Sequence[str] = field(default=())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        """Columns of numbers, finite values only, that are not declared to be something else."""
        columns = {}
        for name in self.frame.columns:
            column = self.frame[name]
            if column.dtype.kind in "iuf" and name not in self.categorical and name not in self.dates:
                values = column.to_numpy(dtype=np.float64, na_value=np.nan)
                columns[str(name)] = values[np.isfinite(values)]
        return columns

    @cached_property
    def words(self) -> dict[str, list[str]]:
        """Columns of words: their values, without gaps."""
        columns = {}
        for name in self.frame.columns:
            column = self.frame[name]
            if column.dtype.kind not in "biufmM" and name not in self.dates:
                columns[str(name)] = [str(value) for value in column.dropna().tolist()]
        return columns


# -- columns of words and dates ---------------------------------------------------------------------

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


# -- codes, repeated rows, identifiers, leaks -------------------------------------------------------

_FEW = 5  # different values, at most, of a column that is reported as a code; counts of things have more


def check_coded_columns(table: TableView) -> Iterator[Finding]:
    """Columns of two values, and of a few whole numbers."""
    for name, values in table.numbers.items():
        distinct = np.unique(values)
        if len(distinct) == 2:
            said = "has two values, which are taken for measurements that move by fractions; if it is a code, freeze it"
            yield Finding(name, "code", said, flag_for("--categorical", name))
        elif 2 < len(distinct) <= _FEW and (distinct == np.round(distinct)).all() and len(values) > 10 * _FEW:
            said = "has few whole numbers, which are taken for measurements; if they are codes, freeze it"
            yield Finding(name, "code", said, flag_for("--categorical", name))


_WORTH_SAYING = 0.02  # of the rows


def check_duplicates(table: TableView) -> Iterator[Finding]:
    """Rows that repeat an earlier one, label included."""
    repeated = repeats(table.frame, table.y)
    if repeated.sum() > _WORTH_SAYING * table.n_rows:
        yield Finding(
            None, "duplicates",
            f"{int(repeated.sum())} of {table.n_rows} rows repeat an earlier one: test rows that also are training "
            "rows are easy, and every number here too good", "--drop-duplicates",
        )  # fmt: skip


def repeats(frame, y):
    """Mask of the rows that repeat an earlier one."""
    return frame.assign(**{"\0label": y}).duplicated().to_numpy()


def check_few_rows(table: TableView) -> Iterator[Finding]:
    """With more features than rows chance alone separates the classes."""
    n, p = table.frame.shape
    if p >= n:
        yield Finding(
            None, "few rows", f"The table has {p} columns and {n} rows: with so few, every difference between models "
            "may be chance"
        )  # fmt: skip


_NAME = re.compile(
    r"(?i)(^|[_\s.-])(id|idx|index|key|uuid|nr|no|number|rownames?|rowid|case)$|^id|id$|^unnamed: ?\d+$|^$"
)
_MIN_ROWS = 20  # below, distinct whole numbers say nothing


def check_identifiers(table: TableView) -> Iterator[Finding]:
    """Columns of whole numbers, all different, that run through a range or are named like an identifier."""
    for name, values in table.numbers.items():
        if len(values) < max(_MIN_ROWS, 0.9 * table.n_rows) or not (values == np.round(values)).all():
            continue
        distinct = np.unique(values)
        counts_rows = len(distinct) == len(values) and distinct[-1] - distinct[0] < 2 * len(values)
        named = bool(_NAME.search(name)) and len(distinct) > 0.9 * len(values)
        if counts_rows or named:
            yield Finding(
                name,
                "identifier",
                "looks like an identifier (another whole number in each row)",
                flag_for("--drop", name),
            )


_SUSPICIOUS = 0.99  # balanced accuracy of one column alone
_MAX_ROWS, _MAX_COLUMNS = 1_000, 200  # looked at; a leak shows in a sample
_DEPTH = 4


def check_leaks(table: TableView) -> Iterator[Finding]:
    """``balanced accuracy of a small tree on this column alone ≥ 0.99``, in cross-validation."""
    classes, codes = np.unique(table.y, return_inverse=True)
    if np.bincount(codes).min() < 3 or table.frame.shape[1] < 2:
        return
    rng = np.random.RandomState(0)
    rows = np.sort(rng.permutation(len(codes))[:_MAX_ROWS])
    codes = codes[rows]
    counts = np.bincount(codes, minlength=len(classes))
    if counts.min() < 3:
        return
    for name in list(table.frame.columns)[:_MAX_COLUMNS]:
        column = _as_numbers(table.frame[name].iloc[rows])
        tree = DecisionTreeClassifier(max_depth=_DEPTH + int(np.log2(len(classes))), min_samples_leaf=3, random_state=0)
        predicted = cross_val_predict(tree, column, codes, cv=StratifiedKFold(3, shuffle=True, random_state=0))
        recall = np.bincount(codes[predicted == codes], minlength=len(classes)) / counts
        if recall.mean() >= _SUSPICIOUS:
            yield Finding(
                str(name), "leak",
                f"alone tells {table.target!r} in {100 * recall.mean():.0f} % of the rows; is it known only afterwards",
                flag_for("--drop", str(name)),
            )  # fmt: skip


def _as_numbers(column) -> np.ndarray:
    """Two columns: the values as numbers (words by their order), and whether there is none."""
    missing = column.isna().to_numpy()
    if column.dtype.kind in "biuf":
        values = column.to_numpy(dtype=np.float64, na_value=0.0)
    else:
        values = np.unique(column.astype(str).to_numpy(dtype=str), return_inverse=True)[1].astype(np.float64)
    values = np.where(np.isfinite(values), values, 0.0)
    return np.column_stack([np.clip(values, -1e30, 1e30), missing]).astype(np.float64)


# -- numbers ----------------------------------------------------------------------------------------

_LARGEST, _SMALLEST = 1e75, 1e-75  # of a spread: its fourth power must neither overflow nor vanish
_DIGITS = 1e-9  # spread over size; double precision has 16 digits, and squared distances lose half of them


def check_spreads(table: TableView) -> Iterator[Finding]:
    """Spreads that are too large, too small, or lost beside the size of the numbers."""
    for name, values in table.numbers.items():
        if not values.size or values.min() == values.max():
            continue
        size = float(np.abs(values).max())
        spread = size * float(np.std(values / size))
        if not _SMALLEST < spread < _LARGEST:
            said = f"varies by {spread:.0e}, which squares cannot hold: give it in other units, or leave it out"
            yield Finding(name, "units", said, flag_for("--drop", name), fatal=True)
        elif spread < _DIGITS * size:
            said = (
                f"varies by {spread:.0e} around {size:.0e}, at the edge of what numbers can tell: subtract a constant"
            )
            yield Finding(name, "precision", said)


_BEYOND = 1e6  # spreads from the median: no measurement lies there, and a standard deviation would be its alone
_CUSTOMARY = {s * v for v in (99, 999, 9999, 99999, 999999, 9999999) for s in (-1.0, 1.0)}


def check_sentinels(table: TableView) -> Iterator[Finding]:
    """The smallest or largest value, if it lies absurdly far out, or is a customary sign that is repeated there."""
    for name, values in table.numbers.items():
        if len(values) < 10:
            continue
        for extreme in (values.min(), values.max()):
            rest = values[values != extreme]
            if rest.size < 0.3 * len(values) or rest.min() == rest.max():
                continue
            width = float(rest.max() - rest.min())
            gap = float(np.abs(rest - extreme).min())
            spread = float(np.quantile(rest, 0.75) - np.quantile(rest, 0.25)) or width
            absurd = abs(extreme - float(np.median(rest))) > _BEYOND * max(spread, np.finfo(float).tiny)
            customary = extreme in _CUSTOMARY and (values == extreme).sum() > 1 and gap > width
            if absurd or customary:
                value = f"{extreme:g}"
                sentence = f"has the value {value}, far from all others: if it stands for a missing one, say so"
                yield Finding(name, "sentinel", sentence, f"--missing={value}", fatal=bool(absurd))


# -- small classes, and repairs ---------------------------------------------------------------------

MIN_ROWS_PER_CLASS = 6  # a test part of 30 % leaves four for training: enough for folds that all hold the class
OTHER = "(other)"  # what small classes are merged into


def small_classes(y: np.ndarray) -> tuple[list, list[int]]:
    """The classes with too few rows, and their counts."""
    classes, counts = np.unique(y, return_counts=True)
    small = counts < MIN_ROWS_PER_CLASS
    return classes[small].tolist(), counts[small].tolist()


def check_small_classes(table: TableView) -> Iterator[Finding]:
    """Every class needs a few rows in training, in tuning and in the test."""
    names, counts = small_classes(table.y)
    if names:
        count, *_ = counts
        said = f"The class {names[0]!s} has {count} row{'s' if count > 1 else ''}"
        if len(names) > 1:
            said = f"{len(names)} classes have too few rows, such as {names[0]!s} with {count}"
        yield Finding(
            None, "small class", f"{said}; every class needs at least {MIN_ROWS_PER_CLASS}: leave such rows out "
            "(--drop-small), or merge the classes (--merge-small)", fatal=True,
        )  # fmt: skip


@dataclass(frozen=True)
class Repairs:
    """The changes to a table that the user allows: leave out the rows of classes that are too small, or make them one
    class; leave out rows that repeat an earlier one.
    """

    drop_small: bool = False
    merge_small: bool = False
    drop_duplicates: bool = False

    def __post_init__(self):
        if self.drop_small and self.merge_small:
            raise ValueError("Small classes are either left out (drop_small) or merged (merge_small), not both.")


def repair(dataset: Dataset, repairs: Repairs) -> Dataset:
    """The data set without empty and constant columns, with the repairs asked for; its notes say what was done."""
    dataset = drop_constant_columns(dataset)
    if repairs.drop_duplicates:
        repeated = repeats(dataset.frame, dataset.y)
        if repeated.any():
            dataset = dataset.select(~repeated, f"{int(repeated.sum())} rows that repeat an earlier one were left out.")
    names, counts = small_classes(dataset.labels)
    if names and repairs.drop_small:
        first = ", ".join(f"{name} ({count})" for name, count in list(zip(names, counts, strict=True))[:10])
        dataset = _labelled(dataset).select(
            ~np.isin(dataset.labels, names), f"Rows of classes that are too small were left out: {first}."
        )
    elif names and repairs.merge_small:
        y = np.where(np.isin(dataset.labels, names), OTHER, dataset.labels.astype(str))
        note = f"{len(names)} small classes were merged into {OTHER}: {', '.join(map(str, names[:10]))}."
        dataset = replace(dataset, y=y, target_names=[str(c) for c in np.unique(y)], notes=[*dataset.notes, note])
    return dataset


def _labelled(dataset: Dataset) -> Dataset:
    """With the names of the classes as labels: after some are left out, names no longer match by position."""
    return replace(dataset, y=dataset.labels, target_names=[])


def drop_constant_columns(dataset: Dataset) -> Dataset:
    """Columns with one value, or none, are left out and named."""
    frame = dataset.frame
    empty = [str(name) for name in frame.columns if frame[name].isna().all()]
    constant = [str(name) for name in frame.columns if str(name) not in empty and _is_constant(frame[name])]
    idle = {*empty, *constant}
    if not idle or len(idle) == frame.shape[1]:
        return dataset
    notes = list(dataset.notes)
    if empty:
        notes.append(f"Empty, and left out: {listed(empty)}.")
    if constant:
        notes.append(f"Left out because they are the same in every row, so without influence: {listed(constant)}.")
    kept = [k for k, name in enumerate(frame.columns) if str(name) not in idle]
    names = [dataset.feature_names[k] for k in kept]
    X = dataset.X[:, kept] if isinstance(dataset.X, np.ndarray) else frame.iloc[:, kept]
    return replace(dataset, X=X, feature_names=names, notes=notes)


def _is_constant(column) -> bool:
    """One value in every row; gaps are a second one."""
    return column.nunique(dropna=False) <= 1


# -- all of them ------------------------------------------------------------------------------------

#: All checks, in the order of their findings; those that refuse a table come first.
CHECKS: list[Callable[[TableView], Iterator[Finding]]] = [
    check_categories,
    check_date_columns,
    check_small_classes,
    check_sentinels,
    check_spreads,
    check_identifiers,
    check_leaks,
    check_duplicates,
    check_coded_columns,
    check_few_rows,
]


def check_dataset(dataset: Dataset, categorical: Sequence[str] = (), dates: Sequence[str] = ()) -> list[Finding]:
    """All findings about a data set, but none about columns that are declared as ``categorical`` or ``dates``."""
    table = TableView(dataset.frame, dataset.labels, dataset.target_name, tuple(categorical), tuple(dates))
    findings = [finding for check in CHECKS for finding in check(table)]
    decided = {(f.column, f.fatal) for f in findings if f.fatal and f.column is not None}
    findings = [f for f in findings if f.fatal or (f.column, True) not in decided]  # one decision a column
    dropped = {f.column for f in findings if f.flag.startswith("--drop ")}
    return [f for f in findings if f.kind != "code" or f.column not in dropped]  # what is left out needs no other flag
