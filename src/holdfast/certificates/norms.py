"""The norms in which a perturbation is measured, each with its dual and its view of the slopes."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from holdfast.certificates.chart import Chart
from holdfast.geometry.shape import check_shape

# Which dual length of a slope the kernels take: √Σa², Σ|a|, max|a|.
EUCLIDEAN, SUM, MAX = 0, 1, 2


@dataclass(frozen=True)
class L2:
    """``‖δ‖₂``; its own dual."""

    name = "l2"
    quadratic = True

    def lengths(self, delta: np.ndarray) -> np.ndarray:
        """``‖δ‖`` of each row."""
        return np.sqrt(np.einsum("md,md->m", delta, delta))

    def chart(self, T: np.ndarray, reduce: bool) -> Chart:
        """δ in coordinates where this norm is Euclidean; rank(T) of them if ``reduce``."""
        return _euclidean_chart(T, np.eye(T.shape[1]), reduce, 0.0)


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """``√(δᵀ A0 δ)``, A0 positive definite; dual ``√(aᵀ A0⁻¹ a)``.

    Parameters
    ----------
    A0 : ndarray of shape (n_inputs, n_inputs)
        Over all the inputs. Columns that are frozen are left out of it by the problem.
    """

    A0: np.ndarray
    name = "ellipsoid"
    quadratic = True

    def lengths(self, delta: np.ndarray) -> np.ndarray:
        """``√(δᵀ A0 δ)`` of each row."""
        return np.sqrt(np.maximum(np.einsum("md,de,me->m", delta, self.A0, delta, optimize=True), 0.0))

    def chart(self, T: np.ndarray, reduce: bool) -> Chart:
        """``z = Cᵀδ`` with ``A0 = CCᵀ``: ``Tδ = (T C⁻ᵀ) z`` and ``‖z‖₂ = ‖δ‖``."""
        C = cholesky(check_shape(self.A0, T.shape[1]), lower=True)
        back = solve_triangular(C, np.eye(C.shape[0]), lower=True).T  # C⁻ᵀ
        diagonal = np.count_nonzero(C - np.diag(np.diag(C))) == 0  # then each entry is right to the last bit
        condition = 1.0 if diagonal else np.linalg.norm(C) * np.linalg.norm(back)
        return _euclidean_chart(T, back, reduce, 8 * np.finfo(float).eps * C.shape[0] * condition)

    def restricted(self, free: np.ndarray) -> "Ellipsoid":
        """The same norm on moves that are zero outside the columns ``free``."""
        return Ellipsoid(np.asarray(self.A0)[np.ix_(free, free)])


@dataclass(frozen=True)
class LInf:
    """``max |δ_i|``; dual ``Σ |a_i|``."""

    name = "linf"
    quadratic = False

    def lengths(self, delta: np.ndarray) -> np.ndarray:
        """``max |δ_i|`` of each row."""
        return np.abs(delta).max(axis=1, initial=0.0)

    def chart(self, T: np.ndarray, reduce: bool) -> Chart:
        """δ itself; ``‖Tδ‖₂ ≤ Σ_i ‖T_i‖₂ · max|δ_i|`` over the columns T_i."""
        columns = np.linalg.norm(T, axis=0)
        stretch = min(columns.sum(), np.sqrt(T.shape[1]) * _spectral(T))
        return Chart(T, np.eye(T.shape[1]), SUM, _up(stretch), _up(columns.sum()), 0.0)


@dataclass(frozen=True)
class L1:
    """``Σ |δ_i|``; dual ``max |a_i|``."""

    name = "l1"
    quadratic = False

    def lengths(self, delta: np.ndarray) -> np.ndarray:
        """``Σ |δ_i|`` of each row."""
        return np.abs(delta).sum(axis=1)

    def chart(self, T: np.ndarray, reduce: bool) -> Chart:
        """δ itself; ``‖Tδ‖₂ ≤ max_i ‖T_i‖₂ · Σ|δ_i|`` over the columns T_i."""
        longest = _up(np.linalg.norm(T, axis=0).max(initial=0.0))
        return Chart(T, np.eye(T.shape[1]), MAX, longest, longest, 0.0)


Norm = L2 | LInf | L1 | Ellipsoid


def _up(value: float) -> float:
    """A float64 norm, with its own rounding added."""
    return float(value) * (1 + 1e-12)


def _spectral(T: np.ndarray) -> float:
    return float(np.linalg.norm(T, 2)) if T.size else 0.0


def _euclidean_chart(T: np.ndarray, back: np.ndarray, reduce: bool, error: float) -> Chart:
    """``G = T · back``; reduced, ``G = QΣ`` of its singular value decomposition ``QΣRᵀ``, z in the rank of it.

    A δ of least norm with a given Tδ is ``back R z``, so nothing is lost without a box. Singular values
    at rounding level are dropped; what that changes is below what ``Chart.wobble`` and the rounding
    bound already allow for.
    """
    G = T @ back
    frobenius = float(np.linalg.norm(G))
    _, values, Rt = np.linalg.svd(G, full_matrices=False) if G.size else (None, np.zeros(0), np.zeros((0, 0)))
    top = float(values.max(initial=0.0))
    if reduce:
        rank = max(1, int(np.sum(values > 4 * np.finfo(float).eps * top)))
        if G.size:
            back = back @ Rt[:rank].T
            G = T @ back
        else:
            G, back = np.zeros((T.shape[0], 1)), np.zeros((T.shape[1], 1))
    G, back = np.ascontiguousarray(G), np.ascontiguousarray(back)
    return Chart(G, back, EUCLIDEAN, _up(top), _up(frobenius), error * frobenius)
