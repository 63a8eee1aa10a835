"""What fitted objects in a model file must look like before they are used."""

import warnings
from collections.abc import Callable, Iterator
from inspect import signature
from math import isfinite
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import FeatureUnion, Pipeline
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
from sklearn.utils.validation import check_is_fitted

from holdfast.base.inputs import (
    ADVICE,
    check_classes,
    check_codes,
    check_features,
    check_n_neighbors,
    check_numbers,
    check_shape,
    short,
    with_names,
)
from holdfast.certificates.columns import as_column, as_rows, key
from holdfast.certificates.pipelines import chain_of, column_numbers
from holdfast.datasets.columns import Reading, day_as_date
from holdfast.datasets.encoder import TableEncoder
from holdfast.files.archive import ModelFileError
from holdfast.learn.learner import MetricLearner
from holdfast.models.classifiers import VotingClassifier

_MAX_DEPTH = 200  # of nested nodes; a pipeline of a classifier of a learner of a learner has 30
_TREES = {"sklearn.neighbors._kd_tree.KDTree", "sklearn.neighbors._ball_tree.BallTree"}
_NOTHING = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "null"}


def check_schema(name: str, schema, members: set[str]) -> set[str]:
    """Refuse a schema that would unpack to more than what is stored.

    A node that was met before, by its id, must say the same again: what skops builds is then no larger than what is
    written. An array may be named under one id only: it is then read once.

    Parameters
    ----------
    name : str
        Of the file.
    schema : dict
        As read from JSON.
    members : set of str
        Members of the archive.

    Returns
    -------
    set of str
        The arrays that it names.
    """
    _check_depth(name, schema)
    seen: dict[int, object] = {}
    owners: dict[str, int] = {}
    waiting = [(schema, _without_numbers(schema))]
    while waiting:
        node, content = waiting.pop()
        if isinstance(node, list):
            waiting += zip(node, content, strict=True)
        if not isinstance(node, dict):
            continue
        if "__loader__" in node:
            id_ = node.get("__id__")
            if id_ is not None and (not isinstance(id_, int) or seen.setdefault(id_, content) != content):
                raise ModelFileError(f"{name} is damaged: two parts of it have the same number.")
            if "file" in node and (
                not id_
                or not str(node["file"]).endswith(".npy")
                or node["file"] not in members
                or owners.setdefault(node["file"], id_) != id_
            ):
                raise ModelFileError(f"{name} is damaged: it names an array that is not there, or one twice.")
        waiting += [(child, content[key]) for key, child in node.items() if key in content]
    return set(owners)


def _check_depth(name: str, schema) -> None:
    waiting = [(schema, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _MAX_DEPTH:
            raise ModelFileError(f"{name} is nested more deeply than any model: it was not opened.")
        children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        waiting += [(child, depth + 1) for child in children]


def _without_numbers(node):
    """A copy without ids and names of arrays: skops writes a shared object in full each time, but numbers it anew."""
    if isinstance(node, dict):
        return {key: _without_numbers(child) for key, child in node.items() if key not in ("__id__", "file")}
    return [_without_numbers(child) for child in node] if isinstance(node, list) else node


def drop_trees(schema) -> int:
    """Replace scikit-learn's search trees by None, in place; they are built again from the rows.

    Their compiled code trusts the indices in them.

    Returns
    -------
    int
        How many there were.
    """
    dropped = 0
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        for name, child in list(node.items() if isinstance(node, dict) else enumerate(node)):
            if isinstance(child, dict) and f"{child.get('__module__')}.{child.get('__class__')}" in _TREES:
                node[name] = _NOTHING
                dropped += 1
            elif isinstance(child, (dict, list)):
                waiting.append(child)
    return dropped


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


_TABLES = (ColumnTransformer, FeatureUnion, OneHotEncoder, OrdinalEncoder, SimpleImputer)  # take words or gaps
_MAX_JOBS = 1024  # threads; scikit-learn would cut its work into as many pieces


def validate_model(model, rebuild: bool = False) -> None:
    """Raise ``ValueError``, in one sentence, unless the model can be used.

    Parameters
    ----------
    model : estimator
    rebuild : bool
        Whether to replace scikit-learn's neighbours by ones fitted again from their own rows, as a file's must be.
    """
    try:
        _validate(model, rebuild)
    except (ValueError, MemoryError):
        raise
    except Exception as broken:  # an attribute of an unexpected kind, anywhere
        message = " ".join(str(broken)[:200].split())
        raise ValueError(f"{type(model).__name__} is incomplete: {type(broken).__name__}, {message}.") from broken


def _validate(model, rebuild: bool) -> None:
    if not isinstance(model, BaseEstimator):
        raise ValueError(f"only estimators of scikit-learn can be in a model file, not {short(model)}.")
    parts = list(_parts(model))
    for part in parts:
        if isinstance(part, BaseEstimator):
            _check_names(part)
    steps = list(_steps(model))
    for step in steps:
        check_is_fitted(step)
    for part in parts:
        if isinstance(part, BaseEstimator) and not (part in steps or _has_been_fitted(part)):
            continue  # a parameter, to be fitted
        if isinstance(part, KNeighborsClassifier):
            again = refit(part)
            if rebuild:
                vars(part).update(vars(again))
        for kind, check in CHECKS:
            if isinstance(part, kind):
                check(part)
                break
    _pass_a_row(steps)


def _steps(model) -> Iterator[BaseEstimator]:
    """The fitted steps of nested pipelines, in the order in which rows pass."""
    if not isinstance(model, Pipeline):
        yield model
        return
    if model.memory is not None:
        raise ValueError("Pipeline: memory must be None: its cache is code that fit would run.")
    names = [name for name, _ in model.steps]
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError(f"Pipeline: steps must have names, each its own: {ADVICE}.")
    for place, (_, step) in enumerate(model.steps):
        if (isinstance(step, str) and step == "passthrough") or step is None:
            continue
        if not isinstance(step, BaseEstimator):
            raise ValueError(f"Pipeline: a step must be an estimator; got {short(step)}.")
        if place < len(names) - 1 and not hasattr(step, "transform"):
            raise ValueError(
                f"Pipeline: {type(step).__name__} cannot transform, so it must be the last step: {ADVICE}."
            )
        yield from _steps(step)


def _parts(model) -> Iterator:
    """All estimators and random states in a model, each once."""
    seen, waiting = set(), [model]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, (BaseEstimator, np.random.RandomState)):
            yield part
        if isinstance(part, BaseEstimator):
            waiting += vars(part).values()
        elif isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, (list, tuple, set)):
            waiting += part


def _check_names(part: BaseEstimator) -> None:
    """Refuse attributes that would stand before a method, and numbers of threads that no machine has."""
    parameters = signature(type(part).__init__).parameters
    for name in vars(part):
        if not isinstance(name, str) or (name not in parameters and hasattr(type(part), name)):
            raise ValueError(f"{type(part).__name__}: {short(name)} must not be an attribute: {ADVICE}.")
    jobs = getattr(part, "n_jobs", None)
    whole = isinstance(jobs, Integral) and not isinstance(jobs, bool) and 0 < abs(int(jobs)) <= _MAX_JOBS
    if jobs is not None and not whole:
        raise ValueError(
            f"{type(part).__name__}: n_jobs must be None or an integer up to {_MAX_JOBS}; got {short(jobs)}: "
            "set_params(n_jobs=None)."
        )


def _has_been_fitted(part: BaseEstimator) -> bool:
    return any(name.endswith("_") and not name.startswith("_") for name in vars(part))


def _pass_a_row(steps: list[BaseEstimator]) -> None:
    """Pass a row through the steps: what fails here would fail in ``predict``, with a message that explains less."""
    if not steps or isinstance(steps[0], LabelEncoder):
        return
    rows = _sample_row(steps)
    *before, last = steps
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for step in before:
            rows = step.transform(rows)
        if np.shape(rows) != (1, last.n_features_in_):
            raise ValueError(
                f"{type(last).__name__} takes {last.n_features_in_} features, but is given shape {np.shape(rows)}: "
                f"{ADVICE}."
            )
        if isinstance(last, VotingClassifier):
            return  # its own check has passed, and predict would compile kernels
        if hasattr(last, "predict"):
            last.predict(rows)
        elif hasattr(last, "transform"):
            last.transform(rows)


def _sample_row(steps: list[BaseEstimator]):
    """A row that the steps should take."""
    step = steps[0]
    if isinstance(step, _TABLES):
        encoding, _ = chain_of(steps[:-1], step.n_features_in_, getattr(step, "feature_names_in_", None))
        row = np.zeros((1, encoding.size))
        row[0, [at[0] for at in encoding.indicators.values()]] = 1.0
        return encoding.decode(row)
    if isinstance(step, TableEncoder):
        known = {**step.medians_, **{name: found[0] for name, found in step.categories_.items()}}
        dates = [name for name in getattr(step, "dates", ()) if name in step.medians_]
        known |= {name: day_as_date(np.floor(step.medians_[name])) for name in dates}
        return np.array([[known[name] for name in step.columns_]], dtype=object)
    return with_names(np.zeros((1, step.n_features_in_)), step)


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
