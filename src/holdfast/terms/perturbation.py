"""Perturbation: small adversarial margins are penalised, in the input space."""

import numpy as np
from numba import njit

from holdfast.geometry.shape import slope_matrix
from holdfast.terms.base import Partials, TripletTerm, check_positive

EPS = 1e-10  # keeps r² finite where target and impostor coincide; the paper's value


class Perturbation(TripletTerm):
    """``Σ_R ([τ² − r²]₊ if f > 0 else τ²)``, ``f = b − a``, ``r² = f² / (4(h + ε))``.

    r is the adversarial margin (Eq. 3): the distance, in the input space, from a point to the nearest
    place where its target is no longer nearer than its impostor. The term plugs into any learner that
    has triplets: ``LMNN(perturbation=Perturbation(tau=0.2, weight=4.0))``.

    Parameters
    ----------
    tau : float
        The margin asked for, in the units of the input (of the shape, if one is given).
    weight : float
        Weight of the term in the objective, the paper's λ.
    shape : array-like of shape (n_inputs, n_inputs) or (n_inputs,), or None
        ``A_0``: perturbations of equal size lie on ``δᵀ A_0 δ = r²``. A vector is its diagonal.
    reduction : array-like of shape (n_features, n_inputs), a fitted PCA, or None
        ``D``, if the learner sees ``z = D x`` while perturbations happen to x: a matrix, or a fitted
        transformer with ``components_``.

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", Eq. 4 and
    supplement A.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import Perturbation
    >>> a, b, h = np.array([1.0]), np.array([3.0]), np.array([4.0])      # r² = 4 / 16
    >>> value, *_ = Perturbation(tau=1.0).value_and_partials(a, b, h)
    >>> round(value, 9)
    0.75
    """

    reads_h = True

    def __init__(self, tau: float = 0.2, weight: float = 1.0, shape=None, reduction=None):
        self.tau = tau
        self.weight = weight
        self.shape = shape
        self.reduction = reduction

    def value_and_partials(self, a, b, h) -> Partials:
        """The sum; where f > 0 and r ≤ τ: ∂b = −f/2(h+ε) = −∂a, ∂h = f²/4(h+ε)²."""
        return _perturbation(a, b, h, float(self.tau))

    def slope_matrix(self, n_features: int) -> np.ndarray | None:
        """``B = D A_0⁻¹ Dᵀ`` for points of n_features; None for the identity."""
        D = getattr(self.reduction, "components_", self.reduction)
        return slope_matrix(n_features, self.shape, D)

    def check(self) -> None:
        """Refuse a margin or weight that is not positive."""
        check_positive("Perturbation", "tau", self.tau)
        check_positive("Perturbation", "weight", self.weight)


@njit(nogil=True, cache=True)
def _perturbation(a, b, h, tau):
    da = np.zeros_like(a)
    db = np.zeros_like(a)
    dh = np.zeros_like(a)
    total = 0.0
    for t in range(a.size):
        f = b[t] - a[t]
        if f <= 0.0:
            total += tau * tau
            continue
        half = f / (2.0 * (h[t] + EPS))
        r2 = half * half * (h[t] + EPS)
        if r2 <= tau * tau:
            total += tau * tau - r2
            da[t] = half
            db[t] = -half
            dh[t] = half * half
    return total, da, db, dh
