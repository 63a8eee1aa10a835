"""What keeps a fit from going wrong: a default loss, the span of the rows, early stopping, a check of the vote."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from holdfast.base.inputs import check_number
from holdfast.learn.objective import Objective, Terms
from holdfast.learn.rows import TripletRows
from holdfast.learn.solvers import Solution, StopReason
from holdfast.learn.spaces import components_of_factor
from holdfast.learn.supervision import Triplets
from holdfast.learn.terms import Perturbation, TripletTerm

AUTO = "auto"
# Chosen by measurement over 13 UCI sets, 8 larger ones and raw units (benchmarks/frontier/README.md): margins of a
# quarter of the distance to impostors, and a loss that is at most a third of the hinge's margin.
_TAU = 0.25  # of the root mean square distance to impostors
STRENGTH = 0.3  # weight · tau²: the most that the loss can add
AUTO_FRACTION = 0.2  # held out by "auto"; chosen by measurement, see benchmarks/yang/FINDINGS.md
AUTO_ROWS = 50  # with fewer rows "auto" holds none out: ten of them say little
_MIN_MEAN_SQUARE = 1e-300  # of a mean squared distance: the metric that brings it to 1 must not overflow
_PATIENCE = 10  # iterations without a lower loss after which a fit ends, as n_iter_no_change in scikit-learn
# At most 300 queries, classified by at most 2000 rows: a few percent of the time of a fit.
_MAX_QUERIES, _MAX_ROWS = 300, 2000
_FIRST_QUERIES = 75  # tried first: if the learned metric loses at most one of them, the others are not tried
_N_NEIGHBORS = 3
_STANDARD_ERRORS = 3.0  # of a paired difference: chance alone exceeds them once in 700 fits
_MIN_LOSS = 0.02  # share of the queries that must be lost besides, for a difference that matters


@dataclass(frozen=True, eq=False)
class Span:
    """``span {x_i − x_j}``: rows are ``mean + Q z``, metrics ``M = Q M_z Qᵀ``. With more features than rows a metric is
    learned there, at the cost of n × n matrices; what a new row has outside the span is equally far from every training
    row.
    """

    mean: np.ndarray
    Q: np.ndarray  # (n_features, n_directions): orthonormal columns

    @classmethod
    def of(cls, X: np.ndarray) -> "Span":
        """The span of the rows of X, by a singular value decomposition; directions lost in rounding are left out."""
        mean = X.mean(axis=0)
        _, values, V = np.linalg.svd(X - mean, full_matrices=False)
        rank = int(np.sum(values > max(X.shape) * np.finfo(float).eps * values[0]))
        return cls(mean, np.ascontiguousarray(V[: max(rank, 1)].T))  # one direction, if all rows are the same

    def project(self, X: np.ndarray) -> np.ndarray:
        """``z = Qᵀ (x − mean)`` of rows x."""
        return (X - self.mean) @ self.Q

    def restrict(self, A: np.ndarray) -> np.ndarray:
        """``Qᵀ A Q``: a quadratic form on the span."""
        return self.Q.T @ A @ self.Q

    def components(self, L: np.ndarray) -> np.ndarray:
        """``L Qᵀ``: the linear map L after the projection, as one map of the features."""
        return components_of_factor(L @ self.Q.T)

    def diagonal(self, M: np.ndarray) -> np.ndarray:
        """The diagonal of ``Q M Qᵀ``, of shape (n_features,)."""
        return np.einsum("ij,ij->i", self.Q @ M, self.Q)


def finite_scatters(scatters: tuple[np.ndarray, np.ndarray], owner: str) -> tuple[np.ndarray, np.ndarray]:
    """The means over R of ``X_ij`` and of ``X_il``; ``ValueError`` if they overflow, or nearly vanish."""
    finite = all(np.isfinite(C).all() for C in scatters)
    if not finite or 0.0 < max(np.trace(C) for C in scatters) < _MIN_MEAN_SQUARE:
        size, other = ("small", "larger") if finite else ("large", "smaller")
        raise ValueError(
            f"{owner}: the squared distances between points are too {size} for floating point; bring the features to a "
            f"{other} scale, for example with StandardScaler."
        )
    return scatters


# -- the default perturbation loss ------------------------------------------------------------------


def default_loss(data: TripletRows, owner: str, n_jobs: int | None) -> Perturbation | None:
    """``tau = ¼ √(mean d²(i, l))``, ``weight = 0.3 / tau²``; None if the rows do not differ. Moves are measured by
    ``A_0 = diag(s̄ / s_k)``, s_k the standard deviations and s̄² the mean variance: halfway between features as they
    are and standardised ones, which would undo a PCA. With more features than rows it is the identity.
    """
    C = finite_scatters(data.scatters(n_jobs), owner)[1]
    n, p = data.shape
    shape = None
    spread = np.diag(C)
    if p <= n:
        deviations = np.sqrt(data.variances())
        mean = np.sqrt(np.mean(deviations**2))
        shape = np.divide(mean, deviations, out=np.ones(p), where=deviations > 1e-12 * mean)
        spread = spread * shape
    tau = _TAU * float(np.sqrt(spread.sum()))
    return Perturbation(tau, STRENGTH / tau**2, shape=shape) if tau > 0 and np.isfinite(STRENGTH / tau**2) else None


# -- early stopping on held-out rows ----------------------------------------------------------------


class Validation:
    """``Σ weight · mean(term)`` over the triplets of held-out anchors, after every iteration; it keeps the best. A fit
    can go on lowering its loss in directions that no held-out row confirms (``benchmarks/yang/FINDINGS.md``).
    """

    def __init__(self, X, triplets: Triplets, terms: Terms, B, n_jobs: int | None):
        over_R = [(weight, term) for weight, term in terms if isinstance(term, TripletTerm) and term.over == "R"]
        self._objective = Objective(X, triplets, over_R, B, n_jobs)
        self.losses: list[float] = []
        self._best, self._best_x = 0, np.empty(0)  # the iteration of the lowest loss, and its parameters

    def __call__(self, M: np.ndarray, x: np.ndarray) -> bool:
        """Record the loss of ``M = M(x)``; True if the fit should end."""
        self.losses.append(self._objective(M)[0])
        last = len(self.losses) - 1
        if last == 0 or self.losses[last] < self.losses[self._best]:
            self._best, self._best_x = last, x.copy()
        return last - self._best >= _PATIENCE

    def choose(self, solution: Solution, stopped: bool) -> Solution:
        """The solution at the iteration of the lowest loss; ``stopped`` says that the validation ended the run."""
        found = replace(solution, x=self._best_x, value=solution.trace[self._best])
        if not stopped:
            return found
        reason = StopReason.VALIDATION
        return replace(found, reason=reason, message=reason.sentence(patience=_PATIENCE))

    def __enter__(self) -> "Validation":
        return self

    def __exit__(self, *exc) -> None:
        self._objective.close()


def check_fraction(owner: str, fraction) -> None:
    """Raise ``ValueError`` unless this is None, "auto" or a number in (0, 1)."""
    if isinstance(fraction, str) and fraction != "auto":
        raise ValueError(f"{owner}: validation_fraction must be None, 'auto' or a number; got {fraction!r}.")
    if fraction is not None and not isinstance(fraction, str):
        check_number(owner, "validation_fraction", fraction, above=0, below=1)


def split_for_validation(X: np.ndarray, triplets: Triplets, fraction: float) -> tuple[Triplets, Triplets]:
    """The triplets to fit, and those to validate on. Rows are held out, not triplets: the fit names none of them, and
    the other two points of a validation triplet are rows of the fit.
    """
    out = held_out(X, fraction)
    inside = ~out[triplets.j] & ~out[triplets.l]
    return triplets.take(inside & ~out[triplets.i]), triplets.take(inside & out[triplets.i])


def held_out(X: np.ndarray, fraction: float) -> np.ndarray:
    """Mask of rows to hold out: evenly spaced in the lexicographic order, so the given order does not matter.

    >>> held_out(np.array([[3.0], [1.0], [4.0], [2.0]]), 0.5).tolist()
    [True, True, False, False]
    """
    n = len(X)
    so_far = np.floor(fraction * np.arange(n + 1) + 0.5)
    mask = np.zeros(n, dtype=bool)
    mask[np.lexsort(X.T[::-1])[np.diff(so_far) > 0]] = True
    return mask


# -- does the vote get worse? -----------------------------------------------------------------------


class PoorMetricWarning(ConvergenceWarning):
    """Neighbours predict less accurately under the learned metric than under the Euclidean one, on training rows.

    Parameters
    ----------
    message : str
    """

    def __init__(self, message: str = ""):
        super().__init__(message)


@dataclass(frozen=True, eq=False)
class VoteCheck:
    """Compares leave-one-out 3-NN under a learned metric with the Euclidean distance, on a sample of training rows."""

    X: np.ndarray
    y: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray) -> "VoteCheck":
        """A check on at most 2000 evenly spaced rows."""
        sampled = _evenly_spaced(len(X), _MAX_ROWS)
        if len(sampled) < len(X):
            X, y = X[sampled], y[sampled]
        return cls(X, np.unique(y, return_inverse=True)[1])

    def warn(self, owner: str, L: np.ndarray, advice: str) -> None:
        """Warn if k-NN under the metric ``LᵀL`` is clearly less accurate, with both accuracies in the message."""
        if len(self.X) <= 2 * _N_NEIGHBORS:
            return
        queries = _evenly_spaced(len(self.X), _MAX_QUERIES)
        mapped, first = self.X @ L.T, queries[:: max(1, len(queries) // _FIRST_QUERIES)]
        wrong = first[~self._right(mapped, first)]
        if wrong.size <= 1 or self._right(self.X, wrong).sum() <= 1:  # most metrics return here
            return
        learned, euclidean = self._right(mapped, queries), self._right(self.X, queries)
        lost, won = int((euclidean & ~learned).sum()), int((learned & ~euclidean).sum())
        if lost - won <= max(_STANDARD_ERRORS * np.sqrt(lost + won), _MIN_LOSS * len(queries)):
            return
        rank, full_rank = np.linalg.matrix_rank(L), min(self.X.shape)
        low_rank = f" The metric has rank {rank} of {full_rank}." if rank < full_rank / 2 else ""
        warnings.warn(
            f"{owner}: {_N_NEIGHBORS} neighbours are right on {learned.mean():.0%} of {len(queries)} training rows "
            f"under the learned metric, on {euclidean.mean():.0%} under the Euclidean distance.{low_rank} {advice}.",
            PoorMetricWarning,
            stacklevel=4,
        )

    def _right(self, Z: np.ndarray, queries: np.ndarray) -> np.ndarray:
        """For each query, an index into the mapped rows Z: do most of its nearest other rows have its class?"""
        D = (-2.0 * Z[queries]) @ Z.T
        D += np.einsum("np,np->n", Z, Z)  # d² less ‖z‖² of the query: the same order
        every = np.arange(len(queries))
        D[every, queries] = np.inf
        votes = np.zeros(len(queries), dtype=np.int64)
        for _ in range(_N_NEIGHBORS):  # passes over D take less time than a partition of its rows
            nearest = D.argmin(axis=1)
            votes += self.y[nearest] == self.y[queries]
            D[every, nearest] = np.inf
        return votes > _N_NEIGHBORS / 2


def _evenly_spaced(n: int, most: int) -> np.ndarray:
    """At most so many of the indices 0 to n − 1, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
