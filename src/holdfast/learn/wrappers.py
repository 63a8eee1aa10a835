"""Learners around others, or around none: given metrics, a reduction before a learner, several passes of one."""

import warnings
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from holdfast.base.collections import count_features, refuse_collection
from holdfast.base.inputs import check_count, check_number
from holdfast.learn.learner import MetricLearner, TripletLearner
from holdfast.learn.lmnn import LMNN
from holdfast.learn.margins import linear_part
from holdfast.learn.spaces import check_metric, components_in_any_units, components_of_factor
from holdfast.learn.supervision import Triplets
from holdfast.learn.terms import Perturbation


class FixedMetric(MetricLearner):
    """A metric you already have: ``fit`` checks it against the data and learns nothing.

    Parameters
    ----------
    M : array-like of shape (n_features, n_features) or None
        Symmetric and positive semi-definite; None is the identity.

    Examples
    --------
    >>> from holdfast import FixedMetric
    >>> FixedMetric([[4.0, 0.0], [0.0, 0.0]]).fit([[1.0, 7.0]]).transform([[1.0, 7.0]])
    array([[2.]])
    """

    def __init__(self, M=None):
        self.M = M

    def fit(self, X, y=None):
        """Check M; y is ignored."""
        p = count_features(X, partial(validate_data, self))
        self.components_ = np.eye(p) if self.M is None else components_in_any_units(check_metric(self.M, p))
        return self


class Euclidean(MetricLearner):
    """``M = I``: the Euclidean distance.

    Examples
    --------
    >>> from holdfast import Euclidean
    >>> Euclidean().fit([[1.0, 7.0]]).get_mahalanobis_matrix()
    array([[1., 0.],
           [0., 1.]])
    """

    def fit(self, X, y=None):
        """Count the features; y is ignored."""
        self.components_ = np.eye(count_features(X, partial(validate_data, self)))
        return self


class Reduced(MetricLearner):
    """``M_x = Dᵀ M D``: the metric on the inputs x of a learner fitted on ``z = D x + d``.

    ``fit`` fits the reduction, passes it to the learner's perturbation loss (whose margins are then those of
    the *inputs*, supplement A.1 of the paper), and fits the learner on the reduced data. The result is a
    metric on the inputs: nothing has to be folded in afterwards, neither by ``transform`` nor by a
    certificate. ``make_pipeline(PCA(), LMNN(...))`` gives the same distances, but there the perturbation
    loss measures margins after the PCA.

    Parameters
    ----------
    learner : learner or None, default=None
        None is :class:`~holdfast.LMNN`.
    reduction : transformer or None, default=None
        Affine; None is a PCA that keeps 95 % of the variance.

    Attributes
    ----------
    learner_ : learner
        Fitted on the reduced data.
    reduction_ : transformer
        Fitted on the inputs.
    components_ : ndarray of shape (n_components, n_features)
        L of ``M_x = LᵀL``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the columns passed to ``fit`` have names.

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", supplement A.1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from holdfast import LMNN, Perturbation, Reduced
    >>> X, y = load_digits(return_X_y=True)
    >>> Reduced(LMNN(perturbation=Perturbation(tau=0.1))).fit(X[:300] / 16, y[:300]).n_features_in_
    64
    """

    _needs_labels = True

    def __init__(self, learner=None, reduction=None):
        self.learner = learner
        self.reduction = reduction

    def fit(self, X, y=None):
        """Learn the reduction from X, then the metric from what it makes of X, and y."""
        refuse_collection("Reduced", X)
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        from sklearn.decomposition import PCA  # here, because it brings a quarter of scikit-learn along

        self.reduction_ = PCA(0.95, svd_solver="full") if self.reduction is None else clone(self.reduction)
        Z = np.asarray(self.reduction_.fit_transform(X, y), dtype=np.float64)
        D = linear_part(self.reduction_)
        self.learner_ = LMNN() if self.learner is None else clone(self.learner)
        if isinstance(getattr(self.learner_, "perturbation", None), Perturbation):
            self.learner_.set_params(perturbation__reduction=self.reduction_)
        self.learner_.fit(Z, y)
        self.components_ = components_of_factor(self.learner_.components_ @ D)
        return self


class MultiPass(MetricLearner):
    """``R ← neighbours under M``, ``M ← fit on R, from M``, in turn: multi-pass large-margin nearest neighbours.

    Targets and impostors are the nearest in the Euclidean sense before the first pass. Once the metric has
    changed, other points are near: those are the impostors that matter to a k-NN vote under it. Each pass
    searches for both anew among the mapped points ``L x`` and fits the learner to them, from the metric it has.
    The passes end early when hardly any neighbour is new.

    Parameters
    ----------
    learner : learner or None, default=None
        One that learns from triplets. None is :class:`~holdfast.LMNN`.
    n_passes : int, default=3
        Fits, the first included, at most.
    tol : float, default=0.01
        No further fit if less than this share of the neighbours (pairs of an anchor and a target or impostor)
        is new.

    Attributes
    ----------
    learner_ : learner
        After the last pass.
    components_ : ndarray of shape (n_components, n_features)
        L of ``M = LᵀL``.
    n_passes_ : int
        Fits that were made.
    renewal_ : ndarray
        The share of new neighbours that was found after each fit but the last of ``n_passes``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the columns passed to ``fit`` have names.

    References
    ----------
    Weinberger and Saul, "Distance metric learning for large margin nearest neighbor classification",
    JMLR 10, 2009, section 6.1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from holdfast import LMNN, MultiPass, Perturbation
    >>> X, y = load_wine(return_X_y=True)
    >>> lmnn_pl = LMNN(perturbation=Perturbation(tau=0.5))
    >>> MultiPass(lmnn_pl, n_passes=2).fit(StandardScaler().fit_transform(X), y).n_passes_
    2
    """

    _needs_labels = True

    def __init__(self, learner=None, n_passes: int = 3, tol: float = 0.01):
        self.learner = learner
        self.n_passes = n_passes
        self.tol = tol

    def fit(self, X, y=None):
        """Fit, map, search for neighbours again, and fit from there."""
        learner = self._checked()
        refuse_collection("MultiPass", X)
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        check_classification_targets(y)
        triplets = learner.find_triplets(X, y)
        learner.fit(X, y, triplets=triplets)
        n_passes, renewal = 1, []
        while n_passes < self.n_passes:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "n_neighbors=", UserWarning)  # small classes: warned before
                again = learner.find_triplets(X @ learner.components_.T, y)
            renewal.append(_new_share(triplets, again))
            if renewal[-1] < self.tol:
                break
            triplets = again
            learner.set_params(**learner.warm_start()).fit(X, y, triplets=triplets)
            n_passes += 1
        self.learner_, self.n_passes_, self.renewal_ = learner, n_passes, np.array(renewal)
        self.components_ = learner.components_
        return self

    def _checked(self) -> TripletLearner:
        check_count("MultiPass", "n_passes", self.n_passes)
        check_number("MultiPass", "tol", self.tol, at_least=0)
        if self.learner is not None and not isinstance(self.learner, TripletLearner):
            raise ValueError(
                "MultiPass: learner must be None or learn from triplets, such as holdfast.LMNN() or SCML(); "
                f"got {self.learner!r}."
            )
        return LMNN() if self.learner is None else clone(self.learner)


def _new_share(before: Triplets, after: Triplets) -> float:
    """The share of the ordered pairs (i, j) and (i, l) of ``after`` that are not in ``before``."""
    old, new = (
        np.unique(np.concatenate([t.i, t.i]).astype(np.int64) * t.n_samples + np.concatenate([t.j, t.l]))
        for t in (before, after)
    )
    return 1.0 - float(np.isin(new, old, assume_unique=True).mean())
