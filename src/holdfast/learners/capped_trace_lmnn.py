"""Large-margin nearest neighbours of low rank."""

from holdfast.learners.regularised import RegularisedLMNN
from holdfast.terms import CappedTrace


class CappedTraceLMNN(RegularisedLMNN):
    """``push + weight · Σ_{k > rank} λ_k(M) + perturbation``, over positive semi-definite M: the paper's CAP.

    The capped trace, the sum of all but the ``rank`` largest eigenvalues, takes the place of LMNN's pull.
    With a :class:`~holdfast.Perturbation` this is the paper's CAP-PL.

    Parameters
    ----------
    n_neighbors, n_impostors
        Targets and impostors per point, as for :class:`~holdfast.LMNN`.
    weight : float, default=0.01
        Weight of the capped trace; push has weight 1.
    rank : int or None, default=None
        Number of eigenvalues that are not penalised; None is half of the features, rounded up.
    perturbation, solver, init, neighbors, n_jobs, callback, verbose
        As for :class:`~holdfast.LMNN`.

    Attributes
    ----------
    components_, objective_, n_iter_, n_evaluations_, n_features_in_, feature_names_in_
        As for :class:`~holdfast.LMNN`.

    References
    ----------
    Huo, Nie and Huang, "Robust and effective metric learning using capped trace norm", KDD 2016. Yang, Guo,
    Dong and Xue, "Towards certified robustness of distance metric learning", section 4.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import CappedTraceLMNN
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = CappedTraceLMNN(weight=1.0, rank=2).fit(X, y)
    """

    def __init__(
        self,
        n_neighbors: int = 3,
        n_impostors: int | None = 10,
        weight: float = 0.01,
        rank: int | None = None,
        perturbation=None,
        solver=None,
        init=None,
        neighbors="exact",
        n_jobs: int | None = None,
        callback=None,
        verbose: int = 0,
    ):
        super().__init__(
            n_neighbors, n_impostors, weight, perturbation, solver, init, neighbors, n_jobs, callback, verbose
        )
        self.rank = rank

    def _regulariser(self) -> CappedTrace:
        return CappedTrace(self.rank)
