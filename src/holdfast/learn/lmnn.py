"""Large-margin nearest neighbours, with or without the perturbation loss, and with other regularisers than pull."""

from abc import abstractmethod
from dataclasses import replace

import numpy as np

from holdfast.base.inputs import check_number
from holdfast.learn.learner import TermLearner, minimise
from holdfast.learn.objective import Objective, Terms
from holdfast.learn.safeguards import finite_scatters
from holdfast.learn.solvers import Solution, Solver, StopReason
from holdfast.learn.spaces import Factors, PositiveDefinite, Space, whitening
from holdfast.learn.terms import CappedTrace, LogDet, MatrixTerm, Pull, Push, SpectralNorm

# Shrinkage of the preconditioner towards the identity. The scatter of the pairs approximates the curvature of the hinge
# losses; the perturbation loss, as it gains weight, depends on all directions alike. Chosen by measurement, see
# benchmarks/speed/README.md.
_SHRINKAGE, _SHRINKAGE_PER_LOSS = 0.01, 0.3
_SMOOTHING = (0.3, 0.1, 0.03, 0.01, 0.003)  # ε log p as a share of the norm, stage by stage


class LMNN(TermLearner):
    """``(1 − mu) · pull + mu · push + weight · perturbation``, over positive semi-definite M.

    Pull is the mean squared distance to targets, push the mean hinge ``[1 + d²(i, j) − d²(i, l)]₊``. With
    a :class:`~holdfast.Perturbation` this is the paper's LMNN-PL, without it LMNN. With the
    defaults k-NN is at least as accurate as under the Euclidean distance (measured: benchmarks/frontier/README.md). The
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
        :func:`~holdfast.learn.safeguards.default_loss`): it keeps the metric from collapsing to a few directions.
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

    def make_space(self, solver: Solver, objective: Objective) -> Space:
        """Factors, preconditioned by the scatter of the pairs, if the solver supports them."""
        if not solver.supports(Factors):
            return super().make_space(solver, objective)
        # Pull has a unique minimum in every direction, so that preconditioning changes the path and not the minimiser;
        # learners whose regulariser leaves directions free would end elsewhere.
        loss = 0.0 if self.perturbation_ is None else self.perturbation_.weight * self.perturbation_.tau**2  # at most
        shrinkage = _SHRINKAGE + _SHRINKAGE_PER_LOSS * loss / (1.0 + loss)
        return Factors(whitening(*finite_scatters(objective.scatters, type(self).__name__), shrinkage=shrinkage))

    def _check(self) -> None:
        check_number("LMNN", "mu", self.mu, above=0, below=1)


class RegularisedLMNN(TermLearner):
    """``push + weight · regulariser(M) + perturbation``; a subclass names the regulariser."""

    _collapse_advice = "Lower weight"
    _optimal_in_span = True  # for norms and divergences of eigenvalues; the subclasses say what holds outside

    def __init__(
        self,
        n_neighbors: int = 3,
        n_impostors: int | None = 10,
        weight: float = 0.01,
        perturbation=None,
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
        self.weight = weight
        self.perturbation = perturbation
        self.solver = solver
        self.init = init
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.validation_fraction = validation_fraction

    @abstractmethod
    def make_regulariser(self) -> MatrixTerm:
        """The term that replaces LMNN's pull."""

    def make_terms(self) -> Terms:
        """Push and the regulariser."""
        return [(1.0, Push()), (self.weight, self.make_regulariser())]

    def _check(self) -> None:
        check_number(type(self).__name__, "weight", self.weight, above=0)


class LogDetLMNN(RegularisedLMNN):
    """``push + weight · (tr M − log det M − p) + perturbation``, over positive definite M: the paper's LDD.

    The log-determinant divergence replaces LMNN's pull. It draws the metric to the identity and
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

    def make_space(self, solver: Solver, objective: Objective) -> Space:
        """Factors if the solver supports them, else positive definite matrices."""
        if solver.supports(Factors):
            return super().make_space(solver, objective)
        # At a minimum weight (M⁻¹ − I) is the gradient of push, at most the mean of X_ij over R.
        mean = np.trace(finite_scatters(objective.scatters, type(self).__name__)[0])
        return PositiveDefinite(max(0.1 * self.weight / (self.weight + mean), 1e-3))


class CappedTraceLMNN(RegularisedLMNN):
    """``push + weight · Σ_{k > rank} λ_k(M) + perturbation``, over positive semi-definite M: the paper's CAP.

    The capped trace, the sum of all but the ``rank`` largest eigenvalues, replaces LMNN's pull.
    With a :class:`~holdfast.Perturbation` this is the paper's CAP-PL.

    With more features than rows, M is learned on the span of the differences between rows, as for
    :class:`~holdfast.LMNN`: weight outside cannot lower the capped trace. ``rank`` counts eigenvalues over all
    features; if it is at least the number of rows, the capped trace is 0 there.

    Parameters
    ----------
    n_neighbors, n_impostors
        Targets and impostors per point, as for :class:`~holdfast.LMNN`.
    weight : float, default=0.01
        Weight of the capped trace; push has weight 1.
    rank : int or None, default=None
        Number of eigenvalues that are not penalised; None is four fifths of the features, rounded up: with half of
        them k-NN was less accurate than Euclidean k-NN on fourclass and iris (measured, benchmarks/frontier).
    perturbation, solver, init, neighbors, n_jobs, callback, verbose
        As for :class:`~holdfast.LMNN`.
    validation_fraction : float, "auto" or None, default="auto"
        As for :class:`~holdfast.LMNN`. The capped trace does not limit the largest eigenvalues, so that the minimum is
        overfitted. The paper's schedule, ``solver=ProjectedGradient()``, stops early by its own rule.

    Attributes
    ----------
    components_, objective_, n_iter_, n_evaluations_, validation_loss_, n_features_in_, feature_names_in_
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
        validation_fraction: float | str | None = "auto",
    ):
        super().__init__(
            n_neighbors, n_impostors, weight, perturbation, solver, init, neighbors, n_jobs, callback, verbose,
            validation_fraction,
        )  # fmt: skip
        self.rank = rank

    def make_regulariser(self) -> CappedTrace:
        """The capped trace."""
        return CappedTrace(self.rank)

    def _terms_in_span(self, terms: Terms, n_features: int, n_directions: int) -> Terms:
        capped = CappedTrace(min(CappedTrace(self.rank).rank_among(n_features), n_directions))
        return [(weight, capped if isinstance(term, CappedTrace) else term) for weight, term in terms]


class SpectralNormLMNN(RegularisedLMNN):
    """``push + weight · λ_max(M) + perturbation``, over positive semi-definite M: the paper's SN.

    The spectral norm replaces LMNN's pull.

    With more features than rows, M is learned on the span of the differences between rows, as for
    :class:`~holdfast.LMNN`: weight outside cannot lower the norm.

    Parameters
    ----------
    n_neighbors, n_impostors
        Targets and impostors per point, as for :class:`~holdfast.LMNN`.
    weight : float, default=0.01
        Weight of the norm; push has weight 1.
    solver : solver or None, default=None
        None is :class:`~holdfast.learn.solvers.LBFGS` in five stages, each from where the last ended, with the norm
        smoothed less and less (in one stage, without smoothing, for Dask collections and with ``validation_fraction``):
        its steps stop short of a kink. ``PrimalDual(tol=1e-6)`` takes longer and proves how far it is from the minimum.
    perturbation, init, neighbors, n_jobs, callback, verbose, validation_fraction
        As for :class:`~holdfast.LMNN`.

    Attributes
    ----------
    lower_bound_ : float or None
        Not above the minimum of the objective, but for rounding, by duality; None from other solvers.
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

    lower_bound_: float | None

    def make_regulariser(self) -> SpectralNorm:
        """The spectral norm."""
        return SpectralNorm()

    def _minimise(self, objective: Objective, space: Space, solver: Solver, start, report, validation) -> Solution:
        norms = [term for _, term in getattr(objective, "terms", ()) if isinstance(term, SpectralNorm)]
        if self.solver is not None or validation is not None or not norms:
            return super()._minimise(objective, space, solver, start, report, validation)
        norm, x, evaluations, smoothing = norms[0], start, 0, np.inf
        stages: list[Solution] = []
        for share in _SMOOTHING:
            M = space.metric(x)
            smoothing = min(smoothing, share * float(np.linalg.eigvalsh(M)[-1]) / np.log(len(M) + 1))
            norm.smoothing = smoothing
            stages.append(minimise(objective, space, solver, x, report))
            x, evaluations = stages[-1].x, evaluations + stages[-1].n_evaluations
            if stages[-1].reason is StopReason.CALLBACK:
                break
        norm.smoothing = 0.0
        value = objective(space.metric(x))[0]
        trace = stages[0].trace[:1] + [v for stage in stages for v in stage.trace[1:]]
        return replace(stages[-1], value=value, trace=[*trace[:-1], value], n_evaluations=evaluations + 1)

    def _store(self, solution: Solution) -> None:
        self.lower_bound_ = solution.lower_bound
