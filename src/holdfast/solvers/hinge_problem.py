"""Hinges plus a gauge of the metric, in the form that a primal-dual method needs: the problem and its dual."""

import numpy as np

from holdfast.objective import Objective
from holdfast.terms import Push
from holdfast.terms.base import Gauge


class HingeProblem:
    """``min over M ⪰ 0 of share · Σ_R [1 − f(M)]₊ + weight · g(M)``, f = d²(i, l) − d²(i, j) linear in M.

    Its dual is ``max Σ_R y`` over ``0 ≤ y ≤ share`` with ``g°(S(y)) ≤ weight``, where ``S(y) = Σ_R y (X_il − X_ij)``
    and g° is the polar of the gauge g. Every y gives a lower bound of the minimum: times ``weight / g°(S(y))``, if that
    is below 1, it fulfils the constraint.

    Parameters
    ----------
    objective : Objective
        Of a weighted :class:`~holdfast.terms.Push` and a weighted gauge, such as
        :class:`~holdfast.terms.SpectralNorm`; ``TypeError`` for any other.
    """

    def __init__(self, objective):
        terms = {type(term): (weight, term) for weight, term in getattr(objective, "terms", ())}
        gauges = [pair for pair in terms.values() if isinstance(pair[1], Gauge)]
        if not isinstance(objective, Objective) or len(terms) != 2 or Push not in terms or not gauges:
            raise TypeError(
                "PrimalDual minimises hinges plus a norm such as SpectralNorm, over rows in memory and without a "
                "perturbation loss; use another solver for other objectives."
            )
        (self.weight, self.gauge), triplets = gauges[0], objective.triplets
        self.at_zero = terms[Push][0]  # the objective at M = 0
        self.share = self.at_zero / len(triplets)
        self._ij, self._il = triplets.ij, triplets.il
        X, pairs = objective.geometry.X, triplets.pairs
        self._D = X[pairs.first] - X[pairs.second]

    def forms(self, M: np.ndarray) -> np.ndarray:
        """f of every triplet."""
        d = np.einsum("rp,rp->r", self._D @ M, self._D)
        return d[self._il] - d[self._ij]

    def scatter(self, y: np.ndarray) -> np.ndarray:
        """``S(y)``, the adjoint of :meth:`forms`."""
        n = len(self._D)
        weights = np.bincount(self._il, y, n) - np.bincount(self._ij, y, n)
        used = np.flatnonzero(weights)
        D = self._D[used]
        return (D.T * weights[used]) @ D

    def primal(self, M: np.ndarray, f: np.ndarray) -> float:
        """The objective at M, whose forms are f."""
        return self.share * float(np.maximum(1.0 - f, 0.0).sum()) + self.weight * self.gauge.value_and_grad(M)[0]

    def dual(self, y: np.ndarray, S: np.ndarray) -> float:
        """The lower bound that y gives, whose scatter is S."""
        polar = self.gauge.polar(S)
        return float(y.sum()) * (1.0 if polar <= self.weight else self.weight / polar)

    def prox(self, M: np.ndarray, t: float) -> np.ndarray:
        """``argmin over Z ⪰ 0 of ½ ‖Z − M‖² + t · weight · g(Z)``."""
        return self.gauge.prox(M, t * self.weight)

    def norm(self) -> float:
        """The operator norm of :meth:`forms`, from above up to the error of 20 steps of the power method."""
        M, size = np.eye(self._D.shape[1]), 0.0
        for _ in range(20):
            M = self.scatter(self.forms(M))
            size = float(np.linalg.norm(M))
            if not size > 0.0:
                return 0.0
            M /= size
        return 1.02 * np.sqrt(size)  # a step that is too long by a percent would not converge
