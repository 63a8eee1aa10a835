"""ProxySoftmax: points should be nearer to proxies of their own class than to those of other classes."""

import numpy as np

from holdfast.numerics.compile import entry
from holdfast.parameters import check_number
from holdfast.terms.base import ProxyTerm


class ProxySoftmax(ProxyTerm):
    """``Σ_i −log (Σ_{k of i's class} e^{−d_ik/T} / Σ_k e^{−d_ik/T})``: ProxyNCA++.

    ``d_ik`` is the squared distance from point i to proxy k. With one proxy per class this is the loss of
    ProxyNCA++; with several, the probabilities of a class's proxies add up, as those of neighbours do in NCA.

    Parameters
    ----------
    temperature : float
        T: the smaller it is, the more the nearest proxies dominate.

    References
    ----------
    Teh, DeVries and Taylor, "ProxyNCA++: revisiting and revitalizing proxy neighborhood component analysis",
    ECCV 2020. Goldberger, Roweis, Hinton and Salakhutdinov, "Neighbourhood components analysis", NIPS 2004.
    """

    def __init__(self, temperature: float = 1.0):
        self.temperature = temperature

    def value_and_partials(self, d: np.ndarray, y: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
        """The sum; ``∂d_ik = (q_ik − p_ik)/T``: softmax of −d/T over the proxies of i's class, minus that over all."""
        out = np.empty_like(d)
        return _softmax(d, y, labels, float(self.temperature), out), out

    def check(self) -> None:
        """Refuse a temperature that is not positive."""
        check_number("ProxySoftmax", "temperature", self.temperature, above=0)


@entry
def _softmax(d, y, labels, temperature, out):
    n, m = d.shape
    total = 0.0
    for i in range(n):
        # Logs of the two sums, each relative to its own nearest proxy, so that neither underflows.
        nearest = nearest_own = np.inf
        for k in range(m):
            if d[i, k] < nearest:
                nearest = d[i, k]
            if labels[k] == y[i] and d[i, k] < nearest_own:
                nearest_own = d[i, k]
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
