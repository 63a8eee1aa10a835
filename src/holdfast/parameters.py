"""Checks of parameters; each raises a ``ValueError`` that names the owner, the parameter, the rule and the value."""

from numbers import Integral, Real

import numpy as np


def check_number(
    owner: str, name: str, value, above: float = -np.inf, below: float = np.inf, at_least: float = -np.inf
) -> None:
    """Raise ``ValueError`` unless ``value`` is a finite number, ``above < value < below`` and ``value >= at_least``.

    Examples
    --------
    >>> check_number("LMNN", "mu", 1.5, above=0, below=1)
    Traceback (most recent call last):
    ValueError: LMNN: mu must be a number above 0 and below 1; got 1.5.
    """
    rules = [
        f"{word} {limit:g}"
        for word, limit in (("at least", at_least), ("above", above), ("below", below))
        if np.isfinite(limit)
    ]
    number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if not (number and np.isfinite(value) and above < value < below and value >= at_least):
        rule = f" {' and '.join(rules)}" if rules else ""
        raise ValueError(f"{owner}: {name} must be a number{rule}; got {value!r}.")


def check_share(owner: str, name: str, value) -> None:
    """Raise ``ValueError`` unless ``value`` is a number from 0 to 1."""
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)) or not 0.0 <= float(value) <= 1.0:
        raise ValueError(f"{owner}: {name} must be a number from 0 to 1; got {value!r}.")


def check_count(owner: str, name: str, value, at_least: int = 1) -> None:
    """Raise ``ValueError`` unless ``value`` is an integer of at least ``at_least``."""
    if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)) or value < at_least:
        raise ValueError(f"{owner}: {name} must be an integer of at least {at_least}; got {value!r}.")
