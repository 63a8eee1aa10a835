"""Checks of what callers give: frames, labels, parameters, and fitted objects."""

from functools import cache
from inspect import getattr_static
from numbers import Integral, Real
from reprlib import repr as short  # a value from a file may be of any length
from typing import Any

import numpy as np


def with_names(rows, estimator):
    """The rows as a data frame with the estimator's ``feature_names_in_``, without which scikit-learn warns; unchanged
    if it has none, or if they are a data frame.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or hasattr(rows, "columns"):
        return rows
    from pandas import DataFrame  # installed: the names came from a data frame

    return DataFrame(rows, columns=names)


def as_pandas(X):
    """A table, or a column, of another library (polars) as one of pandas; anything else as it is."""
    return X.to_pandas() if hasattr(X, "to_pandas") and not hasattr(X, "iloc") else X


def plain_labels(y):
    """Labels of pandas' nullable types as numpy has them, whole numbers and True and False included (scikit-learn makes
    floats of them); anything else, and labels with gaps, is returned as it is.
    """
    kind = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if kind is None or kind.kind not in "biu" or y.isna().any():
        return y
    return y.to_numpy(dtype=kind)


def precisions(rows) -> list[str]:
    """Names of the kinds of floating-point numbers in a table, such as ``float32``: of every column of a frame, of a
    list as numpy reads it.
    """
    if hasattr(rows, "dtypes"):
        kinds = list(rows.dtypes)
    else:
        kinds = [rows.dtype if isinstance(rows, np.ndarray) else np.asarray(rows).dtype]
    names = (_ARROW.get(str(kind), str(kind)).lower() for kind in kinds)
    return [name for name in names if name.startswith("float") or name == "longdouble"]


_ARROW = {"halffloat[pyarrow]": "float16", "float[pyarrow]": "float32", "double[pyarrow]": "float64"}


def class_codes(labels, classes) -> tuple[np.ndarray, list]:
    """The index of each label among the classes, −1 for none; and the labels that are not among them, each once. A
    label is the class that is written like it, else numbers are compared by value (1, 1.0, True and "1" are one label,
    "01" another); a value that two classes share ("1" and "1.0") belongs to neither.
    """
    written = {str(_plain(label)): code for code, label in enumerate(classes)}
    by_value: dict[str, int] = {}
    for code, label in enumerate(classes):
        by_value[_value(label)] = -1 if _value(label) in by_value else code
    found: dict[str, int] = {}
    unknown = {}
    codes = np.empty(len(labels), dtype=np.int64)
    for i, label in enumerate(labels):
        word = str(_plain(label))
        if word not in found:
            found[word] = written.get(word, by_value.get(_value(label), -1))
            if found[word] < 0:
                unknown[word] = _plain(label)
        codes[i] = found[word]
    return codes, list(unknown.values())


def _plain(label):
    return label.item() if isinstance(label, np.generic) else label


def _value(label) -> str:
    """The number that a label is, or is written as, written alike for equal values; other words as they are."""
    label = _plain(label)
    if isinstance(label, int):  # True and False are 1 and 0
        return str(int(label))
    try:
        number = float(label)
    except (TypeError, ValueError, OverflowError):
        return str(label)
    if isinstance(label, str) and label not in (f"{number:.0f}", f"{number:.1f}", repr(number)):
        return label  # such as 01, 1_000 or nan
    return str(int(number)) if number.is_integer() else repr(number)


# -- whose functions decide an answer ---------------------------------------------------------------

_TRUSTED = ("sklearn", "holdfast", "imblearn")  # whose pipelines and searches only pass rows and answers on
# What decides an answer. A wrapper that passes these on has none of them in its class.
_DECIDING = (
    "predict", "predict_proba", "decision_function", "transform", "_transform", "kneighbors", "radius_neighbors",
)  # fmt: skip


def refuse_own_functions(estimator) -> None:
    """Raise ``TypeError`` if a method was replaced on this object alone."""
    own = [
        name
        for name in getattr(estimator, "__dict__", ())
        if name in _DECIDING or callable(getattr(type(estimator), name, None))
    ]
    if own:
        kind = type(estimator).__name__
        raise TypeError(
            f"This {kind} cannot be certified: its {', '.join(own)} was set on the object, so it need not do what a "
            f"{kind} does. Delete the attribute and certify the model without it, or write the rule as a known step."
        )


def refuse_foreign_class(wrapper, instead: str) -> None:
    """Raise ``TypeError`` unless a pipeline or search is scikit-learn's own, imbalanced-learn's or holdfast's."""
    kind = type(wrapper)
    if kind.__module__.partition(".")[0] not in _TRUSTED:
        raise TypeError(
            f"{kind.__name__} cannot be certified: it is a class of its own around a model, and may answer in another "
            f"way. Certify what is inside: {instead}."
        )


def shares(estimator, base: type, *names: str) -> bool:
    """True if these functions of an object's class are those of ``base``."""
    return all(getattr_static(type(estimator), name, None) is getattr_static(base, name, None) for name in names)


def numbers_of_functions(kind: type) -> tuple[int, ...]:
    """A number for each deciding function of a class; a function that is put in its place has another one."""
    return tuple(_number(getattr_static(kind, name, None)) for name in _DECIDING)


@cache  # keeps the function, so that no other gets its address
def _number(function) -> int:
    return id(function)


# -- parameters -------------------------------------------------------------------------------------


def check_number(
    owner: str, name: str, value, above: float = -np.inf, below: float = np.inf, at_least: float = -np.inf
) -> None:
    """Raise ``ValueError`` unless ``value`` is a finite number, ``above < value < below`` and ``value >= at_least``.

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


# -- fitted attributes ------------------------------------------------------------------------------

ADVICE = "fit the model again"


def check_numbers(owner: str, name: str, value, shape: tuple[int | None, ...], kinds: str = "f") -> np.ndarray:
    """The array, if it has this shape (None: any length) and one of these kinds of numbers, all of them finite.

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
