"""The loss of ProxyNCA as a function of the metric and the proxies."""

import numpy as np

from holdfast.backends import ProxySums
from holdfast.learn import Perturbation, ProxySoftmax
from holdfast.learn.proxy_nca import ProxyGeometry, gradients, nearest_proxies


class ProxyLoss:
    """``1/n Σ_i softmax loss + weight · perturbation``, as a function of M and of free proxies A.

    Parameters
    ----------
    softmax : ProxySoftmax
    perturbation : Perturbation or None
    unit : bool
        Whether proxies are scaled to unit length.
    n : int
        Number of points, which may be spread over the geometries of several blocks.
    """

    def __init__(self, softmax: ProxySoftmax, perturbation: Perturbation | None, unit: bool, n: int):
        self.softmax, self.perturbation, self.unit, self.n = softmax, perturbation, unit, n

    def scaled(self, A: np.ndarray) -> np.ndarray:
        """The proxies, at unit length if ``unit``."""
        return A / _norms(A) if self.unit else A

    def __call__(self, geometry: ProxySums, M: np.ndarray, A: np.ndarray):
        """Value, gradient in M and gradient in A."""
        S = self.scaled(A)
        value, GM, GS = gradients(geometry.total(self.sums, M, S), M, S, geometry.B)
        if not self.unit:
            return value, GM, GS
        # Through S = A/‖A‖: the part along A is lost.
        return value, GM, (GS - np.sum(GS * S, axis=1, keepdims=True) * S) / _norms(A)

    def sums(self, geometry: ProxyGeometry, M: np.ndarray, S: np.ndarray) -> tuple:
        """The share of the points of one geometry; see :func:`~holdfast.learn.proxy_nca.gradients`."""
        n = self.n

        def partials(part: slice, d: np.ndarray, h: np.ndarray):
            y = geometry.y[part]
            value, C = self.softmax.value_and_partials(d, y, geometry.labels)
            if self.perturbation is None:
                return value / n, C / n, None
            same, other = nearest_proxies(d, y, geometry.labels)
            rows = np.arange(len(d))
            total, da, db, dh = self.perturbation.value_and_partials(
                d[rows, same], d[rows, other], h[same, other], signed=True
            )
            weight = self.perturbation.weight
            H = np.zeros_like(h)
            for partial, index in ((da, same), (db, other)):
                C[rows, index] += weight * np.asarray(partial)
            np.add.at(H, (same, other), weight * np.asarray(dh))
            return (value + weight * total) / n, C / n, H / n

        return geometry.sums(M, S, partials)


def _norms(A: np.ndarray) -> np.ndarray:
    """Lengths of the rows; 1 where a length is 0."""
    norm = np.linalg.norm(A, axis=1, keepdims=True)
    return np.where(norm > 0, norm, 1.0)
