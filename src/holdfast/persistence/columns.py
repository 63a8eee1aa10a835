"""Steps that take tables: what the fitted attributes of column transformers, encoders and imputers must look like."""

from numbers import Real

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from holdfast.certificates.folding.steps import column_numbers
from holdfast.certificates.folding.values import as_column, as_rows, key
from holdfast.models.checks import ADVICE, check_features, short

_PLAIN = (str, Real, np.bool_)  # values of columns: words and numbers, beside None and NaN


def check_encoder(step: OneHotEncoder | OrdinalEncoder) -> None:
    """Refuse categories that are no plain values or stand twice, and attributes that do not follow from them.

    The encoder is fitted again from its own categories, and must come out the same.
    """
    name, categories = type(step).__name__, step.categories_
    if getattr(step, "min_frequency", None) is not None or getattr(step, "max_categories", None) is not None:
        raise ValueError(
            f"{name}: min_frequency and max_categories cannot be in a model file, since the counts of categories are "
            "not kept: merge rare categories before."
        )
    if not isinstance(categories, list) or not categories:
        raise ValueError(f"{name}: categories_ must be a list of arrays: {ADVICE}.")
    check_features(name, step, len(categories))
    for values in categories:
        if not isinstance(values, np.ndarray) or values.ndim != 1 or not values.size:
            raise ValueError(f"{name}: categories_ must be a list of arrays of one dimension: {ADVICE}.")
        _check_values(name, "categories_", values)
        if len({key(value) for value in values}) < len(values):
            raise ValueError(f"{name}: categories_ must not name a value twice: {ADVICE}.")
    again = clone(step).set_params(categories=categories)
    first_values = [as_column([values[0]], values) for values in categories]
    again.fit(as_rows(first_values, getattr(step, "feature_names_in_", None)))
    for attribute in sorted(vars(again).keys() | vars(step).keys()):
        if attribute != "categories" and not _same(getattr(step, attribute, None), getattr(again, attribute, None)):
            raise ValueError(f"{name}: {attribute} does not agree with categories_: {ADVICE}.")


def check_imputer(step: SimpleImputer) -> None:
    """Refuse what is filled in if it is no plain value, and an indicator of other columns."""
    fill_values = np.asarray(step.statistics_)
    if fill_values.ndim != 1 or not fill_values.size:
        raise ValueError(f"SimpleImputer: statistics_ must have a value for each column: {ADVICE}.")
    check_features("SimpleImputer", step, len(fill_values))
    _check_values("SimpleImputer", "statistics_", fill_values)
    _check_values("SimpleImputer", "missing_values", [step.missing_values])
    if (step.indicator_ is not None) != bool(step.add_indicator):
        raise ValueError(f"SimpleImputer: indicator_ must be there if add_indicator is: {ADVICE}.")
    if step.indicator_ is not None and step.indicator_.n_features_in_ != len(fill_values):
        raise ValueError(f"SimpleImputer: indicator_ must have as many columns as statistics_: {ADVICE}.")


def check_indicator(step: MissingIndicator) -> None:
    """Refuse columns that are not there, or twice."""
    check_features("MissingIndicator", step, step.n_features_in_)
    columns = np.asarray(step.features_)
    whole = columns.ndim == 1 and columns.dtype.kind in "iu"
    if (
        not whole
        or len(set(columns.tolist())) < len(columns)
        or not set(columns.tolist()) <= set(range(step.n_features_in_))
    ):
        raise ValueError(f"MissingIndicator: features_ must be numbers of columns, none twice: {ADVICE}.")


def check_column_transformer(step: ColumnTransformer) -> None:
    """Refuse columns that are not there, parts that cannot transform, and places that do not add up."""
    name, n = "ColumnTransformer", step.n_features_in_
    check_features(name, step, n)
    names = getattr(step, "feature_names_in_", None)
    parts = step.transformers_
    if not isinstance(parts, list) or not all(isinstance(part, tuple) and len(part) == 3 for part in parts):
        raise ValueError(f"{name}: transformers_ must be a list of (name, step, columns): {ADVICE}.")
    titles = [title for title, _, _ in parts]
    if not all(isinstance(title, str) for title in titles) or len(set(titles)) < len(titles):
        raise ValueError(f"{name}: transformers_ must have names, each its own: {ADVICE}.")
    _check_weights(name, step.transformer_weights, titles)
    for title, inner, columns in parts:
        at = column_numbers(columns, names, n)
        if any(not 0 <= column < n for column in at):
            raise ValueError(f"{name}: {title!r} names a column that is not there: {ADVICE}.")
        if isinstance(inner, str) and inner not in ("drop", "passthrough"):
            raise ValueError(f"{name}: {short(inner)} must be a step, 'drop' or 'passthrough': {ADVICE}.")
        if not isinstance(inner, str) and not hasattr(inner, "transform"):
            raise ValueError(f"{name}: {type(inner).__name__} cannot transform: {ADVICE}.")
        if list(step._transformer_to_input_indices.get(title, at)) != at:
            raise ValueError(f"{name}: the columns of {title!r} are not those it was fitted on: {ADVICE}.")
    places = sorted((s.start, s.stop) for s in step.output_indices_.values() if s.stop > s.start)
    if [start for start, _ in places] != [0, *(stop for _, stop in places)][: len(places)]:
        raise ValueError(f"{name}: output_indices_ must follow one another: {ADVICE}.")


def check_union(step: FeatureUnion) -> None:
    """Refuse parts that cannot transform."""
    titles = [title for title, _ in step.transformer_list]
    _check_weights("FeatureUnion", step.transformer_weights, titles)
    for _, inner in step.transformer_list:
        if not (inner in ("drop", "passthrough") if isinstance(inner, str) else hasattr(inner, "transform")):
            raise ValueError(f"FeatureUnion: {short(inner)} cannot transform: {ADVICE}.")


def _check_weights(name: str, weights, titles: list[str]) -> None:
    if weights is None:
        return
    known = isinstance(weights, dict) and set(weights) <= set(titles)
    if not known or not all(isinstance(w, Real) and np.isfinite(float(w)) for w in weights.values()):
        raise ValueError(f"{name}: transformer_weights must be finite numbers for its parts: {ADVICE}.")


def _check_values(name: str, attribute: str, values) -> None:
    """Words and finite numbers, None and NaN."""
    for value in np.asarray(values, dtype=object).tolist():
        if key(value)[0] == "value" and not isinstance(value, _PLAIN):
            raise ValueError(f"{name}: {attribute} must be words or numbers; got {short(value)}: {ADVICE}.")
        if isinstance(value, Real) and np.isinf(float(value)):
            raise ValueError(f"{name}: {attribute} must be finite: {ADVICE}.")


def _same(one, other) -> bool:
    """Equal, also of arrays, lists and dicts of them, with every NaN alike."""
    if isinstance(other, np.ndarray) or isinstance(one, np.ndarray):
        both = isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.shape == other.shape
        return both and all(map(_same, one.tolist(), other.tolist()))
    if isinstance(other, dict):
        return isinstance(one, dict) and one.keys() == other.keys() and all(_same(one[k], other[k]) for k in other)
    if isinstance(other, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(_same, one, other))
    return key(one) == key(other) or one is other or (isinstance(one, type) and one == other)
