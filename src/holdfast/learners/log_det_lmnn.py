"""Large-margin nearest neighbours, held near the Euclidean distance."""

import numpy as np

from holdfast.backends import ObjectiveLike
from holdfast.learn import Factors, LogDet, PositiveDefinite, Space
from holdfast.learn.solvers import Solver
from holdfast.learners.minimise import finite_scatters
from holdfast.learners.regularised import RegularisedLMNN


class LogDetLMNN(RegularisedLMNN):
    """``push + weight · (tr M − log det M − p) + perturbation``, over positive definite M: the paper's LDD.

    The log-determinant divergence takes the place of LMNN's pull. It draws the metric to the identity and
    keeps it positive definite: the default solver works on factors ``M = LᵀL``, where the divergence is a
    barrier; a solver that projects works on ``M ⪰ floor · I``, the floor a tenth of the smallest eigenvalue
    that a minimum without perturbation loss can have, ``weight / (weight + mean d²(i, j))``, or 0.001 if
    that is larger (beneath it the divergence is too steep for steps of a common length).

    With more features than rows, M is learned on the span of the differences between rows, as for
    :class:`~holdfast.LMNN`. In the directions outside, the minimiser over all M is the identity, with a
    divergence of 0 and no terms that mix them with the span: it adds the same to the distances from a new row to all
    training rows, so that no neighbour changes. It is left out of ``components_``, and M is then positive definite on
    the span only.

    Parameters
    ----------
    n_neighbors, n_impostors
        Targets and impostors per point, as for :class:`~holdfast.LMNN`.
    weight : float, default=0.01
        Weight of the divergence; push has weight 1.
    perturbation, solver, init, neighbors, n_jobs, callback, verbose, validation_fraction
        As for :class:`~holdfast.LMNN`.

    Attributes
    ----------
    components_, objective_, n_iter_, n_evaluations_, validation_loss_, n_features_in_, feature_names_in_
        As for :class:`~holdfast.LMNN`.

    References
    ----------
    Davis, Kulis, Jain, Sra and Dhillon, "Information-theoretic metric learning", ICML 2007. Yang, Guo, Dong
    and Xue, "Towards certified robustness of distance metric learning", section 4.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import LogDetLMNN
    >>> X, y = load_iris(return_X_y=True)
    >>> LogDetLMNN(weight=0.1).fit(X, y).components_.shape
    (4, 4)
    """

    def make_regulariser(self) -> LogDet:
        """The log-determinant divergence."""
        return LogDet()

    def make_space(self, solver: Solver, objective: ObjectiveLike) -> Space:
        """Factors if the solver supports them, else positive definite matrices."""
        if solver.supports(Factors):
            return super().make_space(solver, objective)
        # At a minimum weight (M⁻¹ − I) is the gradient of push, at most the mean of X_ij over R.
        mean = np.trace(finite_scatters(objective, type(self).__name__)[0])
        return PositiveDefinite(max(0.1 * self.weight / (self.weight + mean), 1e-3))
