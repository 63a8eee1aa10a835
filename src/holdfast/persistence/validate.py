"""Check that a loaded model can be used: every part is valid, and the pipeline takes a row."""

import warnings
from collections.abc import Iterator
from inspect import signature
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, OrdinalEncoder
from sklearn.utils.validation import check_is_fitted

from holdfast.certificates.folding import fold
from holdfast.datasets.dates import day_as_date
from holdfast.datasets.encoder import TableEncoder
from holdfast.models.base import VotingClassifier
from holdfast.models.checks import ADVICE, short
from holdfast.numerics.frames import with_names
from holdfast.persistence.fitted import CHECKS
from holdfast.persistence.neighbors import refit

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
        raise ValueError(f"it is no estimator but {short(model)}.")
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
        encoding = fold(steps[:-1], step.n_features_in_, getattr(step, "feature_names_in_", None)).encoding
        assert encoding is not None
        row = np.zeros((1, encoding.size))
        row[0, [at[0] for at in encoding.indicators.values()]] = 1.0
        return encoding.decode(row)
    if isinstance(step, TableEncoder):
        known = {**step.medians_, **{name: found[0] for name, found in step.categories_.items()}}
        dates = [name for name in getattr(step, "dates", ()) if name in step.medians_]
        known |= {name: day_as_date(np.floor(step.medians_[name])) for name in dates}
        return np.array([[known[name] for name in step.columns_]], dtype=object)
    return with_names(np.zeros((1, step.n_features_in_)), step)
