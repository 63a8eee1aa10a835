"""Two learners that the paper compares with: DRIFT, of disturbed points, and AML, of adversarial pairs."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from holdfast.base.blocks import single_threaded_blas
from holdfast.base.collections import refuse_collection
from holdfast.base.inputs import check_count, check_number
from holdfast.learn.geometry import AnchorBlock, TripletGeometry, scatters
from holdfast.learn.learner import (
    FitReport,
    TripletLearner,
    check_solver,
    default_start,
    explain_linalg_errors,
    metric_space,
    minimise,
    typical_scale,
    warn_if_collapsed,
)
from holdfast.learn.objective import Objective
from holdfast.learn.rows import triplet_rows
from holdfast.learn.safeguards import Span
from holdfast.learn.solvers import StopReason
from holdfast.learn.spaces import check_metric, components_of
from holdfast.learn.supervision import Triplets
from holdfast.learn.terms import Push, SquaredFrobenius

_MIN_GAIN = 1e-4  # of the objective: no further turn if the disturbances lower it by less
_MIN_SCATTER = 1e-50  # of scatters: products of up to three of them, and their inverses, are then far from 1e±308
_MAX_STRETCH = 3.0  # of a direction of a pair's difference; chosen here, see the class


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
        X, triplets = triplet_rows(self, X, y, triplets).points_and_triplets()
        prior = self.disturbance**2 * float(X.var(axis=0).mean()) or 1e-300  # s²; rows that do not differ have none
        trace: list[float] = []
        evaluations = 0
        n, p = X.shape
        with single_threaded_blas(), explain_linalg_errors("DRIFT"):
            span = Span.of(X) if p > n else None
            points = X if span is None else span.project(X)
            near_euclidean = SquaredFrobenius()
            terms = [(1.0, Push()), (self.weight, near_euclidean)]
            objective = ExpectedObjective(points, triplets, terms, prior, self.eta, self.n_jobs, span)
            near_euclidean.scale = typical_scale(objective, "DRIFT")
        with single_threaded_blas(), explain_linalg_errors("DRIFT"), objective:
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


class _ExpectedGeometry(TripletGeometry):
    """Expected squared distances: those of the points, plus ``tr(M (Σ_i + Σ_j))``."""

    variances: np.ndarray  # (n_samples, n_features): the σ²_i
    span: Span | None = None  # if points and metrics are on a span of the features

    def diagonal(self, M: np.ndarray) -> np.ndarray:
        """The diagonal of the metric over all features."""
        return M.diagonal() if self.span is None else self.span.diagonal(M)

    def measure(self, M: np.ndarray) -> None:
        super().measure(M)
        self._traces = self.variances @ self.diagonal(M)  # tr(M Σ_i)

    def distances(self, block: AnchorBlock) -> np.ndarray:
        distance, pairs = super().distances(block), self.triplets.pairs
        distance[block.pairs] += self._traces[pairs.first[block.pairs]] + self._traces[pairs.second[block.pairs]]
        return distance

    def gradient_in_metric(self) -> np.ndarray:
        G = super().gradient_in_metric()
        weights = self.degree @ self.variances  # a degree is the derivative by tr(M Σ_i)
        if self.span is None:
            return G + np.diag(weights)
        return G + (self.span.Q.T * weights) @ self.span.Q


class ExpectedObjective(Objective):
    """``Σ weight · mean(term) + eta · Σ_i KL(Σ_i)/n`` of expected distances, for given disturbances."""

    geometry: _ExpectedGeometry

    def __init__(self, X, triplets, terms, prior: float, eta: float, n_jobs, span: Span | None = None):
        super().__init__(X, triplets, terms, None, n_jobs)
        self.geometry.span = span
        self.geometry.variances = np.full(X.shape if span is None else (len(X), len(span.mean)), prior)
        self.prior, self.weight = prior, eta / X.shape[0]

    def make_geometry(self, X, triplets, *settings) -> _ExpectedGeometry:
        """Build the geometry with the points in their own order: every point has its disturbance."""
        return _ExpectedGeometry(X, triplets, *settings)

    def __call__(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and symmetric gradient at M."""
        value, G = super().__call__(M)
        return value + self._divergence(self.geometry.variances), G

    def _divergence(self, variances: np.ndarray) -> float:
        ratio = variances / self.prior
        return self.weight * 0.5 * float(np.sum(ratio - 1.0 - np.log(ratio)))

    def disturb(self, M: np.ndarray) -> float:
        """Move the disturbances to where, with M and the violated triplets fixed, the objective is least:
        ``deg_i M_kk + weight/2 (1/s² − 1/σ²) = 0``, halved until the objective falls. Returns the objective.
        """
        geometry = self.geometry
        old, (value, _) = geometry.variances, self(M)
        slope = np.outer(geometry.degree, geometry.diagonal(M))
        # A disturbance that would grow without end is held at ten times the expected variance.
        wanted = 1.0 / np.maximum(1.0 / self.prior + 2.0 * slope / self.weight, 0.1 / self.prior)
        for share in 0.5 ** np.arange(6):
            geometry.variances = old + share * (wanted - old)
            lower = self(M)[0]
            if lower < value:
                return lower
        geometry.variances = old
        return value


class AML(TripletLearner):
    """``L(M, X) + alpha · L(M, Π)``, ``L = mean_similar d²_M + mean_dissimilar d²_{M⁻¹}``; M and Π in turn.

    Confusion: for every training pair an adversarial pair (π, π') that maximises the pair's loss, tied to the
    original by ``beta (‖x − π‖²_M + ‖x' − π'‖²_M)``. Distinguishment: the M that minimises the sum of the
    losses, the geometric mean ``S⁻¹ # D`` of two positive definite matrices, where S and D are the scatters
    of similar and dissimilar pairs, original and adversarial.

    Both stages have closed forms, and both in terms of S and D alone, so that no adversarial pair is ever
    made. With ``δ = x − x'``: a similar pair is stretched, ``π − π' = beta/(beta − 2) δ``; a dissimilar pair,
    along an eigenvector of M with eigenvalue λ, by ``beta λ²/(beta λ² − 2)``.

    Implementation. The original article's details were not available here; this learner follows the
    description above. Chosen here: similar pairs are (i, j) and dissimilar pairs (i, l) of the triplets
    that LMNN would use; M is scaled to mean eigenvalue 1 for the confusion stage; no direction is stretched
    more than threefold (where ``beta λ² ≤ 3`` the maximum is farther away, or at infinity); the adversarial
    scatter moves halfway to its new value each turn, since undamped the two stages circle; S and D get
    a small multiple of the identity, so that features may outnumber pairs. With more features than rows the metric is
    learned on the span of the rows; outside of it, where M is a multiple of the identity, it ranks nothing.

    Parameters
    ----------
    n_neighbors, n_impostors
        Targets and impostors per point, as for :class:`~holdfast.LMNN`.
    alpha : float, default=1.0
        Weight of the adversarial pairs; at least 0.
    beta : float, default=10.0
        How tightly they are tied to the original ones; above 2.
    ridge : float, default=1e-3
        Multiple of the mean eigenvalue that S and D get on their diagonal.
    max_iter : int, default=20
        Turns, at most.
    tol : float, default=1e-4
        The turns end when M changes by less than this, relatively.
    neighbors, n_jobs, verbose
        As for :class:`~holdfast.LMNN`.

    Attributes
    ----------
    components_, objective_, n_iter_, n_features_in_, feature_names_in_
        As for :class:`~holdfast.LMNN`; the objective is that of the distinguishment stage, turn by turn (it
        need not fall, because the adversarial pairs change), the first value being the one without adversarial pairs.

    References
    ----------
    Chen, Gong, Yang, Li, Huang and Liu, "Adversarial metric learning", IJCAI 2018. Zadeh, Hosseini and Sra,
    "Geometric mean metric learning", ICML 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import AML
    >>> X, y = load_iris(return_X_y=True)
    >>> AML().fit(X, y).components_.shape
    (4, 4)
    """

    def __init__(
        self,
        n_neighbors: int = 3,
        n_impostors: int | None = 10,
        alpha: float = 1.0,
        beta: float = 10.0,
        ridge: float = 1e-3,
        max_iter: int = 20,
        tol: float = 1e-4,
        neighbors="exact",
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_neighbors = n_neighbors
        self.n_impostors = n_impostors
        self.alpha = alpha
        self.beta = beta
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check(self) -> None:
        check_number("AML", "alpha", self.alpha, at_least=0)
        check_number("AML", "beta", self.beta, above=2)
        check_number("AML", "ridge", self.ridge, above=0)
        check_count("AML", "max_iter", self.max_iter)
        check_number("AML", "tol", self.tol, at_least=0)

    def fit(self, X, y=None, triplets=None):
        """Learn the metric from labels, or from triplets; see :class:`LMNN`."""
        self._check()
        refuse_collection("AML", X)
        X, triplets = triplet_rows(self, X, y, triplets).points_and_triplets()
        with single_threaded_blas(), explain_linalg_errors("AML"):
            span = Span.of(X) if X.shape[1] > len(X) else None
            S, D, counts = self._scatters(X if span is None else span.project(X), triplets, X.shape[1])
            M = _geometric_mean(S, D)
            trace, converged = [_loss(M, S, D, counts)], False
            similar, dissimilar = self._confuse(M, S, D, counts)
            while not converged and len(trace) <= self.max_iter:
                previous, M = M, _geometric_mean(S + self.alpha * similar, D + self.alpha * dissimilar)
                trace.append(_loss(M, S + self.alpha * similar, D + self.alpha * dissimilar, counts))
                if self.verbose:
                    print(f"[AML] turn {len(trace) - 1:3d}   objective {trace[-1]:.6g}")
                converged = _size(M - previous, counts) <= self.tol * _size(M, counts)
                # One stage raises what the other lowers: half of each step, or they would circle.
                dissimilar = (dissimilar + self._confuse(M, S, D, counts)[1]) / 2
        L = components_of(M if span is None else M[:-1, :-1])
        if not converged:
            warnings.warn(
                f"AML did not converge within max_iter={self.max_iter} turns. Increase max_iter or beta, or "
                "loosen tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.components_ = L if span is None else span.components(L)
        self.objective_ = np.array(trace)
        self.n_iter_ = len(trace) - 1
        return self

    def _scatters(
        self, X: np.ndarray, triplets: Triplets, n_features: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The means over R of ``X_ij`` and ``X_il``, made positive definite; how many directions each row stands for:
        1, but for points on a span one more row and column stands for all the directions outside it.
        """
        found = _in_range(scatters(X - X.mean(axis=0), triplets, self.n_jobs), X)
        outside = n_features - X.shape[1]
        counts = np.array([1.0] * X.shape[1] + [outside] * (outside > 0))
        wide = np.zeros((2, counts.size, counts.size))
        for C, block in zip(found, wide, strict=True):
            block[: len(C), : len(C)] = C
            block += self.ridge * (np.trace(C) / n_features or 1.0) * np.eye(len(block))
        return wide[0], wide[1], counts

    def _confuse(
        self, M: np.ndarray, S: np.ndarray, D: np.ndarray, counts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The scatters of the adversarial pairs."""
        values, V = np.linalg.eigh(M)
        mean = M.diagonal() @ counts / counts.sum()
        squares = self.beta * np.maximum(values / mean, 0.0) ** 2
        with np.errstate(divide="ignore"):
            stretch = np.where(squares > 3.0, squares / np.maximum(squares - 2.0, 1e-300), _MAX_STRETCH)
        T = (V * stretch) @ V.T
        return min(self.beta / (self.beta - 2.0), _MAX_STRETCH) ** 2 * S, T @ D @ T


def _in_range(scatters: tuple[np.ndarray, np.ndarray], X: np.ndarray) -> list[np.ndarray]:
    """The scatters, both divided by a power of two where their products would leave the range of floating point;
    ``S⁻¹ # D`` does not change.
    """
    size = max(float(np.trace(C)) for C in scatters)
    if not np.isfinite(size) or (size == 0.0 and np.ptp(X, axis=0).any()):
        raise ValueError(
            f"AML: the squared distances between points are too {'small' if size == 0.0 else 'large'} for floating "
            "point; bring the features to another scale, for example with StandardScaler."
        )
    if size == 0.0:
        warnings.warn("AML: all rows are the same, so there is nothing to learn.", ConvergenceWarning, stacklevel=4)
    if size == 0.0 or _MIN_SCATTER < size < 1.0 / _MIN_SCATTER:
        return list(scatters)
    return [np.ldexp(C, -int(np.frexp(size)[1])) for C in scatters]


def _geometric_mean(S: np.ndarray, D: np.ndarray) -> np.ndarray:
    """``S⁻¹ # D = S^-½ (S^½ D S^½)^½ S^-½``, which minimises ``tr(M S) + tr(M⁻¹ D)``."""
    values, V = np.linalg.eigh(S)
    root, inverse = (V * np.sqrt(values)) @ V.T, (V / np.sqrt(values)) @ V.T
    inner, U = np.linalg.eigh(root @ D @ root)
    M = inverse @ ((U * np.sqrt(np.maximum(inner, 0.0))) @ U.T) @ inverse
    return (M + M.T) / 2


def _loss(M: np.ndarray, S: np.ndarray, D: np.ndarray, counts: np.ndarray) -> float:
    """``tr(M S) + tr(M⁻¹ D)``."""
    return float(counts @ (np.einsum("ij,ij->i", M, S) + np.linalg.solve(M, D).diagonal()))


def _size(M: np.ndarray, counts: np.ndarray) -> float:
    """The Frobenius norm."""
    return float(np.sqrt(counts @ np.einsum("ij,ij->i", M, M)))
