"""A learner after a linear reduction, with margins in the space before it."""

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from holdfast.backends import refuse_collection
from holdfast.learn import Perturbation
from holdfast.learn.margins import linear_part
from holdfast.learn.spaces import components_of_factor
from holdfast.learners.base import MetricLearner
from holdfast.learners.lmnn import LMNN


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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
