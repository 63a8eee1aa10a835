"""Answers in sentences."""

from typing import TYPE_CHECKING

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


def _short(value: float) -> str:
    """A number to six digits: where a change begins need not be told to the last one."""
    return exact_number(float(f"{value:.6g}"))


def entry_sentence(found: "Counterfactuals", entry: int) -> str:
    """``to be benign instead of malignant: worst radius 17.9 → 16.2; no smaller change can do it``."""
    before, target = found.prediction[entry], found.target[entry]
    aim = f"to be {target} instead of {before}" if target is not None else f"to be anything but {before}"
    status = found.status[entry]
    if status == "already":
        return printable(f"it is {before} already")
    if status == "impossible":
        return printable(f"{aim}: no possible change does it, which is proven")
    if status == "not found":
        needed = f"; proven: none below {number(found.lower_bound[entry])} does it" if found.lower_bound[entry] else ""
        return printable(f"{aim}: none found within the budget{needed}")
    changes = found.changed(entry)
    listed = ", ".join(f"{name} {_short(old)} → {exact_number(to)}" for name, old, to in changes[:_LISTED])
    if len(changes) > _LISTED:
        listed += f" and {len(changes) - _LISTED} smaller changes"
    return printable(f"{aim}: {listed}; {_proof(found, entry)}")


def _proof(found: "Counterfactuals", entry: int) -> str:
    size, lower = found.size[entry], found.lower_bound[entry]
    if meet(lower, size):
        return "no smaller change can do it"
    if found.closest[entry]:
        return f"no change smaller by more than {percent(found.rounding, 0)} can do it"
    return f"a change of size {number(size)}; none below {number(lower)} can do it"
