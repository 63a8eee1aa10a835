"""Adversarial metric learning: pairs that are made harder, and a metric that still separates them."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from holdfast.backends import refuse_collection
from holdfast.learn.geometry import Triplets, scatters
from holdfast.learn.spaces import components_of
from holdfast.learners.failures import explained_failures
from holdfast.learners.mining import mine
from holdfast.learners.ranges import Ranges
from holdfast.learners.span import Span
from holdfast.learners.triplet_learner import TripletLearner
from holdfast.numerics.threads import single_threaded_blas
from holdfast.parameters import check_count, check_number

_MIN_SCATTER = 1e-50  # of scatters: products of up to three of them, and their inverses, are then far from 1e±308
_MAX_STRETCH = 3.0  # of a direction of a pair's difference; chosen here, see the class


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

    def default_ranges(self) -> Ranges:
        """A small grid: the paper names no ranges."""
        return {"alpha": [0.1, 1.0, 10.0], "beta": [10.0, 30.0, 100.0]}

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
        X, triplets = mine(self, X, y, triplets).points_and_triplets()
        with single_threaded_blas(), explained_failures("AML"):
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
        """The means over R of ``X_ij`` and ``X_il``, made positive definite; how many directions each row stands for.

        That is 1. But if the points are on a span of fewer directions than features, the ridge alone is seen outside of
        it, and M is there a multiple of the identity: one more row and column stands for all the directions outside.
        """
        found = _in_range(scatters(X - X.mean(axis=0), triplets, self.n_jobs), X)
        outside = n_features - X.shape[1]
        counts = np.array([1.0] * X.shape[1] + [outside] * (outside > 0))
        wide = np.zeros((2, counts.size, counts.size))
        for C, room in zip(found, wide, strict=True):
            room[: len(C), : len(C)] = C
            room += self.ridge * (np.trace(C) / n_features or 1.0) * np.eye(len(room))
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
    """The scatters, both divided by a power of two where their products would leave the range of floating point.

    ``S⁻¹ # D`` does not change if S and D are scaled alike.
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
