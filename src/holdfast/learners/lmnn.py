"""Large-margin nearest neighbours, with or without the perturbation loss."""

from holdfast.backends import ObjectiveLike, Terms
from holdfast.learn import Factors, Pull, Push, Space, whitening
from holdfast.learn.solvers import Solver
from holdfast.learners.minimise import finite_scatters
from holdfast.learners.ranges import PERTURBATION, Ranges, Uniform
from holdfast.learners.term_learner import TermLearner
from holdfast.parameters import check_number

# Shrinkage of the preconditioner towards the identity. The scatter of the pairs approximates the curvature of the hinge
# losses; the perturbation loss, as it gains weight, depends on all directions alike. Chosen by measurement, see
# benchmarks/speed/README.md.
_SHRINKAGE, _SHRINKAGE_PER_LOSS = 0.01, 0.3


class LMNN(TermLearner):
    """``(1 − mu) · pull + mu · push + weight · perturbation``, over positive semi-definite M.

    Pull is the mean squared distance to targets, push the mean hinge ``[1 + d²(i, j) − d²(i, l)]₊``. With
    a :class:`~holdfast.Perturbation` this is the paper's LMNN-PL, without it LMNN. The defaults are chosen so that
    a vote of neighbours is no worse than under the Euclidean distance (measured: benchmarks/frontier/README.md). The
    paper's LMNN is ``LMNN(mu=0.5, perturbation=None, solver=ProjectedGradient())``, mu to be searched.

    With more features than rows, M is learned on the span of the differences between rows, which holds a minimiser over
    all M (with a ``shape`` or ``reduction`` in the perturbation loss: the minimiser on the span). Directions in which
    the training rows do not differ get no weight.

    Parameters
    ----------
    n_neighbors : int, default=3
        Targets per point: its nearest points of the same class.
    n_impostors : int or None, default=10
        Impostors per point: its nearest points of other classes. None takes them all.
    mu : float, default=0.9
        Weight of push against pull, in (0, 1).
    perturbation : Perturbation, "auto" or None, default="auto"
        The loss that enlarges the adversarial margin. "auto" is a small one whose scale is taken from the data (see
        :func:`~holdfast.learners.default_loss.default_loss`): it keeps the metric from collapsing to a few directions.
        None is LMNN without it.
    solver : solver or None, default=None
        None is :class:`~holdfast.learn.solvers.LBFGS`. ``ProjectedGradient()`` follows the paper's schedule.
    init : array-like of shape (n_features, n_features) or None, default=None
        The metric to start from (a warm start). None is the identity, which the default solver first
        brings to the scale of the data, so that units do not matter.
    neighbors : {"exact", "approximate"} or NeighborSearch, default="exact"
        How targets and impostors are searched for. "approximate" needs the extra ``holdfast[approximate]``;
        ``NeighborSearch(n_anchors=100_000)`` makes triplets of a random sample of points only; see
        :class:`~holdfast.learn.NeighborSearch`.
    n_jobs : int or None, default=None
        Threads. None takes what numba is allowed (``NUMBA_NUM_THREADS``, else every processor); small
        problems use one. The result does not depend on it.
    callback : callable or None, default=None
        Called with a :class:`~holdfast.learn.solvers.Progress` after every iteration; returning True ends
        the fit.
    verbose : int, default=0
        1 shows every tenth iteration, 2 every one.
    validation_fraction : float, "auto" or None, default=None
        Early stopping. If a number, this share of the rows is held out, the fit ends once the loss on their triplets
        has not fallen for ten iterations, and the metric of the lowest is kept. Without a perturbation loss the minimum
        is often overfitted. "auto" is 0.2 where nothing else is known to prevent that: without a perturbation loss and
        without a solver of your choice, for 50 rows or more, in memory. None fits to the minimum.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L of ``M = LᵀL``, strongest direction first.
    objective_ : ndarray of shape (1 + ``n_iter_``,)
        The objective at the start and after every iteration.
    n_iter_, n_evaluations_ : int
        Iterations, and evaluations of objective and gradient.
    perturbation_ : Perturbation or None
        The perturbation loss that was used.
    validation_loss_ : ndarray of shape (1 + ``n_iter_``,) or None
        The loss on the held-out rows at the start and after every iteration.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the columns passed to ``fit`` have names.

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

    # A part of M outside the span, or between the two, changes neither a nor b, and can only raise h, if B = I.
    _optimal_in_span = True
    _takes_auto = True

    def __init__(
        self,
        n_neighbors: int = 3,
        n_impostors: int | None = 10,
        mu: float = 0.9,
        perturbation="auto",
        solver=None,
        init=None,
        neighbors="exact",
        n_jobs: int | None = None,
        callback=None,
        verbose: int = 0,
        validation_fraction: float | str | None = None,
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
        self.validation_fraction = validation_fraction

    def make_terms(self) -> Terms:
        """Pull and push."""
        return [(1.0 - self.mu, Pull()), (self.mu, Push())]

    def make_space(self, solver: Solver, objective: ObjectiveLike) -> Space:
        """Factors, preconditioned by the scatter of the pairs, if the solver supports them."""
        if not solver.supports(Factors):
            return super().make_space(solver, objective)
        # Pull has a unique minimum in every direction, so that preconditioning changes the path and not the minimiser;
        # learners whose regulariser leaves directions free would end elsewhere.
        loss = 0.0 if self.perturbation_ is None else self.perturbation_.weight * self.perturbation_.tau**2  # at most
        shrinkage = _SHRINKAGE + _SHRINKAGE_PER_LOSS * loss / (1.0 + loss)
        return Factors(whitening(*finite_scatters(objective, type(self).__name__), shrinkage=shrinkage))

    def default_ranges(self) -> Ranges:
        """The paper's ranges."""
        if self.perturbation is None or isinstance(self.perturbation, str):
            return {"mu": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]}
        return {"mu": Uniform(0.1, 0.9), **PERTURBATION}

    def _check(self) -> None:
        check_number("LMNN", "mu", self.mu, above=0, below=1)
