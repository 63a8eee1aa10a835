"""k nearest neighbours under a learned metric, with certificates."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from holdfast.base.collections import by_blocks, gathered
from holdfast.base.neighbors import nearest
from holdfast.certificates.problems.neighbors import tallies, winners
from holdfast.models.base import VotingClassifier
from holdfast.models.checks import check_n_neighbors
from holdfast.models.pruning import prune
from holdfast.numerics.frames import plain_labels
from holdfast.parameters import check_count, check_number


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
