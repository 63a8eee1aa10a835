"""The kinds of models that can be certified; a new kind is one file in this folder and one line here."""

from collections.abc import Callable

from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from holdfast.certificates.folding import fold
from holdfast.certificates.voting.base import Voter
from holdfast.certificates.voting.centroids import read_centroids
from holdfast.certificates.voting.linear import LINEAR, read_linear
from holdfast.certificates.voting.neighbors import (
    NeighborVoter,
    VotesByDistance,
    read_scikit_learn,
    read_votes_by_distance,
)

# (is the fitted classifier of this kind?, its reader); the first that accepts it is used.
READERS: list[tuple[Callable[..., bool], Callable[..., Voter]]] = [
    (lambda last: isinstance(last, VotesByDistance), read_votes_by_distance),
    (lambda last: type(last) in (KNeighborsClassifier,), read_scikit_learn),
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
    *steps, last = _steps(model)
    check_is_fitted(last)
    n_features = int(getattr(model, "n_features_in_", last.n_features_in_))
    for accepts, read in READERS:
        if accepts(last):
            return read(model, last, fold(steps, n_features), n_features, reference)
    raise TypeError(
        f"{type(last).__name__} cannot be certified. What can: CertifiedKNeighborsClassifier, "
        "CertifiedPrototypeClassifier, scikit-learn's KNeighborsClassifier with reference=(X_train, y_train), "
        "NearestCentroid, linear classifiers (LogisticRegression, LinearSVC, RidgeClassifier, SGDClassifier, "
        "LinearDiscriminantAnalysis, Perceptron, SVC(kernel='linear') of two classes), and pipelines of affine steps "
        "that end in one of these."
    )


def neighbor_voter_for(model, reference=None) -> NeighborVoter:
    """The voter of :func:`voter_for`, if points vote: for margins and poisoned labels."""
    voter = voter_for(model, reference)
    if not isinstance(voter, NeighborVoter):
        raise TypeError(f"{type(voter.model).__name__} has no neighbours that vote.")
    return voter


def _steps(model) -> list:
    if isinstance(model, Pipeline):
        return [step for _, step in model.steps[:-1]] + _steps(model.steps[-1][1])
    return [model]
