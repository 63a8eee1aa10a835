"""Linear classifiers: the largest of the scores ``W x + b`` wins."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.svm import SVC, LinearSVC

from holdfast.affine import Affine
from holdfast.certificates.folding import Fold
from holdfast.certificates.moves import Moves
from holdfast.certificates.problems import LinearProblem
from holdfast.certificates.voting.base import Voter
from holdfast.numerics.fingerprint import Passed, fingerprint
from holdfast.numerics.frames import with_names

# Exact types: a subclass may predict in another way.
LINEAR = (
    LogisticRegression, LogisticRegressionCV, LinearSVC, RidgeClassifier, RidgeClassifierCV, SGDClassifier, Perceptron,
    LinearDiscriminantAnalysis, SVC,
)  # fmt: skip
_OPPONENTS = 5  # classes a row is walked towards
_PASSED = Passed()


@dataclass(frozen=True)
class LinearVoter(Voter):
    """The class of the largest score; the space of the vote is that of the scores."""

    def problem(self, map_: Affine, moves: Moves) -> LinearProblem:
        """The vote, for inputs that ``map_`` takes to scores."""
        return LinearProblem(
            T=map_.W, moves=moves, absolute=map_.absolute, cancellation=map_.cancellation, n_steps=map_.n_steps,
            n_terms=map_.n_terms,
        )  # fmt: skip

    def opponents(self, queries: np.ndarray, codes: np.ndarray, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Scores with another class a little ahead: the runners-up one after the other."""
        rows = np.arange(len(queries))
        order = np.argsort(-queries, axis=1, kind="stable")
        for rank in range(min(_OPPONENTS + 1, queries.shape[1])):
            rival = order[:, rank]
            place = queries.copy()
            place[rows, rival] += 1.01 * (queries[rows, codes] - queries[rows, rival])
            place[rival == codes] = np.nan
            yield place


def read_linear(model, last, steps: Fold, n_features: int, reference) -> LinearVoter:
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
    scores = Affine(W, b, absolute, np.abs(b), 1, n_terms)
    return LinearVoter(model, steps.then(scores), classes, n_features)


def _check_scores(last, W: np.ndarray, b: np.ndarray, absolute: np.ndarray) -> None:
    """Refuse a classifier whose ``decision_function`` is not ``X @ coef_.T + intercept_``; once for each state."""
    digest = fingerprint(last)
    if digest in _PASSED:
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
    _PASSED.add(digest)
