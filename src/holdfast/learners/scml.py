"""Sparse compositional metric learning, with or without the perturbation loss."""

from collections.abc import Sequence

import numpy as np

from holdfast.constraints import local_bases, triplet_bases
from holdfast.constraints.bases import check_bases
from holdfast.learners.triplet_learner import Term, TripletLearner
from holdfast.objective import Objective
from holdfast.parameters import check_count, check_number
from holdfast.solvers import Solution, Solver
from holdfast.spaces import BasisWeights, Space
from holdfast.terms import Push, Trace

_ROWS = 20_000  # of a collection, bases are made from a sample of so many


class SCML(TripletLearner):
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
    eta : float, default=0.01
        Weight of the L1 norm: the larger, the fewer bases are used. At least 0.
    basis : array-like of shape (n_basis, n_features) or None, default=None
        Bases of your own, scaled to unit norm. None makes Fisher discriminants of local regions; see
        :func:`~holdfast.constraints.local_bases`. Of a Dask collection a random sample of about 20,000 rows is
        looked at, in which every class has its share.
    perturbation : Perturbation or None, default=None
        The loss that enlarges the adversarial margin.
    solver : solver or None, default=None
        None is :class:`~holdfast.solvers.LBFGS`, its weights bounded below by 0.
        :class:`~holdfast.solvers.AcceleratedProximalGradient` is the paper's; measured on australian, sonar
        and segment, with and without perturbation loss, it takes three times as long for an objective
        within 0.5 % of the same value.
    init : array-like of shape (n_basis,) or None, default=None
        The weights to start from, for the given ``basis``; None is ones, which the default solver first
        brings to the scale of the data.
    random_state : int, RandomState or None, default=None
        Seeds the k-means behind the bases.
    neighbors, n_jobs, callback, verbose
        As for :class:`~holdfast.LMNN`.

    Attributes
    ----------
    basis_ : ndarray of shape (n_basis, n_features)
        The b_k.
    w_ : ndarray of shape (n_basis,)
        Their weights, of which many are exactly 0.
    n_active_basis_ : int
        How many are not.
    components_, objective_, n_iter_, n_evaluations_, n_features_in_, feature_names_in_
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

    _when_collapsed = "Lower eta"

    def __init__(
        self,
        n_neighbors: int = 3,
        n_impostors: int | None = 10,
        n_basis: int | None = None,
        eta: float = 0.01,
        basis=None,
        perturbation=None,
        solver=None,
        init=None,
        neighbors="exact",
        random_state=None,
        n_jobs: int | None = None,
        callback=None,
        verbose: int = 0,
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

    def _terms(self) -> Sequence[tuple[float, Term]]:
        return [(1.0, Push()), (self.eta, Trace())]

    def _space(self, solver: Solver, objective: Objective) -> Space:
        return BasisWeights(self.basis_, self._weights())

    def _check(self) -> None:
        check_number("SCML", "eta", self.eta, at_least=0)
        if self.n_basis is not None:
            check_count("SCML", "n_basis", self.n_basis)

    def _look_at(self, data) -> None:
        if self.basis is not None:
            self.basis_ = check_bases(self.basis, data.shape[1])
        elif data.labelled:
            self.basis_ = self.make_basis(*data.sample(_ROWS, self.random_state))
        else:
            points, triplets = data.points_and_triplets()
            self.basis_ = triplet_bases(points, triplets, self._count(points), self.random_state)

    def make_basis(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The bases that ``fit(X, y)`` would make; pass them as ``basis`` to make them once for many fits."""
        return local_bases(X, y, self._count(X), self.random_state)

    def _count(self, X) -> int:
        if self.n_basis is not None:
            return self.n_basis
        n, p = X.shape
        return 1000 if n >= 10_000 or p >= 100 else 400 if n >= 500 else 200

    def _start(self, n_features: int) -> None:
        return None  # weights, not a metric: see _space

    def _weights(self) -> np.ndarray | None:
        """The weights the user chose to start from, checked."""
        if self.init is None:
            return None
        w = np.asarray(self.init, dtype=np.float64)
        if w.shape != (len(self.basis_),) or not (np.isfinite(w).all() and w.min() >= 0):
            raise ValueError(
                f"SCML: init must be {len(self.basis_)} weights of at least 0, one per basis; got shape {w.shape}."
            )
        return w

    def _resume(self) -> dict[str, object]:
        return {"basis": self.basis_, "init": self.w_}

    def _keep(self, solution: Solution) -> None:
        self.w_ = solution.x
        self.n_active_basis_ = int(np.count_nonzero(solution.x))
