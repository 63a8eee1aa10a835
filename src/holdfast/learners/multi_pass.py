"""A learner fitted again and again, each time on the neighbours under the metric it found before."""

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from holdfast.backends import refuse_collection
from holdfast.learn import Triplets
from holdfast.learners.base import MetricLearner
from holdfast.learners.lmnn import LMNN
from holdfast.learners.triplet_learner import TripletLearner
from holdfast.parameters import check_count, check_number


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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _new_share(before: Triplets, after: Triplets) -> float:
    """The share of the ordered pairs (i, j) and (i, l) of ``after`` that are not in ``before``."""
    old, new = (
        np.unique(np.concatenate([t.i, t.i]).astype(np.int64) * t.n_samples + np.concatenate([t.j, t.l]))
        for t in (before, after)
    )
    return 1.0 - float(np.isin(new, old, assume_unique=True).mean())
