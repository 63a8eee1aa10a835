"""Checks of the fitted attributes of each allowed type: shapes, signs, finite numbers.

One row of :data:`ATTRIBUTES` or one function of :data:`CHECKS` for each type; a type that ``allowed`` names and neither
has, such as a solver or a term, holds parameters only, which ``fit`` checks.
"""

from collections.abc import Callable
from math import isfinite
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import (
    FunctionTransformer,
    LabelEncoder,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC

from holdfast.datasets.encoder import TableEncoder
from holdfast.datasets.reading import Reading
from holdfast.learn.learner import MetricLearner
from holdfast.models.base import VotingClassifier
from holdfast.models.checks import ADVICE, check_classes, check_features, check_numbers, check_shape, short
from holdfast.persistence.columns import (
    check_column_transformer,
    check_encoder,
    check_imputer,
    check_indicator,
    check_union,
)

_MAX_FEATURES = 2**24  # more columns than a row of a table can have; a row of them is tried


class Attribute(NamedTuple):
    """An array of numbers.

    Attributes
    ----------
    shape : str
        One letter for each dimension; p is ``n_features_in_``, equal letters are equal lengths.
    optional : bool
        May be None, or missing.
    positive : bool
        It is divided by.
    """

    shape: str
    optional: bool = False
    positive: bool = False


_PER_FEATURE = Attribute("p")
ATTRIBUTES: dict[type, dict[str, Attribute]] = {
    StandardScaler: {
        "mean_": Attribute("p", optional=True),
        "var_": Attribute("p", optional=True),
        "scale_": Attribute("p", optional=True, positive=True),
    },
    MinMaxScaler: {
        **dict.fromkeys(("min_", "data_min_", "data_max_", "data_range_"), _PER_FEATURE),
        "scale_": Attribute("p", positive=True),
    },
    MaxAbsScaler: {"scale_": Attribute("p", positive=True), "max_abs_": _PER_FEATURE},
    RobustScaler: {
        "center_": Attribute("p", optional=True),
        "scale_": Attribute("p", optional=True, positive=True),
    },
    Normalizer: {},
    FunctionTransformer: {},
    VarianceThreshold: {"variances_": _PER_FEATURE},
    PCA: {
        "components_": Attribute("rp"),
        "mean_": _PER_FEATURE,
        "explained_variance_": Attribute("r"),
        "explained_variance_ratio_": Attribute("r"),
        "singular_values_": Attribute("r"),
    },
    TruncatedSVD: {"components_": Attribute("rp")},
    NeighborhoodComponentsAnalysis: {"components_": Attribute("rp")},
    LogisticRegression: {"coef_": Attribute("sp"), "intercept_": Attribute("s")},
    LinearSVC: {"coef_": Attribute("sp")},
    LinearDiscriminantAnalysis: {
        "scalings_": Attribute("pr", optional=True),
        "xbar_": Attribute("p", optional=True),
        "means_": Attribute("cp"),
        "priors_": Attribute("c"),
        "coef_": Attribute("sp"),
        "intercept_": Attribute("s"),
    },
}


def check_attributes(step) -> None:
    """Raise ``ValueError`` unless the arrays of one of scikit-learn's steps are finite and fit together."""
    name = type(step).__name__
    n_features = getattr(step, "n_features_in_", None)
    check_features(name, step, n_features if isinstance(n_features, int) and 0 < n_features <= _MAX_FEATURES else 1)
    lengths: dict[str, int] = {"p": n_features}  # type: ignore[dict-item]
    for attribute, rule in ATTRIBUTES[type(step)].items():
        value = getattr(step, attribute, None)
        if value is None and rule.optional:
            continue
        wanted = tuple(lengths.get(letter) for letter in rule.shape)
        numbers = check_numbers(name, attribute, value, wanted, kinds="biuf")
        lengths |= dict(zip(rule.shape, numbers.shape, strict=True))
        if rule.positive and not (numbers > 0).all():
            raise ValueError(f"{name}: {attribute} must be above 0, because it is divided by: {ADVICE}.")


def _function_transformer(step: FunctionTransformer) -> None:
    if step.func is not None or step.inverse_func is not None:
        raise ValueError("FunctionTransformer: func and inverse_func must be None: a model file holds no functions.")
    check_attributes(step)


def _linear_classifier(step) -> None:
    """``coef_`` has a row for each class; one for two classes."""
    name = type(step).__name__
    check_attributes(step)
    check_classes(name, step.classes_, at_least=2)
    if len(step.coef_) != (1 if len(step.classes_) == 2 else len(step.classes_)):
        raise ValueError(f"{name}: coef_ must have a row for each class: {ADVICE}.")


def _linear_svm(step: LinearSVC) -> None:
    """As a linear classifier; without an intercept, ``intercept_`` is the number 0."""
    _linear_classifier(step)
    if not (np.ndim(step.intercept_) == 0 and step.intercept_ == 0):
        check_numbers("LinearSVC", "intercept_", step.intercept_, (len(step.coef_),), kinds="biuf")


def _learner(learner: MetricLearner) -> None:
    name = type(learner).__name__
    L = check_numbers(name, "components_", learner.components_, (None, None))
    if L.dtype != np.float64 or not L.size:
        raise ValueError(f"{name}: components_ must be numbers in float64, and some: {ADVICE}.")
    check_features(name, learner, L.shape[1])
    prototypes = getattr(learner, "prototypes_", None)
    if prototypes is not None:
        check_numbers(name, "prototypes_", prototypes, (None, L.shape[1]))
        check_shape(name, "prototype_labels_", getattr(learner, "prototype_labels_", None), (len(prototypes),))


def _voting_classifier(model: VotingClassifier) -> None:
    model.validate()
    check_classes(type(model).__name__, model.classes_, at_least=2)  # a single class would be certified for ever


def _encoder(encoder: TableEncoder) -> None:
    columns, medians, categories = encoder.columns_, encoder.medians_, encoder.categories_
    if not (isinstance(columns, list) and isinstance(medians, dict) and isinstance(categories, dict)):
        raise ValueError(f"TableEncoder: columns_ must be a list, medians_ and categories_ dicts: {ADVICE}.")
    for reading in (encoder.reading, encoder.how_read):
        if reading is not None:
            _reading(reading, columns)
    words = [*columns, *(value for values in categories.values() for value in values)]
    if not all(isinstance(word, str) for word in words) or len(set(columns)) < len(columns):
        raise ValueError(f"TableEncoder: columns_ and categories_ must be words, no column twice: {ADVICE}.")
    if set(medians) & set(categories) or set(columns) != set(medians) | set(categories):
        raise ValueError(f"TableEncoder: each of columns_ must be in medians_ or else in categories_: {ADVICE}.")
    wrong = [v for v in medians.values() if not isinstance(v, Real) or isinstance(v, bool) or not isfinite(v)]
    if wrong:
        raise ValueError(f"TableEncoder: medians_ must be finite numbers; got {short(wrong[0])}: {ADVICE}.")
    for values in categories.values():
        if not isinstance(values, list) or not values or len(set(values)) < len(values):
            raise ValueError(f"TableEncoder: categories_ must be lists of words, none twice: {ADVICE}.")
    names, frozen = [], []
    for column in columns:
        names += [f"{column}={value}" for value in categories[column]] if column in categories else [column]
        frozen += [True] * len(categories[column]) if column in categories else [False]
    check_features("TableEncoder", encoder, len(columns))
    if encoder.feature_names_ != names:
        raise ValueError(f"TableEncoder: feature_names_ must be those of columns_ and categories_: {ADVICE}.")
    if len(set(names)) < len(names):
        raise ValueError("TableEncoder: a column and a category of another have one name: rename it, and fit again.")
    check_shape("TableEncoder", "frozen_", encoder.frozen_, (len(names),))
    if encoder.frozen_.dtype != bool or encoder.frozen_.tolist() != frozen:
        raise ValueError(f"TableEncoder: frozen_ must be true for encoded columns and false for numbers: {ADVICE}.")


def _reading(reading: Reading, columns: list) -> None:
    """How a table was read: every field of its kind, and of columns that are there."""
    try:
        reading.check()
    except (TypeError, AttributeError, ValueError) as wrong:
        raise ValueError(f"TableEncoder: reading_ cannot be used: {str(wrong).rstrip('.')}: {ADVICE}.") from wrong
    if not {*reading.dates, *reading.whole} <= set(columns):
        raise ValueError(f"TableEncoder: reading_ names a column that is not there: {ADVICE}.")


def _random_state(state: np.random.RandomState) -> None:
    # Compiled code reads key[pos] unchecked; a key has 624 words.
    if not 0 <= state.get_state(legacy=False)["state"]["pos"] <= 624:
        raise ValueError("RandomState: its position must be from 0 to 624: give an integer as random_state.")


# (type, check), the first that fits; subclasses too.
CHECKS: list[tuple[type, Callable[..., None]]] = [
    (VotingClassifier, _voting_classifier),
    (MetricLearner, _learner),
    (TableEncoder, _encoder),
    (ColumnTransformer, check_column_transformer),
    (FeatureUnion, check_union),
    (OneHotEncoder, check_encoder),
    (OrdinalEncoder, check_encoder),
    (SimpleImputer, check_imputer),
    (MissingIndicator, check_indicator),
    (FunctionTransformer, _function_transformer),
    (LinearDiscriminantAnalysis, _linear_classifier),
    (LogisticRegression, _linear_classifier),
    (LinearSVC, _linear_svm),
    (LabelEncoder, lambda encoder: check_classes("LabelEncoder", encoder.classes_)),
    (np.random.RandomState, _random_state),
    *((kind, check_attributes) for kind in ATTRIBUTES),
]
