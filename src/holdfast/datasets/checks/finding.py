"""Something about a table that its owner should know before a model is trained on it."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.numerics.formatting import short_name

_LISTED = 8  # columns that are named in one sentence


@dataclass(frozen=True)
class Finding:
    """One remark on a table.

    Attributes
    ----------
    column : str or None
        The column it is about; None for the whole table.
    kind : str
        "identifier", "date", "text", "code", …: the name of the check.
    sentence : str
        What was found.
    flag : str
        What to add to the command line, ready to be pasted; empty if nothing can be added.
    fatal : bool
        True if the table is refused until the user has decided.
    """

    column: str | None
    kind: str
    sentence: str
    flag: str = ""
    fatal: bool = False

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

    Examples
    --------
    >>> describe([Finding("a", "code", "has two values", "--categorical a")])
    ["Column 'a' has two values: --categorical a."]
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.kind, finding.sentence), []).append(finding)
    sentences = []
    for (_, sentence), members in groups.items():
        names = [repr(short_name(f.column)) for f in members if f.column is not None]
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        word, each = ("Column", "") if len(names) == 1 else ("Columns", ": each")
        what = f"{word} {', '.join(names[:_LISTED])}{more}{each} " if names else ""
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
