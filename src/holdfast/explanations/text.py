"""Answers in sentences."""

from typing import TYPE_CHECKING

import numpy as np

from holdfast.certificates.certificate import meet
from holdfast.numerics.formatting import number, percent, printable

if TYPE_CHECKING:
    from holdfast.explanations.result import Counterfactuals

_LISTED = 6  # changes in one sentence


def exact_number(value: float) -> str:
    """A number with all its digits, as short as it can be read back.

    Examples
    --------
    >>> exact_number(16.2), exact_number(120000.0), exact_number(-0.0)
    ('16.2', '120000', '0')
    """
    if value == 0:
        return "0"
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def as_given(value, digits: int | None = None) -> str:
    """A value of a table as text: a number to ``digits`` digits, or to all; a word as it is.

    Examples
    --------
    >>> as_given(0.123456789, 6), as_given(0.123456789), as_given("A11")
    ('0.123457', '0.123456789', 'A11')
    """
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        return str(value)
    return exact_number(float(value if digits is None else f"{value:.{digits}g}"))


def entry_sentence(answers: "Counterfactuals", entry: int, listed: int = _LISTED) -> str:
    """``to be benign instead of malignant: worst radius 17.9 → 16.2; no smaller change can do it``."""
    before, target = answers.prediction[entry], answers.target[entry]
    if answers.status[entry] == "already":
        return printable(f"it is {before} already")
    aim = f"to be {target} instead of {before}" if target is not None else f"to be anything but {before}"
    return printable(f"{aim}: {change_text(answers, entry, listed)}")


def change_text(answers: "Counterfactuals", entry: int, listed: int = _LISTED) -> str:
    """``worst radius 17.9 → 16.2; no smaller change can do it``: the largest changes, and what is proven."""
    if answers.status[entry] != "found":
        return proof_text(answers, entry)
    changes = answers.changed(entry)
    text = ", ".join(f"{name} {as_given(old, 6)} → {as_given(to)}" for name, old, to in changes[:listed])
    left = len(changes) - listed
    if left > 0:
        text += f" and {left} smaller change{'s' if left > 1 else ''}"
    return printable(f"{text}; {proof_text(answers, entry)}")


def proof_text(answers: "Counterfactuals", entry: int, possible: str = "possible change") -> str:
    """What is proven: ``no smaller change can do it``.

    Parameters
    ----------
    answers : Counterfactuals
    entry : int
    possible : str
        What was looked for, where it is proven not to be there.
    """
    status, size, lower = answers.status[entry], answers.size[entry], answers.lower_bound[entry]
    if status == "already":
        return "no change is needed"
    if status == "impossible":
        return f"no {possible} does it, which is proven"
    if status == "not found":
        return "none found within the budget" + (f"; proven: none below {number(lower)} does it" if lower else "")
    if size == 0:
        return "no number has to change"
    if meet(lower, size):
        return "no smaller change can do it"
    if answers.closest[entry]:
        return f"no change smaller by more than {percent(answers.rounding, 0)} can do it"
    return f"a change of size {number(size)}; none below {number(lower)} can do it"
