"""The paper's generalisation bound, and its adversarial test: points move to their closest adversarial examples."""

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from sklearn.utils import check_X_y
from sklearn.utils.validation import check_is_fitted

from holdfast.base.inputs import check_number
from holdfast.base.neighbors import nearest_by_class
from holdfast.learn.margins import adversarial_margin, closest_adversarial


@dataclass(frozen=True)
class GeneralizationBound:
    """``n̂/n³ + B ((n³ − n̂)/n³ + 3 √((2K ln 2 + 2 ln 1/δ)/n))``, and its parts; logs are natural.

    Attributes
    ----------
    n : int
        Training rows.
    n_hat : int
        n̂: ordered triplets (i, j, l) with ``y_i = y_j ≠ y_l`` whose adversarial margin exceeds tau.
    n_admissible : int
        Number of such triplets, whatever their margin.
    tau, delta : float
        The required margin; the probability with which the bound may fail.
    B : float
        Upper bound of the loss.
    log_K : float
        Log of ``K = C (1 + 2R/τ)^p``, the number of cells that cover points of length at most R, times C classes.
    log_deviation : float
        Log of ``3 √((2K ln 2 + 2 ln 1/δ)/n)``.
    log_bound : float
        Log of the bound itself.
    """

    n: int
    n_hat: int
    n_admissible: int
    tau: float
    delta: float
    B: float
    log_K: float
    log_deviation: float
    log_bound: float

    @property
    def bound(self) -> float:
        """The bound; inf where it is too large for a float (e^709 is the largest)."""
        return math.exp(self.log_bound) if self.log_bound < 700 else math.inf

    @property
    def vacuous(self) -> bool:
        """True if the bound is no better than B: two losses in [0, B] never differ by more."""
        return self.log_bound >= math.log(self.B)

    def __str__(self) -> str:
        cubed = self.n**3
        lines = [
            f"Theorem 1, with probability at least {1 - self.delta:g}: |test loss − training loss| "
            f"≤ 10^{self.log_bound / math.log(10):.4g}",
            f"  triplets with a margin above tau={self.tau:g}: {self.n_hat} of {cubed} "
            f"({self.n_admissible} admissible)",
            f"  robust part n̂/n³ = {self.n_hat / cubed:.4g}",
            f"  other part B (n³ − n̂)/n³ = {self.B * (cubed - self.n_hat) / cubed:.4g}, B = {self.B:.4g}",
            f"  deviation 3 √((2K ln 2 + 2 ln 1/δ)/n) = 10^{self.log_deviation / math.log(10):.4g}, "
            f"K = 10^{self.log_K / math.log(10):.4g}",
        ]
        if self.vacuous:
            lines.append(f"  VACUOUS: it is not below B = {self.B:.4g}, which no difference can exceed.")
        return "\n".join(lines)


def generalization_bound(learner, X, y, tau: float, delta: float = 0.05, B: float | None = None) -> GeneralizationBound:
    """``|L − L_emp| ≤ n̂/n³ + B ((n³ − n̂)/n³ + 3 √((2K ln 2 + 2 ln 1/δ)/n))``, Theorem 1 of the paper.

    n̂ is counted over all n³ ordered triplets, as in the theorem: n² memory and n³ time, about a second
    for 1000 rows. Large numbers are kept as logs, since K overflows. Expect the bound to be vacuous: K is
    exponential in the number of features, and half of all triplets or more are not admissible. Its use is
    to show how the parts change with tau.

    Parameters
    ----------
    learner : fitted learner
    X, y : array-like
        The training data.
    tau : float
        The required margin.
    delta : float, default=0.05
        The bound fails with at most this probability.
    B : float or None, default=None
        Upper bound of the loss ``[1 + d²(i, j) − d²(i, l)]₊``; None is ``1 + (2R)² λ_max(M)``, the largest
        value among points of length R, the longest row. The paper has R = 1.

    Returns
    -------
    GeneralizationBound
        ``print`` shows its parts.

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", Theorem 1 and
    supplement C. Bellet and Habrard, "Robustness and generalization for metric learning", Neurocomputing
    151, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import LMNN
    >>> from holdfast.paper import generalization_bound
    >>> X, y = load_iris(return_X_y=True)
    >>> generalization_bound(LMNN().fit(X, y), X, y, tau=0.1).vacuous
    True
    """
    check_is_fitted(learner)
    check_number("generalization_bound", "tau", tau, above=0)
    check_number("generalization_bound", "delta", delta, above=0, below=1)
    X, y = check_X_y(X, y, dtype=np.float64)
    labels, codes = np.unique(y, return_inverse=True)
    M = learner.get_mahalanobis_matrix()
    n, p = X.shape
    R = float(np.linalg.norm(X, axis=1).max()) or 1.0
    if B is None:
        B = 1.0 + 4.0 * R**2 * float(np.linalg.eigvalsh(M)[-1])
    check_number("generalization_bound", "B", B, above=0)
    Y = X @ M
    n_hat, n_admissible = _count_triplets(_pair_forms(X, Y), _pair_forms(Y, Y), codes, float(tau))
    log_K = math.log(labels.size) + p * math.log1p(2.0 * R / tau)
    inside = np.logaddexp(math.log(2.0 * math.log(2.0)) + log_K, math.log(2.0 * math.log(1.0 / delta)))
    log_deviation = math.log(3.0) + (float(inside) - math.log(n)) / 2.0
    log_other = math.log((n**3 - n_hat) / n**3)  # n̂ < n³: triplets with i = j = l are never admissible
    log_bound = math.log(B) + float(np.logaddexp(log_other, log_deviation))
    if n_hat:
        log_bound = float(np.logaddexp(math.log(n_hat / n**3), log_bound))
    return GeneralizationBound(
        n, n_hat, n_admissible, float(tau), float(delta), float(B), log_K, log_deviation, log_bound
    )


def _pair_forms(U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """``(u_i − u_j)·(v_i − v_j)`` of all pairs, for U and V with a symmetric ``U Vᵀ``."""
    G = U @ V.T
    G = (G + G.T) / 2
    squares = np.diag(G)
    return np.maximum(squares[:, None] + squares - 2.0 * G, 0.0)


@njit(cache=True)
def _count_triplets(distance, slope, y, tau):
    """Number of admissible triplets with ``d_il − d_ij > 2 τ √h_jl``, and of all admissible triplets."""
    n = y.size
    robust = admissible = 0
    for j in range(n):
        for l in range(n):
            if y[l] != y[j]:
                limit = 2.0 * tau * np.sqrt(slope[j, l])
                for i in range(n):
                    if y[i] == y[j] and i != j:
                        admissible += 1
                        if distance[i, l] - distance[i, j] > limit:
                            robust += 1
    return robust, admissible


# -- the adversarial test ---------------------------------------------------------------------------


def nearest_triplets(L: np.ndarray, X, y, reference, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The nearest target and impostor of each row among ``reference = (X_train, y_train)``, under ``M = LᵀL``: two
    arrays (n_samples, n_features).
    """
    X, y = check_X_y(X, y, dtype=np.float64)
    points, labels = check_X_y(*reference, dtype=np.float64)
    classes, codes = np.unique(np.concatenate([labels, y]), return_inverse=True)
    reference_codes, row_codes = codes[: labels.size], codes[labels.size :]
    same, other = nearest_by_class(points @ L.T, reference_codes, 1, 1, n_jobs, (X @ L.T, row_codes))
    for index, what in ((same, "no point of that class"), (other, "no point of any other class")):
        missing = np.flatnonzero(index[:, 0] < 0)
        if missing.size:
            label = classes[row_codes[missing[0]]]
            raise ValueError(f"Row {missing[0]} has label {label!s}, but reference has {what}.")
    return points[same[:, 0]], points[other[:, 0]]


def margins(L: np.ndarray, X, y, reference, n_jobs: int | None = None) -> np.ndarray:
    """Signed adversarial margin of each row, for its nearest target and impostor (Eq. 3).

    It is a property of one triplet, not yet a certificate of a prediction.

    Parameters
    ----------
    L : ndarray of shape (n_components, n_features)
        The metric, ``M = LᵀL``.
    X, y : array-like
        Points and their true labels.
    reference : tuple (X_train, y_train)
        Where targets (same label) and impostors (another) are taken from.
    n_jobs : int or None
        Threads.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    target, impostor = nearest_triplets(L, X, y, reference, n_jobs)
    return adversarial_margin(L.T @ L, X, target, impostor)


def adversarial_move(L: np.ndarray, X, y, reference, size: float, n_jobs: int | None = None):
    """``x + size · (x_min − x)/‖x_min − x‖``: each row moved towards its nearest boundary (Eq. 2).

    A row that already lies on the wrong side, or on the boundary, stays where it is. (The paper does not
    state what it did with such rows; this reading gives its Euclidean score on its own splits of australian.)

    Parameters
    ----------
    L, X, y, reference, n_jobs
        As for :func:`margins`.
    size : float
        Euclidean length of the move.

    Returns
    -------
    ndarray of shape (n_samples, n_features)

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", supplement E.
    """
    X = np.asarray(X, dtype=np.float64)
    target, impostor = nearest_triplets(L, X, y, reference, n_jobs)
    M = L.T @ L
    direction = closest_adversarial(M, X, target, impostor) - X
    direction[adversarial_margin(M, X, target, impostor) <= 0] = 0.0
    length = np.linalg.norm(direction, axis=1, keepdims=True)
    return X + size * np.divide(direction, length, out=np.zeros_like(X), where=length > 0)
