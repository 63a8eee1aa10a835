"""Why a published number was not reached, or what was tried: one line each, the first that fits."""

from typing import NamedTuple


class Reason(NamedTuple):
    """A reason for the cells of a data set, method and condition; empty stands for all."""

    dataset: str
    method: str
    condition: str
    text: str


_BY_MINIMUM = (
    "rows by L-BFGS, which goes to the overfitted minimum; by the paper's schedule, on one round, {} (FINDINGS 2)"
)
REASONS = [
    Reason("ecoli", "PNCA", "anisotropic_gaussian_snr5", "the printed G-mean is an accuracy (FINDINGS 5)"),
    Reason("ecoli", "PNCA-PL", "anisotropic_gaussian_snr5", "the printed G-mean is an accuracy (FINDINGS 5)"),
    Reason("sonar", "LMNN", "adversarial_l2_0.2", "another solver: the authors ran Weinberger's code (FINDINGS 6)"),
    Reason("segment", "CAP", "", _BY_MINIMUM),
    Reason("segment", "PNCA", "", _BY_MINIMUM),
    Reason("segment", "PNCA-PL", "", _BY_MINIMUM),
    Reason("segment", "LDD", "", _BY_MINIMUM),
    Reason("isolet", "CAP", "", "two of four speaker groups, 5 of 50 candidates (FINDINGS 3)"),
]


def reason(dataset: str, method: str, condition: str) -> str:
    """The reason for a cell; empty if there is none.

    Examples
    --------
    >>> reason("ecoli", "PNCA", "anisotropic_gaussian_snr5")
    'the printed G-mean is an accuracy (FINDINGS 5)'
    >>> reason("iris", "LMNN", "clean")
    ''
    """
    cell = (dataset, method, condition)
    fitting = (one.text for one in REASONS if all(a in ("", b) for a, b in zip(one[:3], cell, strict=True)))
    return next(fitting, "")
