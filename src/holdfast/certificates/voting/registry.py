"""The kinds of models that can be certified; a new kind is one file in this folder and one line here."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegressionCV, RidgeClassifierCV
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, RadiusNeighborsClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from holdfast.certificates.folding import Front, fold
from holdfast.certificates.folding.normalizer import left_out
from holdfast.certificates.folding.steps import is_pipeline
from holdfast.certificates.voting.base import Voter
from holdfast.certificates.voting.centroids import read_centroids
from holdfast.certificates.voting.linear import LINEAR, read_linear
from holdfast.certificates.voting.neighbors import (
    NeighborVoter,
    read_votes_by_distance,
    votes_by_distance,
)
from holdfast.certificates.voting.reference import refuse_single_precision
from holdfast.certificates.voting.scikit_learn import read_nearest, read_within
from holdfast.numerics.own_functions import refuse_foreign_class, refuse_own_functions

# (is the fitted classifier of this kind?, its reader); the first that accepts it is used.
READERS: list[tuple[Callable[..., bool], Callable[..., Voter]]] = [
    (votes_by_distance, read_votes_by_distance),
    (lambda last: type(last) in (KNeighborsClassifier,), read_nearest),
    (lambda last: type(last) in (RadiusNeighborsClassifier,), read_within),
    (lambda last: type(last) in (NearestCentroid,), read_centroids),
    (lambda last: type(last) in LINEAR, read_linear),
]


def voter_for(model, reference=None) -> Voter:
    """The model as a vote, or an error that lists what can be certified.

    Parameters
    ----------
    model : fitted classifier or pipeline
    reference : tuple (X_train, y_train) or None
        The rows it was fitted on, where the classifier does not give them.
    """
    asked, model = model, inner_model(model)
    *steps, last = _steps(model)
    check_is_fitted(last)
    n_columns = int(getattr(model, "n_features_in_", last.n_features_in_))
    for accepts, read in READERS:
        if accepts(last):
            _check_order(last)
            chain = fold(steps, n_columns, getattr(model, "feature_names_in_", None))
            front = Front(model, steps, chain)
            if reference is not None and not front.encoding.keeps_rows:
                refuse_single_precision("reference", reference[0])
                reference = front.encode(reference[0], "reference"), reference[1]
            elif reference is not None and hasattr(model, "n_features_in_"):  # by name and order, as predict does
                validate_data(model, reference[0], reset=False, skip_check_array=True)
            voter = replace(read(model, last, chain, front.encoding.size, reference), front=front, model=asked)
            return (
                replace(voter, fold=left_out(voter.fold, voter.points)) if isinstance(voter, NeighborVoter) else voter
            )
    raise TypeError(
        f"{type(last).__name__} cannot be certified. What can: CertifiedKNeighborsClassifier, "
        "CertifiedPrototypeClassifier, scikit-learn's KNeighborsClassifier, RadiusNeighborsClassifier, "
        "NearestCentroid, linear classifiers (LogisticRegression, LinearSVC, RidgeClassifier, SGDClassifier, "
        "LinearDiscriminantAnalysis, Perceptron, SVC(kernel='linear') of two classes), and pipelines "
        "that end in one of these."
    )


def neighbor_voter_for(model, reference=None) -> NeighborVoter:
    """The voter of :func:`voter_for`, if points vote: for margins and poisoned labels."""
    voter = voter_for(model, reference)
    if not isinstance(voter, NeighborVoter):
        raise TypeError(
            f"{type(voter.model).__name__} has no nearest neighbours that count alike (weights='uniform', the "
            "Euclidean or a Mahalanobis distance)."
        )
    return voter


def inner_model(model):
    """The model that predicts: the best one of a search, the one inside a ``FrozenEstimator`` (Lemma X0)."""
    refuse_own_functions(model)
    if isinstance(model, FrozenEstimator):
        refuse_foreign_class(model, "model.estimator")
        return inner_model(model.estimator)
    if hasattr(model, "cv_results_") and not isinstance(model, LogisticRegressionCV | RidgeClassifierCV):
        if not hasattr(model, "best_estimator_"):
            raise ValueError(
                f"{type(model).__name__} has no best_estimator_: set refit=True, or certify a model that was fitted "
                "with best_params_."
            )
        refuse_foreign_class(model, "model.best_estimator_")
        return inner_model(model.best_estimator_)
    return model


def _check_order(last) -> None:
    """Refuse classes that were renamed after fit: codes of answers are found in ``classes_`` by bisection."""
    classes = getattr(last, "classes_", None)
    if isinstance(classes, np.ndarray) and classes.ndim == 1 and (classes[1:] <= classes[:-1]).any():
        raise ValueError(
            f"classes_ of {type(last).__name__} is not in increasing order, as fit leaves it: "
            f"{', '.join(map(repr, classes[:10].tolist()))}. Fit the model again, with the new labels."
        )


def _steps(model) -> list:
    if is_pipeline(model):
        return [step for _, step in model.steps[:-1]] + _steps(inner_model(model.steps[-1][1]))
    return [model]
