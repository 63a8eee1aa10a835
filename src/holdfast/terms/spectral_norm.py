"""SpectralNorm: penalise the largest eigenvalue of the metric."""

import numpy as np

from holdfast.parameters import check_number
from holdfast.terms.base import Gauge


class SpectralNorm(Gauge):
    """``λ_max(M)``, the largest eigenvalue; smoothed, ``ε log Σ_k e^{λ_k/ε}``.

    At a minimum several eigenvalues are usually equal, and the norm has a kink there. With ``smoothing`` ε > 0 it has
    none; the smoothed norm is larger by at most ``ε log p``.

    Parameters
    ----------
    smoothing : float, default=0.0
        ε.

    References
    ----------
    Bartlett, Foster and Telgarsky, "Spectrally-normalized margin bounds for neural networks", NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.terms import SpectralNorm
    >>> value, gradient = SpectralNorm().value_and_grad(np.diag([3.0, 1.0]))
    >>> round(value, 9), gradient.tolist()
    (3.0, [[1.0, 0.0], [0.0, 0.0]])
    """

    tie = 1e-10  # eigenvalues this close to the largest, relatively, count as equal to it

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def value_and_grad(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The norm; subgradient ``V Vᵀ / m`` over the m eigenvectors that share it, or their softmax."""
        values, V = np.linalg.eigh(M)
        if self.smoothing > 0.0:
            shares = np.exp((values - values[-1]) / self.smoothing)
            total = shares.sum()
            return float(values[-1] + self.smoothing * np.log(total)), (V * (shares / total)) @ V.T
        top = V[:, values >= values[-1] - self.tie * abs(values[-1])]
        return float(values[-1]), top @ top.T / top.shape[1]

    def prox(self, M: np.ndarray, t: float) -> np.ndarray:
        """``V min(Λ₊, θ) Vᵀ``, θ such that they lose t together; 0 if they sum to no more than t. Not smoothed."""
        values, V = np.linalg.eigh(M)
        positive = np.maximum(values, 0.0)
        if positive.sum() <= t:
            return np.zeros_like(M)
        largest = positive[::-1]
        theta = (np.cumsum(largest) - t) / np.arange(1, len(largest) + 1)
        theta = theta[np.flatnonzero(largest > theta)[-1]]
        return (V * np.minimum(positive, theta)) @ V.T

    def check(self) -> None:
        """Refuse a negative smoothing."""
        check_number("SpectralNorm", "smoothing", self.smoothing, at_least=0)

    def polar(self, S: np.ndarray) -> float:
        """The sum of the positive eigenvalues."""
        values = np.linalg.eigvalsh(S)
        return float(values[values > 0].sum())
