"""Neighbourhood components with proxies"""

import numpy as np

from holdfast._core.geometry import fill_nearest_proxies
from holdfast.numerics.sums import leaves, tree_sum
from holdfast.numerics.threads import Workers, n_threads


class ProxyGeometry:
    """``d_ik = d²_M(x_i, a_k)`` and ``h_kl = (a_k − a_l)ᵀ M B M (a_k − a_l)``, and their pull-backs.

    A point's nearest proxy of its class a⁺ and of the others a⁻ make a triplet (x, a⁺, a⁻), whose three
    numbers are two entries of d and one of h. Backwards, partials C in d whose rows sum to 0 (as those of
    every loss of differences do) and partials H in h give ::

        ∂M = Aᵀ diag(Cᵀ1) A − sym(2 Xᵀ C A) + 2 sym(Aᵀ Lap(H + Hᵀ) A M B)
        ∂A = 2 (diag(Cᵀ1) A − Cᵀ X) M + 2 Lap(H + Hᵀ) A M B M

    so that all that is read of the points is ``Xᵀ C``, summed over blocks of points: those blocks may be
    anywhere, :func:`gradients` needs their sums alone.

    Parameters
    ----------
    X : ndarray of shape (n_points, n_features)
    y : int ndarray of shape (n_points,)
        Class codes of the points.
    labels : int ndarray of shape (n_proxies,)
        Class codes of the proxies, of which every class has at least one.
    B : ndarray or None
        Inverse shape of the perturbation; None is the identity.
    n_jobs : int or None
        Threads.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, labels: np.ndarray, B=None, n_jobs=None):
        self.X, self.y, self.labels, self.B = X, y, labels, B
        work = X.shape[0] * labels.size * (X.shape[1] + 20)
        self._workers = Workers(n_threads(n_jobs) if work > 3_000_000 else 1)
        self._parts = leaves(X.shape[0])

    def total(self, function, *arguments) -> tuple:
        """``function(geometry, *arguments)``, of all points."""
        return function(self, *arguments)

    def sums(self, M: np.ndarray, A: np.ndarray, partials) -> tuple:
        """``value, Cᵀ1, Cᵀ X, H`` of a loss, summed over the points.

        Parameters
        ----------
        M : ndarray of shape (n_features, n_features)
        A : ndarray of shape (n_proxies, n_features)
        partials : callable
            ``partials(part, d, h) -> value, C, H`` of a block of points, C as large as d and H as h.
        """
        Y = A @ M  # rows M a_k
        squares = np.einsum("kp,kp->k", A, Y)
        h = _between(Y, Y if self.B is None else Y @ self.B)

        def block(part: slice):
            X = self.X[part]
            # Up to the point's own xᵀMx, which no difference of two entries contains.
            d = squares - 2.0 * (X @ Y.T)
            value, C, H = partials(part, d, h)
            return value, C.sum(axis=0), C.T @ X, H

        return tree_sum(self._workers.map(block, self._parts))

    def close(self) -> None:
        """End the threads."""
        self._workers.close()

    def __enter__(self) -> "ProxyGeometry":
        return self

    def __exit__(self, *exc) -> None:
        self.close()


def gradients(sums: tuple, M: np.ndarray, A: np.ndarray, B: np.ndarray | None) -> tuple[float, np.ndarray, np.ndarray]:
    """The value of a loss, and its gradients in M and in the proxies A, from its sums over the points."""
    value, degree, CX, H = sums
    pull = degree[:, None] * A - CX  # rows Σ_i C_ik (a_k − x_i)
    GM = A.T @ pull - CX.T @ A
    GA = 2.0 * (pull @ M)
    if H is not None:
        YB = A @ M if B is None else A @ M @ B
        H = H + H.T
        slope = H.sum(axis=1)[:, None] * YB - H @ YB  # Lap(H + Hᵀ) A M B
        GM = GM + 2.0 * (A.T @ slope)
        GA += 2.0 * (slope @ M)
    return float(value), (GM + GM.T) / 2, GA


def _between(Y: np.ndarray, YB: np.ndarray) -> np.ndarray:
    """``(y_k − y_l)ᵀ B (y_k − y_l)`` of all pairs of proxies: few, so no expansion into squares."""
    h = np.empty((len(Y), len(Y)))
    for k in range(len(Y)):
        h[k] = np.einsum("lp,lp->l", Y - Y[k], YB - YB[k])
    return h


def nearest_proxies(d: np.ndarray, y: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each point, its nearest proxy of its own class and of the other classes; -1 where there is none."""
    same, other = np.full(len(d), -1), np.full(len(d), -1)
    fill_nearest_proxies(d, y, labels, same, other)
    return same, other
