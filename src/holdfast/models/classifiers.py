"""Classifiers by nearest neighbours and by prototypes, under a metric learned with them."""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from holdfast.base.collections import by_blocks, gathered, is_dask
from holdfast.base.inputs import (
    ADVICE,
    all_finite,
    check_classes,
    check_codes,
    check_count,
    check_features,
    check_n_neighbors,
    check_number,
    check_numbers,
    plain_labels,
    with_names,
)
from holdfast.base.neighbors import nearest
from holdfast.certificates.api import certify
from holdfast.certificates.questions import tallies, winners
from holdfast.learn.wrappers import Euclidean
from holdfast.models.pruning import prune


class VotingClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A vote of the nearest among ``reference_``, under the metric of ``learner_``. Equal votes go to the tied class
    with the nearest neighbour; of equally near points the first counts as nearer.
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
        """Raise ``ValueError`` unless shapes, ranges and counts of the fitted attributes agree: compiled code relies on
        it, so ``predict``, ``predict_proba``, ``certify``, ``save`` and ``load`` call it first.
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


class CertifiedKNeighborsClassifier(VotingClassifier):
    """k nearest neighbours under a learned metric, each prediction with a certificate.

    ``ŷ(x) = argmax_c #{j among the k nearest : y_j = c}``, distances ``‖L(x − x_j)‖``. Equal votes go to the
    tied class with the nearest neighbour (scikit-learn gives them to the first class); of equally near
    points the one that comes first in the training data counts as nearer.

    Parameters
    ----------
    learner : transformer with ``components_`` or None, default=None
        Where the metric comes from: an unfitted learner is cloned and fitted to the data, a fitted one is
        taken as it is. None is the Euclidean distance.
    n_neighbors : int, default=3
    n_jobs : int or None, default=None
        Threads.
    prune : float, default=0.0
        Drop the fewest training rows so that no two rows of different classes are within this margin of each other,
        ``d²_M(j, l) / (2 ‖M(x_l − x_j)‖₂) ≤ prune``, in the units of X; see :func:`~holdfast.models.pruning.prune`.
        The kept rows are then certified at it for one neighbour. Small values smooth the vote and let it certify
        more; choose it by certified accuracy, as :class:`~holdfast.RobustClassifierCV` does. 0 keeps every row.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    learner_ : the fitted learner
    components_ : ndarray of shape (n_components, n_features)
        L.
    reference_, reference_codes_ : ndarrays
        The training points that vote, and the index of each one's class in ``classes_``.
    kept_ : int ndarray
        Their indices among the training rows; the other rows were pruned.
    n_pruned_ : int
        The number of rows that were pruned.

    References
    ----------
    Yang, Rashtchian, Wang and Chaudhuri, "Robustness for non-parametric classification: a generic attack and defense",
    AISTATS 2020: adversarial pruning, under the Euclidean distance.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import LMNN, CertifiedKNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = CertifiedKNeighborsClassifier(LMNN(), n_neighbors=3).fit(X[::2], y[::2])
    >>> certificate = clf.certify(X[1:4])
    >>> bool((certificate.radius > 0).all() and (certificate.radius <= certificate.upper).all())
    True
    """

    prune: float = 0.0  # for models that were saved before the parameter existed

    def __init__(self, learner=None, n_neighbors: int = 3, n_jobs: int | None = None, prune: float = 0.0):
        self.learner = learner
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs
        self.prune = prune

    def fit(self, X, y):
        """Fit the learner, and remember the points.

        With a Dask collection the learner is fitted on the workers; then the rows are loaded into this process, at most
        2 GB of them, because a vote of neighbours needs all of them.
        """
        y = plain_labels(y)
        source = X, y
        X, y = validate_data(self, *gathered(X, y, type(self).__name__), dtype=np.float64)
        check_classification_targets(y)
        check_count(type(self).__name__, "n_neighbors", self.n_neighbors)
        check_number(type(self).__name__, "prune", self.prune, at_least=0)
        if self.n_neighbors > X.shape[0]:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is more than the training rows (n_samples={X.shape[0]}): "
                "lower n_neighbors, or bring more data."
            )
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.components_ = self._fit_learner(X, y, source)
        self.kept_ = prune(X, codes, self.components_, self.prune)
        self.n_pruned_ = len(X) - len(self.kept_)
        if self.n_neighbors > len(self.kept_):
            raise ValueError(
                f"prune={self.prune:g} leaves {len(self.kept_)} of {len(X)} training rows, fewer than n_neighbors="
                f"{self.n_neighbors}: lower one of them."
            )
        self.reference_ = X[self.kept_] if self.n_pruned_ else X
        self.reference_codes_ = codes[self.kept_]
        return self

    @by_blocks
    def predict_proba(self, X) -> np.ndarray:
        """The share of each class among the k nearest, in the order of ``classes_``.

        Where votes are equal, the class that wins the tie is ahead by a billionth, so that the largest
        share is always that of the prediction.
        """
        codes, C = self._nearest_codes(X), len(self.classes_)
        tally = tallies(codes, C).astype(np.float64)
        tied = (tally == tally.max(axis=1, keepdims=True)).sum(axis=1) > 1
        tally[np.arange(len(codes)), winners(codes, C)] += np.where(tied, 1e-9, 0.0)
        return tally / tally.sum(axis=1, keepdims=True)

    def kneighbors(self, X, n_neighbors: int | None = None, return_distance: bool = True):
        """The nearest training points of each row, nearest first: those that vote.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        n_neighbors : int or None, default=None
            How many; None is the number that votes.
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of shape (n_rows, n_neighbors)
            ``‖L(x − x_j)‖``; only with ``return_distance``.
        indices : int ndarray of shape (n_rows, n_neighbors)
            Rows of ``reference_``.
        """
        self.validate()
        k = self.voters_per_row() if n_neighbors is None else n_neighbors
        check_n_neighbors(type(self).__name__, k, len(self.reference_))
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        points, queries = self.reference_ @ self.components_.T, rows @ self.components_.T
        indices = nearest(points, queries, int(k), self.n_jobs)
        if not return_distance:
            return indices
        columns = [np.linalg.norm(queries - points[column], axis=1) for column in indices.T]
        return np.column_stack(columns), indices

    def voters_per_row(self) -> int:
        """k: how many of the nearest reference points vote."""
        return self.n_neighbors


class CertifiedPrototypeClassifier(VotingClassifier):
    """The class of the nearest prototype under a learned metric, each prediction with an exact certificate.

    Parameters
    ----------
    learner : learner with ``components_`` and, after fit, ``prototypes_`` and ``prototype_labels_``
        Such as :class:`~holdfast.ProxyNCA`. An unfitted one is cloned and fitted; a fitted one is taken as
        it is. A learner without prototypes, and None (the Euclidean distance), get class means.
    n_jobs : int or None, default=None
        Threads.

    Attributes
    ----------
    classes_, learner_, components_
        As for :class:`CertifiedKNeighborsClassifier`.
    reference_, reference_codes_ : ndarrays
        The prototypes, and the index of each one's class in ``classes_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import CertifiedPrototypeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(CertifiedPrototypeClassifier().fit(X, y).score(X, y) > 0.9)
    True
    """

    def __init__(self, learner=None, n_jobs: int | None = None):
        self.learner = learner
        self.n_jobs = n_jobs

    def fit(self, X, y):
        """Fit the learner, and take its prototypes.

        The rows of a Dask collection stay where they are.
        """
        y = plain_labels(y)
        source = X, y
        if is_dask(X):
            from holdfast.learn.dask import class_means

            X, y = class_means(X, y)
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.components_ = self._fit_learner(X, y, source)
        prototypes = getattr(self.learner_, "prototypes_", None)
        if prototypes is None:
            self.reference_ = np.array([X[codes == c].mean(axis=0) for c in range(len(self.classes_))])
            self.reference_codes_ = np.arange(len(self.classes_))
            return self
        labels = np.asarray(self.learner_.prototype_labels_)
        unknown = set(labels.tolist()) - set(self.classes_.tolist())
        if unknown:
            raise ValueError(f"The learner's prototypes have labels that y lacks: {sorted(map(str, unknown))}.")
        self.reference_ = np.asarray(prototypes, dtype=np.float64)
        self.reference_codes_ = np.searchsorted(self.classes_, labels)
        return self

    def voters_per_row(self) -> int:
        """k: how many of the nearest reference points vote."""
        return 1
