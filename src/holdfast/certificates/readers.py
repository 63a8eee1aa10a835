"""Fitted models as votes: prototypes, centroids, linear classifiers; the registry of all kinds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, RadiusNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.validation import check_is_fitted, validate_data

from holdfast.base.affine import AffineMap
from holdfast.base.fingerprint import Passed, fingerprint
from holdfast.base.inputs import check_classes, refuse_foreign_class, refuse_own_functions, with_names
from holdfast.certificates.chain import Chain
from holdfast.certificates.moves import Moves
from holdfast.certificates.pipelines import Front, chain_of, is_pipeline
from holdfast.certificates.questions import LinearProblem
from holdfast.certificates.scikit_neighbors import read_nearest, read_within, refuse_single_precision
from holdfast.certificates.vote import NeighborVoter, Voter, read_votes_by_distance, votes_by_distance


def read_centroids(model, last: NearestCentroid, steps: Chain, n_features: int, reference) -> NeighborVoter:
    """One voter per class; equally near centroids go to the lowest class."""
    if last.metric != "euclidean":
        raise ValueError(f"NearestCentroid(metric={last.metric!r}) cannot be certified: only metric='euclidean'.")
    if not np.isclose(last.class_prior_, 1 / len(last.classes_)).all():
        raise ValueError(
            "NearestCentroid with unequal priors cannot be certified: only priors='uniform'. Use "
            "LinearDiscriminantAnalysis(priors=...) instead."
        )
    codes = np.arange(len(last.classes_))
    return NeighborVoter(model, steps, last.classes_, n_features, last.centroids_, codes, 1, "lowest")


# Exact types: a subclass may predict in another way.
LINEAR = (
    LogisticRegression, LogisticRegressionCV, LinearSVC, RidgeClassifier, RidgeClassifierCV, SGDClassifier, Perceptron,
    LinearDiscriminantAnalysis, SVC,
)  # fmt: skip
_RUNNERS_UP = 5  # classes a row is walked towards
_LINEAR_PASSED = Passed()


@dataclass(frozen=True)
class LinearVoter(Voter):
    """The class of the largest score; the space of the vote is that of the scores."""

    def problem(self, map_: AffineMap, moves: Moves) -> LinearProblem:
        """The vote, for inputs that ``map_`` takes to scores."""
        return LinearProblem(
            T=map_.W, moves=moves, absolute=map_.absolute, cancellation=map_.cancellation, n_steps=map_.n_steps,
            n_terms=map_.n_terms,
        )  # fmt: skip

    def opponents(self, queries: np.ndarray, codes: np.ndarray, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Scores with another class a little ahead: the runners-up one after the other."""
        rows = np.arange(len(queries))
        order = np.argsort(-queries, axis=1, kind="stable")
        for rank in range(min(_RUNNERS_UP + 1, queries.shape[1])):
            rival = order[:, rank]
            place = queries.copy()
            place[rows, rival] += 1.01 * (queries[rows, codes] - queries[rows, rival])
            place[rival == codes] = np.nan
            yield place


def read_linear(model, last, steps: Chain, n_features: int, reference) -> LinearVoter:
    """The scores of a linear classifier, checked against its ``decision_function``."""
    if isinstance(last, SVC) and last.kernel != "linear":
        raise TypeError(f"SVC(kernel={last.kernel!r}) cannot be certified: only kernel='linear'.")
    classes = np.asarray(last.classes_)
    if isinstance(last, SVC) and len(classes) > 2:
        raise TypeError(
            f"SVC(kernel='linear') with {len(classes)} classes lets pairs of classes vote and cannot be certified: use "
            "LinearSVC or LogisticRegression, which compare one score per class."
        )
    weights = last.coef_.toarray() if hasattr(last.coef_, "toarray") else last.coef_  # sparse after sparsify()
    W = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    b = np.broadcast_to(np.asarray(last.intercept_, dtype=np.float64), len(W))
    # libsvm sums over support vectors: the rounding depends on their magnitudes and number, not on those of the sum.
    absolute, n_terms = np.abs(W), W.shape[1]
    if isinstance(last, SVC):
        absolute, n_terms = np.abs(last.dual_coef_) @ np.abs(last.support_vectors_), sum(last.support_vectors_.shape)
    _check_scores(last, W, b, absolute)
    if len(W) == 1 and len(classes) == 2:  # one score: the second class where it is positive
        W, b = np.vstack([np.zeros_like(W), W]), np.append(0.0, b)
        absolute = np.vstack([np.zeros_like(absolute), absolute])
    if len(W) != len(classes):
        raise TypeError(f"{type(last).__name__} with {len(W)} scores for {len(classes)} classes cannot be certified.")
    scores = AffineMap(W, b, absolute, np.abs(b), 1, n_terms)
    return LinearVoter(model, steps.then(scores), classes, n_features)


def _check_scores(last, W: np.ndarray, b: np.ndarray, absolute: np.ndarray) -> None:
    """Refuse a classifier whose ``decision_function`` is not ``X @ coef_.T + intercept_``; once for each state."""
    digest = fingerprint(last)
    if digest in _LINEAR_PASSED:
        return
    reach = np.linalg.norm(W, axis=0)
    unit, at = np.divide(1.0, reach, out=np.ones_like(reach), where=reach > 0), np.arange(len(reach))
    probe = np.zeros((3, len(reach)))
    probe[1], probe[2] = (3.0 * at / max(len(reach) - 1, 1) - 1.0) * unit, 1e3 * np.cos(at) * unit
    named = with_names(probe, last)
    actual = np.asarray(last.decision_function(named), dtype=np.float64).reshape(len(probe), -1)
    # Of the known types only these take several outputs; a model without a fingerprint is checked as well.
    if (digest is None or isinstance(last, RidgeClassifier | RidgeClassifierCV)) and np.ndim(last.predict(named)) != 1:
        raise TypeError(f"{type(last).__name__} with several outputs cannot be certified: fit one model for each.")
    size = np.abs(probe) @ absolute.T + np.abs(b)
    if actual.shape != size.shape or not (np.abs(actual - probe @ W.T - b) <= 1e-9 * size).all():
        raise TypeError(
            f"{type(last).__name__} cannot be certified: its decision_function is not X @ coef_.T + intercept_."
        )
    _LINEAR_PASSED.add(digest)


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
    if isinstance(model, type):
        name = model.__name__
        raise TypeError(f"{name} is a class, not a fitted model: certify({name}(...).fit(X_train, y_train), ...).")
    asked, model = model, inner_model(model)
    *steps, last = _steps(model)
    check_is_fitted(last)
    n_columns = int(getattr(model, "n_features_in_", last.n_features_in_))
    for accepts, read in READERS:
        if accepts(last):
            if hasattr(last, "classes_"):  # codes of answers are found there by bisection
                check_classes(type(last).__name__, np.asarray(last.classes_))
            encoding, chain = chain_of(steps, n_columns, getattr(model, "feature_names_in_", None))
            front = Front(model, steps, encoding, chain)
            if reference is not None and not front.encoding.keeps_rows:
                refuse_single_precision("reference", reference[0])
                reference = front.encode(reference[0], "reference"), reference[1]
            elif reference is not None and hasattr(model, "n_features_in_"):  # by name and order, as predict does
                validate_data(model, reference[0], reset=False, skip_check_array=True)
            voter = replace(read(model, last, chain, front.encoding.size, reference), front=front, model=asked)
            if isinstance(voter, NeighborVoter):
                voter = replace(voter, chain=voter.chain.for_points(voter.points))
            return voter
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


def _steps(model) -> list:
    if is_pipeline(model):
        return [step for _, step in model.steps[:-1]] + _steps(inner_model(model.steps[-1][1]))
    return [model]
