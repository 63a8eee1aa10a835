"""Large-margin nearest neighbours of points that each have a Gaussian disturbance of their own."""

import numpy as np

from holdfast.backends import refuse_collection
from holdfast.learn import Push, SquaredFrobenius
from holdfast.learn.solvers import StopReason
from holdfast.learn.spaces import check_metric, components_of
from holdfast.learners.expected_objective import ExpectedObjective
from holdfast.learners.failures import explained_failures
from holdfast.learners.fit_report import FitReport, warn_if_collapsed
from holdfast.learners.minimise import default_start, metric_space, minimise, typical_scale
from holdfast.learners.mining import mine
from holdfast.learners.ranges import Ranges, powers_of_ten
from holdfast.learners.settings import check_solver
from holdfast.learners.span import Span
from holdfast.learners.triplet_learner import TripletLearner
from holdfast.numerics.threads import single_threaded_blas
from holdfast.parameters import check_count, check_number

_MIN_GAIN = 1e-4  # of the objective: no further turn if the disturbances lower it by less


class DRIFT(TripletLearner):
    """``push + weight · ½ ‖M/c − I‖²_F + eta · Σ_i KL(Σ_i)/n`` of *expected* distances, over M and all Σ_i.

    Point i is the mean of a Gaussian disturbance with covariance ``Σ_i = diag(σ²_i)`` of its own, so that ::

        E d²(i, j) = d²_M(x_i, x_j) + tr(M (Σ_i + Σ_j))

    and the hinge of a triplet, ``[1 + E d²(i, j) − E d²(i, l)]₊``, has a margin that depends on its points. M
    and the σ² are learned in turn.

    c is ``1 / mean d²(i, l)`` of the Euclidean distances to impostors, so that units do not matter.

    Implementation. The original article's details (its prior, its solver, its settings) were not available
    here; this learner follows its description in the literature: instance-specific Gaussian disturbances,
    expected distances, alternating optimisation. Chosen here: diagonal covariances; a squared Frobenius norm that
    holds M near the Euclidean metric, because that gives the results printed for DRIFT and LMNN's pull does not
    (``benchmarks/yang/FINDINGS.md``); for each disturbance the Kullback-Leibler divergence from ``N(0, Σ_i)`` to
    ``N(0, s² I)``, ``½ Σ_k (σ²_ik/s² − 1 − log σ²_ik/s²)``; M by the solver with σ² fixed; σ² with M and the
    set of violated triplets fixed, where each has a closed form, and as much of that step as lowers the
    objective. The metric alone is used afterwards. With more features than rows M is sought on the span of the
    differences between rows, as for :class:`~holdfast.LMNN`; disturbances are over all features.

    Parameters
    ----------
    n_neighbors, n_impostors
        Targets and impostors per point, as for :class:`~holdfast.LMNN`.
    weight : float, default=0.01
        Weight of the Frobenius norm; push has weight 1.
    disturbance : float, default=0.1
        s, the standard deviation that is expected of a disturbance, as a share of that of the data (root
        mean square over the features).
    eta : float, default=0.1
        Weight of the divergence: the larger, the more alike the disturbances are.
    n_turns : int, default=5
        How often the disturbances are learned anew, at most.
    solver, init, neighbors, n_jobs, callback, verbose
        As for :class:`~holdfast.LMNN`.

    Attributes
    ----------
    disturbances_ : ndarray of shape (n_samples, n_features)
        The σ²_i of the training points.
    components_, objective_, n_iter_, n_evaluations_, n_features_in_, feature_names_in_
        As for :class:`~holdfast.LMNN`.

    References
    ----------
    Ye, Zhan, Si and Jiang, "Learning Mahalanobis distance metric: considering instance disturbance helps",
    IJCAI 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import DRIFT
    >>> X, y = load_iris(return_X_y=True)
    >>> DRIFT().fit(X, y).disturbances_.shape
    (150, 4)
    """

    def __init__(
        self,
        n_neighbors: int = 3,
        n_impostors: int | None = 10,
        weight: float = 0.01,
        disturbance: float = 0.1,
        eta: float = 0.1,
        n_turns: int = 5,
        solver=None,
        init=None,
        neighbors="exact",
        n_jobs: int | None = None,
        callback=None,
        verbose: int = 0,
    ):
        self.n_neighbors = n_neighbors
        self.n_impostors = n_impostors
        self.weight = weight
        self.disturbance = disturbance
        self.eta = eta
        self.n_turns = n_turns
        self.solver = solver
        self.init = init
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    def default_ranges(self) -> Ranges:
        """A small grid: the paper names no ranges."""
        return {"weight": powers_of_ten(-4, 0), "disturbance": [0.03, 0.1, 0.3], "eta": [1e-3, 1e-1]}

    def _check(self) -> None:
        check_number("DRIFT", "weight", self.weight, above=0)
        check_number("DRIFT", "disturbance", self.disturbance, above=0)
        check_number("DRIFT", "eta", self.eta, above=0)
        check_count("DRIFT", "n_turns", self.n_turns)

    def fit(self, X, y=None, triplets=None):
        """Learn the metric and the disturbances from labels, or from triplets; see :class:`LMNN`."""
        self._check()
        refuse_collection("DRIFT", X)
        solver = check_solver(self.solver)
        space, report = metric_space(solver), FitReport("DRIFT", self.verbose, self.callback)
        X, triplets = mine(self, X, y, triplets).points_and_triplets()
        prior = self.disturbance**2 * float(X.var(axis=0).mean()) or 1e-300  # s²; rows that do not differ have none
        trace: list[float] = []
        evaluations = 0
        n, p = X.shape
        with single_threaded_blas(), explained_failures("DRIFT"):
            span = Span.of(X) if p > n else None
            points = X if span is None else span.project(X)
            near_euclidean = SquaredFrobenius()
            terms = [(1.0, Push()), (self.weight, near_euclidean)]
            objective = ExpectedObjective(points, triplets, terms, prior, self.eta, self.n_jobs, span)
            near_euclidean.scale = typical_scale(objective, "DRIFT")
        with single_threaded_blas(), explained_failures("DRIFT"), objective:
            if self.init is None:
                M = default_start(objective, solver, "DRIFT")
            else:
                M = check_metric(self.init, p, "init")
                M = M if span is None else span.restrict(M)
            for turn in range(self.n_turns + 1):
                solution = minimise(objective, space, solver, space.start(M), report)
                report.end(solution)
                M = space.metric(solution.x)
                trace += solution.trace
                evaluations += solution.n_evaluations
                if turn == self.n_turns:
                    break
                lower = objective.disturb(M)
                if solution.reason is StopReason.CALLBACK or trace[-1] - lower <= _MIN_GAIN * abs(lower):
                    break
            warn_if_collapsed("DRIFT", objective, M, "Lower disturbance")
            self.disturbances_ = objective.geometry.variances
        L = components_of(M)
        self.components_ = L if span is None else span.components(L)
        self.objective_ = np.array(trace)
        self.n_iter_ = len(trace) - 1
        self.n_evaluations_ = evaluations
        return self
