"""Base class: a vote of the nearest reference points under a learned metric."""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

from holdfast.base.collections import by_blocks, is_dask
from holdfast.base.neighbors import nearest
from holdfast.certificates.certify import certify
from holdfast.certificates.problems.neighbors import winners
from holdfast.learn.wrappers import Euclidean
from holdfast.models.checks import (
    ADVICE,
    all_finite,
    check_classes,
    check_codes,
    check_features,
    check_n_neighbors,
    check_numbers,
)
from holdfast.numerics.frames import with_names


class VotingClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A vote of the nearest among ``reference_``, under the metric of ``learner_``.

    Equal votes go to the tied class with the nearest neighbour; of equally near points the one that
    comes first counts as nearer.
    """

    @by_blocks
    def predict(self, X) -> np.ndarray:
        """The class that wins the vote, for each row."""
        codes = self._nearest_codes(X)
        return self.classes_[winners(codes, len(self.classes_))]

    _vote = predict  # certify refuses a subclass with another predict

    def certify(self, X, y=None, **options):
        """Certify the predictions of rows; see :func:`holdfast.certify`."""
        return certify(self, X, y, **options)

    @abstractmethod
    def voters_per_row(self) -> int:
        """k: how many of the nearest reference points vote."""

    def validate(self) -> None:
        """Raise ``ValueError`` unless shapes, ranges and counts of the fitted attributes agree.

        Compiled code relies on it: ``predict``, ``predict_proba``, ``certify``, ``save`` and ``load`` call it first.
        It reads the arrays once, a small part of what mapping the points under the metric costs.
        """
        name = type(self).__name__
        needed = ("components_", "reference_", "reference_codes_", "classes_", "n_jobs")
        missing = [attribute for attribute in needed if not hasattr(self, attribute)]
        if missing:
            check_is_fitted(self)
            raise ValueError(f"{name}: {missing[0]} is missing: {ADVICE}.")
        p = check_numbers(name, "components_", self.components_, (None, None)).shape[1]
        check_numbers(name, "reference_", self.reference_, (None, p))
        if self.reference_.dtype != np.float64 or self.components_.dtype != np.float64 or not self.components_.size:
            raise ValueError(f"{name}: reference_ and components_ must be numbers in float64, and some: {ADVICE}.")
        check_features(name, self, p)
        check_classes(name, self.classes_)
        n = len(self.reference_)
        check_codes(name, "reference_codes_", self.reference_codes_, n, len(self.classes_))
        check_n_neighbors(name, self.voters_per_row(), n)

    def _nearest_codes(self, X) -> np.ndarray:
        """Class codes of the k nearest reference points of each row, nearest first."""
        self.validate()
        X = validate_data(self, X, dtype=np.float64, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            points, queries = self.reference_ @ self.components_.T, X @ self.components_.T
        if not (all_finite(points) and all_finite(queries)):
            raise ValueError(
                f"{type(self).__name__}: rows are not finite under the metric: scale the features to ordinary "
                "sizes before they are learned from, and fit the model again."
            )
        return self.reference_codes_[nearest(points, queries, self.voters_per_row(), self.n_jobs)]

    def _fit_learner(self, X: np.ndarray, y: np.ndarray, source: tuple) -> np.ndarray:
        """``learner_``, fitted on the data unless it already is; its L. The source is the data as it was given."""
        learner = Euclidean() if self.learner is None else self.learner
        if not hasattr(learner, "transform"):
            raise ValueError(
                "learner must be None or a linear transformer with components_, such as holdfast.LMNN(); "
                f"got {learner!r}."
            )
        try:
            check_is_fitted(learner)
            self.learner_ = learner
        except NotFittedError:
            self.learner_ = clone(learner).fit(*(source if is_dask(source[0]) else (X, y)))
        L = getattr(self.learner_, "components_", None)
        if L is None:
            raise ValueError(
                f"{type(learner).__name__} has no components_ after fit: only linear transformers, with "
                "transform(X) = X @ components_.T, can be certified. Put other steps before it in a pipeline."
            )
        L = np.atleast_2d(np.asarray(L, dtype=np.float64))
        if L.shape[1] != X.shape[1]:
            raise ValueError(f"learner was fitted on {L.shape[1]} features, but X has {X.shape[1]}.")
        rows = X[:5]
        if not np.allclose(
            np.asarray(self.learner_.transform(with_names(rows, self.learner_))), rows @ L.T, 1e-6, 1e-9
        ):
            raise ValueError(
                f"{type(learner).__name__}.transform is not X @ components_.T (it centres, perhaps). Put it "
                "before this classifier in a pipeline instead."
            )
        return L
