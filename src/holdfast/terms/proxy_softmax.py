"""ProxySoftmax: a point should be near a proxy of its class, compared with all the proxies."""

import numpy as np
from numba import njit
from sklearn.base import BaseEstimator

from holdfast.parameters import check_number


class ProxySoftmax(BaseEstimator):
    """``Σ_i −log (Σ_{k of i's class} e^{−d_ik/T} / Σ_k e^{−d_ik/T})``: ProxyNCA++.

    ``d_ik`` is the squared distance of point i and proxy k. With one proxy per class this is the loss of
    ProxyNCA++; with several, the probabilities of a class's proxies add up, as those of neighbours do in NCA.

    Parameters
    ----------
    temperature : float
        T: the smaller, the more the nearest proxies alone count.

    References
    ----------
    Teh, DeVries and Taylor, "ProxyNCA++: revisiting and revitalizing proxy neighborhood component analysis",
    ECCV 2020. Goldberger, Roweis, Hinton and Salakhutdinov, "Neighbourhood components analysis", NIPS 2004.
    """

    def __init__(self, temperature: float = 1.0):
        self.temperature = temperature

    def value_and_partials(self, d: np.ndarray, y: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
        """The sum, and its derivatives by d; each row of them sums to 0.

        Parameters
        ----------
        d : ndarray of shape (n_points, n_proxies)
        y, labels : int ndarrays
            Classes of the points, and of the proxies.
        """
        out = np.empty_like(d)
        return _softmax(d, y, labels, float(self.temperature), out), out

    def check(self) -> None:
        """Refuse a temperature that is not positive."""
        check_number("ProxySoftmax", "temperature", self.temperature, above=0)


@njit(nogil=True, cache=True)
def _softmax(d, y, labels, temperature, out):
    n, m = d.shape
    total = 0.0
    for i in range(n):
        # Logs of the two sums, each relative to its own nearest proxy, so that neither underflows.
        nearest = nearest_own = np.inf
        for k in range(m):
            nearest = min(nearest, d[i, k])
            if labels[k] == y[i]:
                nearest_own = min(nearest_own, d[i, k])
        every = own = 0.0
        for k in range(m):
            e = np.exp((nearest - d[i, k]) / temperature)
            every += e
            out[i, k] = e
            if labels[k] == y[i]:
                own += np.exp((nearest_own - d[i, k]) / temperature)
        total += (nearest_own - nearest) / temperature + np.log(every) - np.log(own)
        for k in range(m):
            p = out[i, k] / every
            q = np.exp((nearest_own - d[i, k]) / temperature) / own if labels[k] == y[i] else 0.0
            out[i, k] = (q - p) / temperature
    return total
