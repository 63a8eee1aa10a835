"""scikit-learn's k nearest neighbours: checked, and fitted again from their own rows."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

from holdfast.models.checks import ADVICE, check_classes, check_codes, check_n_neighbors, check_numbers, short
from holdfast.numerics.frames import with_names

_NAME = "KNeighborsClassifier"
_METHODS = ("brute", "kd_tree", "ball_tree")
_MAX_LEAF = 2**20


def refit(knn: KNeighborsClassifier) -> KNeighborsClassifier:
    """The same classifier, fitted again from the rows and labels that it keeps; ``ValueError`` if they are unsound.

    A search tree is compiled code that trusts the indices in it, so it is never taken from a file.

    Parameters
    ----------
    knn : KNeighborsClassifier
        Its ``_tree`` is not looked at.
    """
    X = check_numbers(_NAME, "_fit_X", knn._fit_X, (None, None), kinds="biuf")
    n, p = X.shape
    check_n_neighbors(_NAME, knn.n_neighbors, n)
    _check_labels(knn, n)
    _check_parameters(knn, p)
    if getattr(knn, "_fit_method", None) not in _METHODS:
        raise ValueError(f"{_NAME}: it must search by one of {', '.join(_METHODS)}: {ADVICE}.")
    again = clone(knn).set_params(algorithm=knn._fit_method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of many classes for few rows, and the like: they were said at the first fit
        again.fit(with_names(X, knn), knn._y)
    again.algorithm, again.classes_ = knn.algorithm, knn.classes_
    for name in ("effective_metric_", "effective_metric_params_", "n_samples_fit_", "n_features_in_"):
        if not _equal(getattr(knn, name, None), getattr(again, name)):
            raise ValueError(f"{_NAME}: {name} is not what its parameters say, they were changed after fit: {ADVICE}.")
    return again


def _check_labels(knn: KNeighborsClassifier, n: int) -> None:
    """Class codes within the classes; every class has a row."""
    if knn.outputs_2d_ is not False:
        raise ValueError(f"{_NAME}: a model of several outputs cannot be in a model file: fit one for each output.")
    check_classes(_NAME, knn.classes_, at_least=2)
    check_codes(_NAME, "_y", knn._y, n, len(knn.classes_))
    if not (np.bincount(knn._y, minlength=len(knn.classes_)) > 0).all():
        raise ValueError(f"{_NAME}: each of classes_ must have a row: {ADVICE}.")


def _check_parameters(knn: KNeighborsClassifier, p: int) -> None:
    """Parameters that compiled code of scikit-learn or SciPy takes unchecked."""
    if knn.weights not in (None, "uniform", "distance"):
        raise ValueError(f"{_NAME}: weights must be 'uniform' or 'distance'; got {short(knn.weights)}.")
    leaf, power = knn.leaf_size, knn.p
    if not isinstance(leaf, Integral) or isinstance(leaf, bool) or not 1 <= int(leaf) <= _MAX_LEAF:
        raise ValueError(f"{_NAME}: leaf_size must be an integer from 1 to {_MAX_LEAF}; got {short(leaf)}.")
    if power is not None and (not isinstance(power, Real) or not float(power) > 0):
        raise ValueError(f"{_NAME}: p must be a number above 0; got {short(power)}.")
    if not isinstance(knn.metric, str) or knn.metric == "precomputed":
        raise ValueError(f"{_NAME}: metric must be the name of a distance between rows; got {short(knn.metric)}.")
    for name, value in (knn.metric_params or {}).items():
        if name == "p" and isinstance(value, Real) and float(value) > 0:
            continue
        shape = {"VI": (p, p), "V": (p,), "w": (p,)}.get(name)
        if shape is None:
            raise ValueError(f"{_NAME}: metric_params may have p, V, VI and w; got {short(name)}.")
        check_numbers(_NAME, f"metric_params[{name!r}]", value, shape)


def _equal(one, other) -> bool:
    """Equal numbers or words; of dicts, equal arrays too."""
    if isinstance(other, dict):
        same_keys = isinstance(one, dict) and one.keys() == other.keys()
        return same_keys and all(np.array_equal(one[key], other[key]) for key in other)
    return type(one) in (type(other), int) and one == other
