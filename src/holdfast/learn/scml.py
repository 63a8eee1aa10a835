"""Sparse compositional metric learning, with or without the perturbation loss, and the bases it weighs."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from holdfast.base.inputs import check_count, check_number
from holdfast.learn.learner import Precomputed, TermLearner, default_start
from holdfast.learn.objective import Objective, Terms
from holdfast.learn.rows import TripletRows
from holdfast.learn.safeguards import Span
from holdfast.learn.solvers import Solution, Solver
from holdfast.learn.spaces import BasisWeights, Space
from holdfast.learn.supervision import Triplets, centres
from holdfast.learn.terms import Push, Trace

_SAMPLE_SIZE = 20_000  # rows of a Dask collection that the bases are made from; they fit the memory of this process
_IN_SPAN = 1e-12  # of the squared length of a unit vector that may be lost: a few roundings of sums over features
# Sizes of a region, in points of the class and in points of other classes. Every region is used on both scales, which
# are those of metric-learn's SCML.
_SCALES = (10, 20)
_RIDGE = 1e-2  # times the mean variance in a region, added to its within-class scatter


class SCML(TermLearner):
    """``push + eta · ‖w‖₁ + weight · perturbation``, over ``M = Σ_k w_k b_k b_kᵀ`` with ``w ≥ 0``.

    The b_k have unit norm, so that ``‖w‖₁ = tr M``. With a :class:`~holdfast.Perturbation` this is the
    paper's SCML-PL, without it SCML. The objective and its gradient go through M: triplets × bases are
    never held, and features may outnumber triplets.

    Parameters
    ----------
    n_neighbors, n_impostors
        Targets and impostors per point, as for :class:`~holdfast.LMNN`.
    n_basis : int or None, default=None
        How many bases to make, at most. None is the paper's choice: 200 for fewer than 500 points, 400 for
        more, 1000 from 10,000 points or 100 features on.
    eta : float, default=0.0003
        Weight of the L1 norm: the larger, the fewer bases are used. At least 0. On rows of unit length, as the paper
        has them, 0.01 leaves so few bases on images that k-NN is far less accurate than Euclidean k-NN
        (measured, benchmarks/frontier); with 0.0003 it is at least as accurate on all of 20 sets.
    basis : array-like of shape (n_basis, n_features) or None, default=None
        Bases of your own, scaled to unit norm. None makes Fisher discriminants of local regions; see
        ``local_bases``. From a Dask collection they are made of a random sample
        of about 20,000 rows, in which every class has its share.
    perturbation : Perturbation or None, default=None
        The loss that enlarges the adversarial margin.
    solver : solver or None, default=None
        None is :class:`~holdfast.learn.solvers.LBFGS`, its weights bounded below by 0.
        :class:`~holdfast.learn.solvers.AcceleratedProximalGradient` is the paper's; measured on australian, sonar
        and segment, with and without perturbation loss, it takes three times as long for an objective
        within 0.5 % of the same value.
    init : array-like of shape (n_basis,) or None, default=None
        The weights to start from, for the given ``basis``; None is ones, which the default solver first
        brings to the scale of the data.
    random_state : int, RandomState or None, default=None
        Seeds the k-means behind the bases.
    neighbors, n_jobs, callback, verbose, validation_fraction
        As for :class:`~holdfast.LMNN`.

    Attributes
    ----------
    basis_ : ndarray of shape (n_basis, n_features)
        The b_k.
    w_ : ndarray of shape (n_basis,)
        Their weights, of which many are exactly 0.
    n_active_basis_ : int
        How many are not.
    components_, objective_, n_iter_, n_evaluations_, validation_loss_, n_features_in_, feature_names_in_
        As for :class:`~holdfast.LMNN`.

    References
    ----------
    Shi, Bellet and Sha, "Sparse compositional metric learning", AAAI 2014. Yang, Guo, Dong and Xue, "Towards
    certified robustness of distance metric learning", supplement B.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import SCML
    >>> X, y = load_iris(return_X_y=True)
    >>> scml = SCML(n_basis=50, random_state=0).fit(X, y)
    >>> bool(scml.n_active_basis_ < len(scml.w_))
    True
    """

    _collapse_advice = "Lower eta"
    _optimal_in_span = True  # where the bases lie in it; Fisher discriminants do

    def __init__(
        self,
        n_neighbors: int = 3,
        n_impostors: int | None = 10,
        n_basis: int | None = None,
        eta: float = 0.0003,
        basis=None,
        perturbation=None,
        solver=None,
        init=None,
        neighbors="exact",
        random_state=None,
        n_jobs: int | None = None,
        callback=None,
        verbose: int = 0,
        validation_fraction: float | str | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.n_impostors = n_impostors
        self.n_basis = n_basis
        self.eta = eta
        self.basis = basis
        self.perturbation = perturbation
        self.solver = solver
        self.init = init
        self.neighbors = neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.validation_fraction = validation_fraction

    def make_terms(self) -> Terms:
        """Push and the trace, which is the L1 norm of the weights."""
        return [(1.0, Push()), (self.eta, Trace())]

    def make_space(self, solver: Solver, objective: Objective) -> Space:
        """Non-negative weights of the bases."""
        in_span = self.basis_.shape[1] != objective.n_features
        return BasisWeights(self._basis_in_span if in_span else self.basis_, self._check_weights())

    def make_basis(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The bases that ``fit(X, y)`` would make; pass them as ``basis`` to make them once for many fits."""
        return local_bases(X, y, self._n_basis(X), self.random_state)

    def precompute(self, X: np.ndarray, y: np.ndarray) -> Precomputed:
        """The triplets of these rows, and the bases, unless they were given."""
        parameters = {"basis": self.make_basis(X, y)} if self.basis is None else {}
        return Precomputed(parameters, super().precompute(X, y).arguments)

    def warm_start(self) -> dict[str, Any]:
        """The bases and their weights."""
        return {"basis": self.basis_, "init": self.w_}

    def _check(self) -> None:
        check_number("SCML", "eta", self.eta, at_least=0)
        if self.n_basis is not None:
            check_count("SCML", "n_basis", self.n_basis)

    def _prepare(self, data: TripletRows) -> None:
        if self.basis is not None:
            self.basis_ = check_bases(self.basis, data.shape[1])
        elif data.labelled:
            self.basis_ = self.make_basis(*data.sample(_SAMPLE_SIZE, self.random_state))
        else:
            points, triplets = data.points_and_triplets()
            self.basis_ = triplet_bases(points, triplets, self._n_basis(points), self.random_state)

    def _in_span(self, span: Span) -> Span | None:
        """The span if all bases lie in it, to rounding: then ``tr M``, too, is that of the metric on the span."""
        self._basis_in_span = self.basis_ @ span.Q
        lengths = np.einsum("kr,kr->k", self._basis_in_span, self._basis_in_span)
        return span if (np.abs(lengths - 1.0) <= _IN_SPAN).all() else None

    def _n_basis(self, X: np.ndarray) -> int:
        if self.n_basis is not None:
            return self.n_basis
        n, p = X.shape
        return 1000 if n >= 10_000 or p >= 100 else 400 if n >= 500 else 200

    def _start(self, objective: Objective, solver: Solver, span: Span | None) -> np.ndarray:
        return default_start(objective, solver, "SCML")  # init holds weights, which the space starts from

    def _check_weights(self) -> np.ndarray | None:
        """The weights that the user chose to start from, checked."""
        if self.init is None:
            return None
        w = np.asarray(self.init, dtype=np.float64)
        if w.shape != (len(self.basis_),) or not (np.isfinite(w).all() and w.min() >= 0):
            raise ValueError(
                f"SCML: init must be {len(self.basis_)} weights of at least 0, one per basis; got shape {w.shape}."
            )
        return w

    def _store(self, solution: Solution) -> None:
        self.__dict__.pop("_basis_in_span", None)
        self.w_ = solution.x
        self.n_active_basis_ = int(np.count_nonzero(solution.x))


# -- bases ------------------------------------------------------------------------------------------


def local_bases(X: np.ndarray, y: np.ndarray, n_basis: int, random_state=None) -> np.ndarray:
    """At most n_basis Fisher discriminants of local regions: ``b ∝ (S_w + ridge · I)⁻¹ (m_same − m_other)``, unit norm
    (Shi, Bellet and Sha, AAAI 2014, section 3). Regions: the 10 (20) nearest points of the class and of other classes
    around each k-means centre of a class; m are their two means, S_w is their scatter about them.

    >>> import numpy as np
    >>> from holdfast.learn.scml import local_bases
    >>> X, y = np.array([[0.0, 1.0], [0.0, 2.0], [9.0, 1.0], [9.0, 2.0]]), np.array([0, 0, 1, 1])
    >>> np.abs(local_bases(X, y, n_basis=2, random_state=0)).round(6).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    rng = check_random_state(random_state)
    classes, sizes = np.unique(y, return_counts=True)
    regions = -(-n_basis // len(_SCALES))
    shares = np.minimum(np.maximum(1, np.round(regions * sizes / sizes.sum()).astype(int)), sizes)
    found = []
    for c, share in zip(classes, shares, strict=True):
        same, other = X[y == c], X[y != c]
        for centre in centres(same, share, rng):
            near = _nearest(same, centre), _nearest(other, centre)
            found += [_fisher(same[near[0][:size]], other[near[1][:size]]) for size in _SCALES]
    return _sample_nonzero(found, n_basis, rng)


def triplet_bases(X: np.ndarray, triplets: Triplets, n_basis: int, random_state=None) -> np.ndarray:
    """:func:`local_bases` from triplets: centres come from k-means among the anchors i; a region holds the 5 (10)
    anchors nearest to its centre, and they and their targets j are discriminated from their impostors l.
    """
    rng = check_random_state(random_state)
    by_anchor = np.argsort(triplets.i, kind="stable")
    anchors, starts = np.unique(triplets.i[by_anchor], return_index=True)
    groups = np.split(by_anchor, starts[1:])  # positions in R, by anchor
    points = X[anchors]
    regions = min(-(-n_basis // len(_SCALES)), anchors.size)
    found = []
    for centre in centres(points, regions, rng):
        near = _nearest(points, centre)
        for size in _SCALES:
            inside = np.concatenate([groups[g] for g in near[: size // 2]])
            same = np.union1d(triplets.i[inside], triplets.j[inside])
            found.append(_fisher(X[same], X[np.unique(triplets.l[inside])]))
    return _sample_nonzero(found, n_basis, rng)


def check_bases(basis, n_features: int) -> np.ndarray:
    """The user's bases scaled to unit norm; ``ValueError`` if their shape is wrong or a row is zero or not finite."""
    rows = np.asarray(basis, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] < 1 or rows.shape[1] != n_features:
        raise ValueError(f"basis must have shape (n_basis, {n_features}), one row per basis vector; got {rows.shape}.")
    norm = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(rows).all() and norm.min() > 0):
        raise ValueError("basis must consist of finite rows, none of them zero.")
    return rows / norm


def _nearest(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Indices of the points nearest to a centre, nearest first, as many as the largest scale has."""
    difference = points - centre
    d = np.einsum("np,np->n", difference, difference)
    few = min(max(_SCALES), d.size)
    chosen = np.argpartition(d, few - 1)[:few]
    return chosen[np.argsort(d[chosen], kind="stable")]


def _fisher(same: np.ndarray, other: np.ndarray) -> np.ndarray:
    """``(ZᵀZ/m + ridge · I)⁻¹ (m_same − m_other)``, unit norm, by an m × m system: m points, any p."""
    means = same.mean(axis=0), other.mean(axis=0)
    Z = np.vstack([same - means[0], other - means[1]])
    m, p = Z.shape
    gap = means[0] - means[1]
    # Without scatter (single points) only the ridge is left, and the direction is the gap itself.
    ridge = m * _RIDGE * (np.vdot(Z, Z) / (m * p) or 1.0)
    if p <= m:
        b = np.linalg.solve(Z.T @ Z + ridge * np.eye(p), gap)
    else:
        b = gap - Z.T @ np.linalg.solve(Z @ Z.T + ridge * np.eye(m), Z @ gap)
    norm = np.linalg.norm(b)
    return b / norm if norm > 0 else np.zeros(p)


def _sample_nonzero(found: list[np.ndarray], n_basis: int, rng) -> np.ndarray:
    """At most n_basis of the directions found, drawn at random, without zeros; the first axis if all are zero."""
    rows = np.array([b for b in found if b.any()])
    if not rows.size:
        return np.eye(1, found[0].size)
    if rows.shape[0] > n_basis:
        rows = rows[np.sort(rng.choice(rows.shape[0], n_basis, replace=False))]
    return rows
