"""The objective of DRIFT: expected distances between points with Gaussian disturbances."""

import numpy as np

from holdfast.learn import TripletGeometry
from holdfast.learn.geometry import AnchorBlock
from holdfast.learn.objective import Objective
from holdfast.learners.span import Span


class _ExpectedGeometry(TripletGeometry):
    """Expected squared distances: those of the points, plus ``tr(M (Σ_i + Σ_j))``."""

    variances: np.ndarray  # (n_samples, n_features): the σ²_i
    span: Span | None = None  # if points and metrics are on a span of the features

    def diagonal(self, M: np.ndarray) -> np.ndarray:
        """The diagonal of the metric over all features."""
        return M.diagonal() if self.span is None else self.span.diagonal(M)

    def measure(self, M: np.ndarray) -> None:
        super().measure(M)
        self._traces = self.variances @ self.diagonal(M)  # tr(M Σ_i)

    def distances(self, block: AnchorBlock) -> np.ndarray:
        distance, pairs = super().distances(block), self.triplets.pairs
        distance[block.pairs] += self._traces[pairs.first[block.pairs]] + self._traces[pairs.second[block.pairs]]
        return distance

    def gradient_in_metric(self) -> np.ndarray:
        G = super().gradient_in_metric()
        weights = self.degree @ self.variances  # a degree is the derivative by tr(M Σ_i)
        if self.span is None:
            return G + np.diag(weights)
        return G + (self.span.Q.T * weights) @ self.span.Q


class ExpectedObjective(Objective):
    """``Σ weight · mean(term) + eta · Σ_i KL(Σ_i)/n`` of expected distances, for given disturbances.

    Parameters
    ----------
    X, triplets, terms, n_jobs
        As for :class:`~holdfast.learn.objective.Objective`.
    prior : float
        s², the variance that is expected of a disturbance.
    eta : float
        Weight of the divergence.
    span : Span or None
        If X are points on a span: M is a metric there, disturbances are over all features.
    """

    geometry: _ExpectedGeometry

    def __init__(self, X, triplets, terms, prior: float, eta: float, n_jobs, span: Span | None = None):
        super().__init__(X, triplets, terms, None, n_jobs)
        self.geometry.span = span
        self.geometry.variances = np.full(X.shape if span is None else (len(X), len(span.mean)), prior)
        self.prior, self.weight = prior, eta / X.shape[0]

    def make_geometry(self, X, triplets, *settings) -> _ExpectedGeometry:
        """Build the geometry with the points in their own order: every point has its disturbance."""
        return _ExpectedGeometry(X, triplets, *settings)

    def __call__(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and symmetric gradient at M."""
        value, G = super().__call__(M)
        return value + self._divergence(self.geometry.variances), G

    def _divergence(self, variances: np.ndarray) -> float:
        ratio = variances / self.prior
        return self.weight * 0.5 * float(np.sum(ratio - 1.0 - np.log(ratio)))

    def disturb(self, M: np.ndarray) -> float:
        """Move the disturbances to where, with M and the violated triplets fixed, the objective is least.

        ``deg_i M_kk + weight/2 (1/s² − 1/σ²) = 0``. The hinge is not linear, so the move is halved until
        the objective falls. Returns the objective.
        """
        geometry = self.geometry
        old, (value, _) = geometry.variances, self(M)
        slope = np.outer(geometry.degree, geometry.diagonal(M))
        # A disturbance that would grow without end is held at ten times the expected variance.
        wanted = 1.0 / np.maximum(1.0 / self.prior + 2.0 * slope / self.weight, 0.1 / self.prior)
        for share in 0.5 ** np.arange(6):
            geometry.variances = old + share * (wanted - old)
            lower = self(M)[0]
            if lower < value:
                return lower
        geometry.variances = old
        return value
