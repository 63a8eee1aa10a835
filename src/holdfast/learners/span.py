"""The span of the differences between rows: all that triplets see, if features outnumber rows."""

from dataclasses import dataclass

import numpy as np

from holdfast.learn.spaces import components_of_factor


@dataclass(frozen=True, eq=False)
class Span:
    """``span {x_i − x_j}``: rows are ``mean + Q z``, metrics on it are ``M = Q M_z Qᵀ``.

    n rows differ within a space of n − 1 dimensions at most, so with more features than rows a metric is learned there,
    at the cost of n × n matrices. ``d_M(x_i, x_j) = d_{M_z}(z_i, z_j)`` between training rows. A new row x has a part
    outside the span, which lies equally far from every training row: M ranks them as any metric with the same M_z and
    no terms that mix the two parts does.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
    Q : ndarray of shape (n_features, n_directions)
        Orthonormal columns.
    """

    mean: np.ndarray
    Q: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray) -> "Span":
        """The span of the rows of X, by a singular value decomposition; directions lost in rounding are left out."""
        mean = X.mean(axis=0)
        _, values, V = np.linalg.svd(X - mean, full_matrices=False)
        rank = int(np.sum(values > max(X.shape) * np.finfo(float).eps * values[0]))
        return cls(mean, np.ascontiguousarray(V[: max(rank, 1)].T))  # one direction, if all rows are the same

    def project(self, X: np.ndarray) -> np.ndarray:
        """``z = Qᵀ (x − mean)`` of rows x."""
        return (X - self.mean) @ self.Q

    def restrict(self, A: np.ndarray) -> np.ndarray:
        """``Qᵀ A Q``: a quadratic form on the span."""
        return self.Q.T @ A @ self.Q

    def components(self, L: np.ndarray) -> np.ndarray:
        """``L Qᵀ``: the linear map L after the projection, as one map of the features."""
        return components_of_factor(L @ self.Q.T)

    def diagonal(self, M: np.ndarray) -> np.ndarray:
        """The diagonal of ``Q M Qᵀ``, of shape (n_features,)."""
        return np.einsum("ij,ij->i", self.Q @ M, self.Q)
