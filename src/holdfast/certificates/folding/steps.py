"""Apply a fitted step to a table; :data:`READERS` lists the steps that are not one affine map of numbers."""

from collections import UserList
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, TargetEncoder
from sklearn.utils.validation import check_is_fitted

from holdfast.affine import READERS as AFFINE
from holdfast.affine import Affine, affine_of
from holdfast.certificates.folding.categories import encode_words, fill_gaps
from holdfast.certificates.folding.kinds import Kinds
from holdfast.certificates.folding.monotone import MONOTONE, bend, cut
from holdfast.certificates.folding.table import Table, side_by_side
from holdfast.numerics.own_functions import refuse_foreign_class, refuse_own_functions


def through(step, table: Table, kinds: Kinds) -> Table:
    """The table after one fitted step; a step that is not in :data:`READERS` must be affine."""
    refuse_own_functions(step)
    if does_nothing(step):
        return table
    check_is_fitted(step)
    read = READERS.get(type(step))
    if read is not None:
        return read(step, table, kinds)
    if is_pipeline(step):
        return _pipeline(step, table, kinds)
    if type(step) in MONOTONE and not _affine(step):
        return bend(step, table, kinds)
    return table.numbers(step).then(affine_of(step, table.width))


def does_nothing(step) -> bool:
    """True for ``passthrough``, and for samplers, which act only while a model is fitted."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return True
    if type(step) in (FunctionTransformer,) and step.func is None:
        return True
    return hasattr(step, "fit_resample") and not hasattr(step, "transform")


def is_pipeline(step) -> bool:
    """True for pipelines, those with samplers included; one that may hand rows on in another way is refused."""
    if not isinstance(step, Pipeline):
        return False
    refuse_foreign_class(step, "Pipeline(model.steps)")
    return True


def _affine(step) -> bool:
    """True for scalers that do not clip."""
    return type(step) in AFFINE and not getattr(step, "clip", False) and not isinstance(step, FunctionTransformer)


def check_precision(steps: Sequence) -> None:
    """Refuse a step after which all numbers are in single precision: what follows would compute in it.

    Beside columns in double precision they do no harm: an encoder's numbers are exact, and the table is in double.
    """
    for step in steps:
        if _single(step):
            raise ValueError(
                f"After {type(step).__name__} all numbers are float32, so that the steps that follow round to seven "
                "digits, which a certificate does not allow for: fit the encoder with dtype=numpy.float64."
            )


def _single(step) -> bool:
    if does_nothing(step) or isinstance(step, str | KBinsDiscretizer):  # which is refused by `cut`
        return False
    if isinstance(step, Pipeline):
        return any(_single(inner) for inner in [inner for _, inner in step.steps if not does_nothing(inner)][-1:])
    if isinstance(step, ColumnTransformer | FeatureUnion):
        parts = step.transformers_ if isinstance(step, ColumnTransformer) else step.transformer_list
        kept = [part[1] for part in parts if not (isinstance(part[1], str) and part[1] == "drop")]
        return bool(kept) and all(_single(part) for part in kept)
    dtype = getattr(step, "dtype", None)
    return dtype is not None and np.dtype(dtype).kind == "f" and np.dtype(dtype).itemsize < 8


def _pipeline(step: Pipeline, table: Table, kinds: Kinds) -> Table:
    check_precision([inner for _, inner in step.steps if not does_nothing(inner)][:-1])
    for _, inner in step.steps:
        table = through(inner, table, kinds)
    return table


def _column_transformer(step: ColumnTransformer, table: Table, kinds: Kinds) -> Table:
    """Each transformer on its columns, side by side in the order of ``output_indices_``."""
    kinds.selected = True
    weights = step.transformer_weights or {}
    parts: dict[str, Table] = {}
    for name, inner, columns in step.transformers_:
        at = column_numbers(columns, getattr(step, "feature_names_in_", None), step.n_features_in_)
        if (isinstance(inner, str) and inner == "drop") or not at:
            continue
        parts[name] = _weighted(through(inner, table.take(at), kinds), weights.get(name), inner)
    order = sorted(parts, key=lambda name: step.output_indices_[name].start)
    for name in order:
        place = step.output_indices_[name]
        if place.stop - place.start != parts[name].width:
            raise ValueError(f"ColumnTransformer: {name!r} makes {place.stop - place.start} columns, not as read.")
    return side_by_side([parts[name] for name in order], table.encoding)


def _feature_union(step: FeatureUnion, table: Table, kinds: Kinds) -> Table:
    weights = step.transformer_weights or {}
    parts = [
        _weighted(through(inner, table, kinds), weights.get(name), inner)
        for name, inner in step.transformer_list
        if not (isinstance(inner, str) and inner == "drop")
    ]
    return side_by_side(parts, table.encoding)


def _weighted(table: Table, weight: float | None, step) -> Table:
    if weight is None:
        return table
    return table.numbers(step).then(Affine.step(weight * np.eye(table.width)))


def column_numbers(columns: Any, names: Sequence[str] | None, n: int) -> list[int]:
    """The columns that an entry of a ColumnTransformer takes, as numbers."""
    place = {} if names is None else {str(name): i for i, name in enumerate(names)}

    def number(column) -> int:
        return place[column] if isinstance(column, str) else int(column) % n

    if isinstance(columns, str) or np.isscalar(columns):
        return [number(columns)]
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):  # names, both ends included
            start = 0 if columns.start is None else place[columns.start]
            return list(range(start, n if columns.stop is None else place[columns.stop] + 1))
        return list(range(n)[columns])
    # scikit-learn 1.6 warns when the list of the remainder is read; its data are the same.
    values = list(columns.data if isinstance(columns, UserList) else columns)
    if values and all(isinstance(value, bool | np.bool_) for value in values):
        return [int(i) for i in np.flatnonzero(values)]
    return [number(value) for value in values]


# Exact type -> its function (step, table, kinds) -> table. Every other step must be affine.
READERS: dict[type, Callable[..., Table]] = {
    Pipeline: _pipeline,
    ColumnTransformer: _column_transformer,
    FeatureUnion: _feature_union,
    SimpleImputer: fill_gaps,
    OneHotEncoder: encode_words,
    OrdinalEncoder: encode_words,
    TargetEncoder: encode_words,
    KBinsDiscretizer: cut,
}
