"""Large-margin nearest neighbours with a penalty on the largest eigenvalue."""

from holdfast.learners.regularised import RegularisedLMNN
from holdfast.terms import SpectralNorm


class SpectralNormLMNN(RegularisedLMNN):
    """``push + weight · λ_max(M) + perturbation``, over positive semi-definite M: the paper's SN.

    The spectral norm takes the place of LMNN's pull.

    With more features than rows, M is learned on the span of the differences between rows, as for
    :class:`~holdfast.LMNN`: weight outside cannot lower the norm.

    Parameters
    ----------
    n_neighbors, n_impostors
        Targets and impostors per point, as for :class:`~holdfast.LMNN`.
    weight : float, default=0.01
        Weight of the norm; push has weight 1.
    perturbation, solver, init, neighbors, n_jobs, callback, verbose, validation_fraction
        As for :class:`~holdfast.LMNN`.

    Attributes
    ----------
    components_, objective_, n_iter_, n_evaluations_, validation_loss_, n_features_in_, feature_names_in_
        As for :class:`~holdfast.LMNN`.

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", section 4.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import SpectralNormLMNN
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(SpectralNormLMNN(weight=0.01).fit(X, y).objective_[-1] < 0.5)
    True
    """

    def make_regulariser(self) -> SpectralNorm:
        """The spectral norm."""
        return SpectralNorm()
