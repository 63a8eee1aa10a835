"""Functions that do not belong to the class of a fitted object: what is known of the class does not hold (Lemma X0)."""

from functools import cache
from inspect import getattr_static

_TRUSTED = ("sklearn", "holdfast", "imblearn")  # whose pipelines and searches hand rows on, and answers back
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
