"""Checks of fitted attributes; each raises a ``ValueError`` that says what is wrong and what to do.

Compiled kernels do not check bounds, so a model is checked before they see its arrays. Every check is at most linear
in the length of what it looks at.
"""

from numbers import Integral
from reprlib import repr as short  # a value from a file may be of any length
from typing import Any

import numpy as np

ADVICE = "fit the model again"


def check_numbers(owner: str, name: str, value, shape: tuple[int | None, ...], kinds: str = "f") -> np.ndarray:
    """The array, if it has this shape (None: any length) and one of these kinds of numbers, all of them finite.

    Examples
    --------
    >>> check_numbers("LMNN", "components_", np.eye(2), (None, 3))
    Traceback (most recent call last):
    ValueError: LMNN: components_ must have shape (any, 3); got (2, 2): fit the model again.
    """
    check_shape(owner, name, value, shape)
    if value.dtype.kind not in kinds or not value.dtype.isnative:
        raise ValueError(f"{owner}: {name} must be an array of numbers; got {value.dtype}: {ADVICE}.")
    if not all_finite(value):
        raise ValueError(f"{owner}: {name} must be finite, but has NaN or infinity in it: {ADVICE}.")
    return value


def check_shape(owner: str, name: str, value, shape: tuple[int | None, ...]) -> None:
    """Raise ``ValueError`` unless the value is an array of this shape (None: any length)."""
    if not isinstance(value, np.ndarray):
        raise ValueError(f"{owner}: {name} must be an array; got {short(value)}: {ADVICE}.")
    fits = value.ndim == len(shape) and all(s in (None, n) for s, n in zip(shape, value.shape, strict=True))
    if not fits:
        wanted = f"({', '.join('any' if s is None else str(s) for s in shape)}{',' if len(shape) == 1 else ''})"
        raise ValueError(f"{owner}: {name} must have shape {wanted}; got {value.shape}: {ADVICE}.")


def all_finite(values: np.ndarray) -> bool:
    """True if no value is NaN or infinite; a finite sum proves it without a second array."""
    if values.dtype.kind != "f":
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def check_codes(owner: str, name: str, codes, n: int, n_classes: int) -> None:
    """Raise ``ValueError`` unless these are n whole numbers from 0 to ``n_classes − 1``."""
    check_shape(owner, name, codes, (n,))
    if codes.dtype.kind != "i" or not codes.dtype.isnative:
        raise ValueError(f"{owner}: {name} must be whole numbers; got {codes.dtype}: {ADVICE}.")
    if n and not (codes.min() >= 0 and codes.max() < n_classes):
        raise ValueError(
            f"{owner}: {name} must be from 0 to {n_classes - 1}, indices into classes_; got {codes.min()} to "
            f"{codes.max()}: {ADVICE}."
        )


def check_classes(owner: str, classes, at_least: int = 1) -> None:
    """Raise ``ValueError`` unless these are labels in ascending order, none twice."""
    check_shape(owner, "classes_", classes, (None,))
    if len(classes) < at_least:
        raise ValueError(f"{owner}: classes_ must have at least {at_least} labels; got {len(classes)}: {ADVICE}.")
    try:
        ascending = bool(np.all(classes[:-1] < classes[1:]))
    except TypeError:  # labels of several types
        ascending = False
    if not ascending or (classes.dtype.kind == "f" and not all_finite(classes)):
        raise ValueError(f"{owner}: classes_ must be in ascending order, none twice; got {short(classes)}: {ADVICE}.")


def check_n_neighbors(owner: str, k: Any, n: int) -> None:
    """Raise ``ValueError`` unless k is a whole number from 1 to n."""
    if not isinstance(k, Integral) or isinstance(k, (bool, np.bool_)) or int(k) < 1:
        raise ValueError(
            f"{owner}: n_neighbors must be an integer of at least 1; got {short(k)}: set_params(n_neighbors=...)."
        )
    if int(k) > n:
        raise ValueError(
            f"{owner}: n_neighbors={short(k)} is more than the {n} points that can vote: lower it with "
            "set_params(n_neighbors=...), or fit on more rows."
        )


def check_features(owner: str, estimator, n_features: int) -> None:
    """Raise ``ValueError`` unless ``n_features_in_`` and ``feature_names_in_`` agree with the width of the arrays."""
    n = getattr(estimator, "n_features_in_", None)
    if not isinstance(n, Integral) or isinstance(n, (bool, np.bool_)) or n != n_features:
        raise ValueError(f"{owner}: n_features_in_ must be {n_features}, as in its arrays; got {short(n)}: {ADVICE}.")
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        check_shape(owner, "feature_names_in_", names, (n_features,))
        if not all(isinstance(name, str) for name in names.tolist()):
            raise ValueError(f"{owner}: feature_names_in_ must be words: {ADVICE}.")
