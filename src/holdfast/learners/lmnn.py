"""Large-margin nearest neighbours, with or without the perturbation loss."""

from collections.abc import Sequence

from holdfast.learners.triplet_learner import Term, TripletLearner
from holdfast.objective import Objective
from holdfast.parameters import check_number
from holdfast.solvers import Solver
from holdfast.spaces import Factors, Space, whitening
from holdfast.terms import Pull, Push

# The share of all directions alike in the scaling of the variables: the scatter of the pairs tells how the objective
# curves, but the perturbation loss, as it gains weight, looks at all directions alike. Chosen by measurement, see
# benchmarks/speed/README.md.
_ROUND, _ROUNDER = 0.01, 0.3


class LMNN(TripletLearner):
    """``(1 − mu) · pull + mu · push + weight · perturbation``, over positive semi-definite M.

    Pull is the mean squared distance to targets, push the mean hinge ``[1 + d²(i, j) − d²(i, l)]₊``. With
    a :class:`~holdfast.Perturbation` this is the paper's LMNN-PL, without it LMNN.

    Parameters
    ----------
    n_neighbors : int, default=3
        Targets per point: its nearest points of the same class.
    n_impostors : int or None, default=10
        Impostors per point: its nearest points of other classes. None takes them all.
    mu : float, default=0.5
        Weight of push against pull, in (0, 1).
    perturbation : Perturbation or None, default=None
        The loss that enlarges the adversarial margin.
    solver : solver or None, default=None
        None is :class:`~holdfast.solvers.LBFGS`. ``ProjectedGradient()`` follows the paper's schedule.
    init : array-like of shape (n_features, n_features) or None, default=None
        The metric to start from (a warm start). None is the identity, which the default solver first
        brings to the scale of the data, so that units do not matter.
    neighbors : {"exact", "approximate"} or NeighborSearch, default="exact"
        How targets and impostors are searched for. "approximate" needs the extra ``holdfast[approximate]``;
        ``NeighborSearch(n_anchors=100_000)`` makes triplets of a random sample of points only; see
        :class:`~holdfast.constraints.NeighborSearch`.
    n_jobs : int or None, default=None
        Threads. None takes what numba is allowed (``NUMBA_NUM_THREADS``, else every processor); small
        problems use one. The result does not depend on it.
    callback : callable or None, default=None
        Called with a :class:`~holdfast.solvers.Progress` after every iteration; returning True ends
        the fit.
    verbose : int, default=0
        1 shows every tenth iteration, 2 every one.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L of ``M = LᵀL``, strongest direction first.
    objective_ : ndarray of shape (1 + ``n_iter_``,)
        The objective at the start and after every iteration.
    n_iter_, n_evaluations_ : int
        Iterations, and evaluations of objective and gradient.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if ``fit`` saw named columns.

    References
    ----------
    Weinberger and Saul, "Distance metric learning for large margin nearest neighbor classification",
    JMLR 10, 2009. Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning",
    Eq. 5.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from holdfast import LMNN, Perturbation
    >>> X, y = load_wine(return_X_y=True)
    >>> lmnn_pl = LMNN(mu=0.5, perturbation=Perturbation(tau=0.5, weight=1.0))
    >>> model = make_pipeline(StandardScaler(), lmnn_pl, KNeighborsClassifier(3)).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        n_neighbors: int = 3,
        n_impostors: int | None = 10,
        mu: float = 0.5,
        perturbation=None,
        solver=None,
        init=None,
        neighbors="exact",
        n_jobs: int | None = None,
        callback=None,
        verbose: int = 0,
    ):
        self.n_neighbors = n_neighbors
        self.n_impostors = n_impostors
        self.mu = mu
        self.perturbation = perturbation
        self.solver = solver
        self.init = init
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    def _terms(self) -> Sequence[tuple[float, Term]]:
        return [(1.0 - self.mu, Pull()), (self.mu, Push())]

    def _space(self, solver: Solver, objective: Objective) -> Space:
        # Pull weighs every direction, so that scaling makes the way shorter and not another; learners whose regulariser
        # leaves directions free would end elsewhere.
        if solver.needs != "bounds":
            return super()._space(solver, objective)
        loss = 0.0 if self.perturbation is None else self.perturbation.weight * self.perturbation.tau**2  # at most
        return Factors(whitening(*self._scatters_of(objective), share=_ROUND + _ROUNDER * loss / (1.0 + loss)))

    def _check(self) -> None:
        check_number("LMNN", "mu", self.mu, above=0, below=1)
