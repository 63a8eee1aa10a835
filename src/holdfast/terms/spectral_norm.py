"""SpectralNorm: penalise the largest eigenvalue of the metric."""

import numpy as np

from holdfast.terms.base import MatrixTerm


class SpectralNorm(MatrixTerm):
    """``λ_max(M)``, the largest eigenvalue.

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

    def value_and_grad(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The norm; subgradient ``V Vᵀ / m`` over the m eigenvectors that share it."""
        values, V = np.linalg.eigh(M)
        top = V[:, values >= values[-1] - self.tie * abs(values[-1])]
        return float(values[-1]), top @ top.T / top.shape[1]
