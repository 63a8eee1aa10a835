"""Points, which stand for no metric."""

import numpy as np

from holdfast.spaces.base import Space


class Points(Space):
    """``ℝ^(m × p)``: the positions of m free points, such as proxies. They stand for no metric."""

    def bounds(self, size: int) -> None:
        """None: every coordinate is free."""
        return None

    def project(self, A: np.ndarray) -> np.ndarray:
        """A."""
        return A

    def start(self, M: np.ndarray) -> np.ndarray:
        """Refused: a metric does not determine points."""
        raise TypeError("Points do not stand for a metric.")

    def metric(self, A: np.ndarray) -> np.ndarray:
        """Refused: points do not determine a metric."""
        raise TypeError("Points do not stand for a metric.")

    def gradient(self, G: np.ndarray, A: np.ndarray) -> np.ndarray:
        """G."""
        return G
