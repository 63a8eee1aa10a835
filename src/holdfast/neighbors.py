"""Classifiers whose predictions can be certified: k nearest neighbours, and nearest prototype."""

import numpy as np
from numba import njit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from holdfast.certificates.problem import NeighborProblem
from holdfast.certificates.votes import tallies, winner
from holdfast.constraints.search import nearest
from holdfast.geometry.shape import _named as named
from holdfast.learners.fixed import Euclidean
from holdfast.parameters import check_count
from holdfast.rows import by_blocks, on_workers, source_of


class _CertifiedClassifier(ClassifierMixin, BaseEstimator):
    """A vote of the nearest among ``reference_``, under the metric of ``learner_``.

    Equal votes go to the tied class with the nearest neighbour; of equally near points the one that
    comes first counts as nearer.
    """

    @by_blocks
    def predict(self, X) -> np.ndarray:
        """The class that wins the vote, for each row."""
        codes = self._nearest_codes(X)
        return self.classes_[_winners(codes, len(self.classes_))]

    def certify(self, X, y=None, **options):
        """How far each row may move before its prediction can change; see :func:`holdfast.certify`."""
        from holdfast.certificates.certify import certify

        return certify(self, X, y, **options)

    def _nearest_codes(self, X) -> np.ndarray:
        """Class codes of the k nearest reference points of each row, nearest first."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        points = self.reference_ @ self.components_.T
        return self.reference_codes_[nearest(points, X @ self.components_.T, self._k(), self.n_jobs)]

    def _problem(self, **settings) -> NeighborProblem:
        """The vote as a problem over the features the classifier sees; settings may say more."""
        settings.setdefault("T", self.components_)
        return NeighborProblem(
            points=self.reference_ @ self.components_.T,
            labels=self.reference_codes_,
            n_neighbors=self._k(),
            n_classes=len(self.classes_),
            ties="nearest",
            **settings,
        )

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
            self.learner_ = clone(learner).fit(*(source if on_workers(source[0]) else (X, y)))
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
        if not np.allclose(np.asarray(self.learner_.transform(named(rows, self.learner_))), rows @ L.T, 1e-6, 1e-9):
            raise ValueError(
                f"{type(learner).__name__}.transform is not X @ components_.T (it centres, perhaps). Put it "
                "before this classifier in a pipeline instead."
            )
        return L


class CertifiedKNeighborsClassifier(_CertifiedClassifier):
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

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    learner_ : the fitted learner
    components_ : ndarray of shape (n_components, n_features)
        L.
    reference_, reference_codes_ : ndarrays
        The training points, and the index of each one's class in ``classes_``.

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

    def __init__(self, learner=None, n_neighbors: int = 3, n_jobs: int | None = None):
        self.learner = learner
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def fit(self, X, y):
        """Fit the learner, and remember the points.

        The learner learns from a Dask collection where its rows are. Then the rows are brought here, up to 2 GB of
        them: wherever neighbours vote, they must be.
        """
        source = X, y
        X, y = validate_data(self, *source_of(X).reference(X, y), dtype=np.float64)
        check_classification_targets(y)
        check_count(type(self).__name__, "n_neighbors", self.n_neighbors)
        if self.n_neighbors > X.shape[0]:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is more than the training rows (n_samples={X.shape[0]}): "
                "lower n_neighbors, or bring more data."
            )
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.components_ = self._fit_learner(X, y, source)
        self.reference_, self.reference_codes_ = X, codes
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
        tally[np.arange(len(codes)), _winners(codes, C)] += np.where(tied, 1e-9, 0.0)
        return tally / tally.sum(axis=1, keepdims=True)

    def _k(self) -> int:
        return self.n_neighbors


class CertifiedPrototypeClassifier(_CertifiedClassifier):
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
        source = X, y
        X, y = validate_data(self, *source_of(X).class_means(X, y), dtype=np.float64)
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

    def _k(self) -> int:
        return 1


@njit(nogil=True, cache=True)
def _winners(codes, n_classes):
    """The winner of each row of class codes, nearest first."""
    k = codes.shape[1]
    out, order = np.empty(codes.shape[0], np.int64), np.arange(k)
    for q in range(codes.shape[0]):
        out[q] = winner(codes[q], order, k, n_classes, False)
    return out
