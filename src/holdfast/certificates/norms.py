"""How moves are measured: norms, their duals, and moves as vectors that kernels can work with."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from holdfast._core.halfspace import EUCLIDEAN, MAX, SUM, box_distance, boxed_rows
from holdfast.base.blocks import product_by_rows
from holdfast.certificates.programs import Shortest, least_distance, min_largest, min_sum
from holdfast.learn.margins import check_shape_matrix


@dataclass(frozen=True)
class MoveCoordinates:
    """``Tδ = G z`` and ``δ = to_input · z``: the moves δ of a norm, written as vectors z.

    A halfspace "l is no farther than j" is ``(v_l − v_j) · z ≥ f_lj / 2`` with the rows ``v = Gᵀu``, and
    the dual length of ``v_l − v_j`` is that of ``a_lj = Tᵀ(u_l − u_j)``: for the quadratic norms
    ``‖v_l − v_j‖² = (u_l − u_j)ᵀ K (u_l − u_j)``, ``K = T A0⁻¹ Tᵀ``, in rank(T) coordinates.

    Attributes
    ----------
    G : ndarray of shape (r, s)
    to_input : ndarray of shape (n_free, s)
    lipschitz : float
        ``t`` with ``‖a_lj‖* ≤ t ‖u_l − u_j‖₂``, as small as is known, the error of the map included.
    growth : float
        ``‖ |T| |δ| ‖₂ ≤ growth · ‖δ‖``: how fast the numbers behind a query grow, for rounding errors.
    map_error : float
        Bound on the error of ``Gᵀ`` as a map, beyond ordinary rounding.
    """

    G: np.ndarray
    to_input: np.ndarray
    lipschitz: float
    growth: float
    map_error: float


class Norm(ABC):
    """A norm of moves δ.

    Attributes
    ----------
    name : str
        The name in certificates and reports.
    code : int
        Which dual length the kernels take.
    quadratic : bool
        Whether the closest point of a polyhedron is a quadratic program (else it is a linear one).
    uses_box : bool
        Whether the distance to a halfspace inside a box can be computed; else the box is ignored, which is sound.
    splits : bool
        Whether a part of the columns can be moved at a price of its own: see :meth:`combine`.
    cone_duality : bool
        Whether Lemma S4 holds.
    """

    name: str
    code: int
    quadratic: bool
    uses_box = True
    splits = False
    cone_duality = False

    @abstractmethod
    def lengths(self, delta: np.ndarray) -> np.ndarray:
        """``‖δ‖`` of each row."""

    @abstractmethod
    def dual_lengths(self, A: np.ndarray) -> np.ndarray:
        """``‖a‖* = max{a · δ : ‖δ‖ ≤ 1}`` of each row."""

    def dual_error(self, A: np.ndarray) -> np.ndarray:
        """A bound on the error of :meth:`dual_lengths`, beyond ordinary rounding of its sums."""
        return np.zeros(len(A))

    def absolute_lengths(self, A: np.ndarray) -> np.ndarray:
        """``max{a · |δ| : ‖δ‖ ≤ 1}``, or a little more, of each row ``a ≥ 0``."""
        return self.dual_lengths(A)

    @abstractmethod
    def steepest(self, A: np.ndarray) -> np.ndarray:
        """A move of length 1 with ``a · δ = ‖a‖*``, for each row a; 0 for a = 0."""

    @abstractmethod
    def coordinates(self, T: np.ndarray, absolute: np.ndarray, reduce: bool) -> MoveCoordinates:
        """Coordinates of the moves; rank(T) of them if ``reduce`` and the norm is quadratic.

        ``absolute`` has the magnitudes behind T, for the growth of rounding errors.
        """

    def restricted(self, free: np.ndarray) -> "Norm":
        """The same norm on moves that are zero outside the columns ``free``."""
        return self

    def combine(self, price: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """The size of moves whose parts in disjoint columns have the sizes ``price`` and ``radius``, from below."""
        return self._of_parts(price, radius) if price.any() else radius

    def _of_parts(self, price: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """:meth:`combine` where some prices are not 0; parts of a move may cancel unless a norm says otherwise."""
        return np.where(price == 0, radius, 0.0)

    def rest_at(self, at: float | None) -> float | None:
        """The size at which a verdict on the rest decides that at ``at``, whatever the price of the other part is."""
        return None

    def lifted_units(self, units: np.ndarray, copies: np.ndarray) -> np.ndarray | None:
        """Units of coordinates of which ``copies`` move at once with each input; None: the box of units is the ball."""
        raise ValueError(
            "A norm given as a matrix cannot be taken through a monotone step (QuantileTransformer, say): use norm 2, "
            "numpy.inf or 1, with unit= in a Threat."
        )

    def program(self, A: np.ndarray, b: np.ndarray, down: np.ndarray, up: np.ndarray) -> Shortest:
        """``min ‖e‖ : A e ≥ b, −down ≤ e ≤ up``, here for a quadratic norm; called by ``programs.shortest``."""
        unit = np.eye(A.shape[1])
        return least_distance(self.coordinates(unit, unit, reduce=False).to_input, A, b, down, up)

    def search_coordinates(self, slopes: np.ndarray, to_input: np.ndarray) -> tuple:
        """``(slopes, to_input, ball, sigma)`` for a search: as they are, or lifted to a quadratic norm (Lemma P1)."""
        if self.quadratic:
            return slopes, to_input, None, 1.0
        sigma = float(2.0 ** np.floor(0.5 * np.log2(_FLAT / max(slopes.shape[1], 1))))
        lifted = (np.ascontiguousarray(np.hstack([M / sigma, np.zeros((len(M), 1))])) for M in (slopes, to_input))
        return *lifted, self.code, sigma

    def in_coordinates(self) -> "Norm":
        """The norm of moves in their :meth:`coordinates`."""
        return L2() if self.quadratic else self

    def box_distance(self, a: np.ndarray, c: float, down: np.ndarray, up: np.ndarray) -> float:
        """``min ‖δ‖ : a · δ ≥ c, −down ≤ δ ≤ up``, from below; infinite if the box does not reach."""
        return box_distance(a, c, self.code, down, up)

    def box_distances(self, A, missing, aim, growth, down, up, radius, step) -> None:
        """Raise ``radius`` and set ``step`` for one halfspace a row inside its box; nothing where there is no box."""
        if up.size and self.uses_box:
            boxed_rows(A, missing, aim, growth, self.code, down, up, radius, step)

    def diameter(self, down: np.ndarray, up: np.ndarray) -> np.ndarray:
        """The length that no move of each box exceeds: (m,)."""
        return self.lengths(np.maximum(down, up))

    def to_basic(self):
        """The norm as a user says it."""
        return self.name


@dataclass(frozen=True)
class L2(Norm):
    """``‖δ‖₂``; its own dual."""

    name = "l2"
    code = EUCLIDEAN
    quadratic = True
    splits = True
    cone_duality = True

    def lengths(self, delta: np.ndarray) -> np.ndarray:
        """``‖δ‖₂`` of each row; squares that would over- or underflow are scaled first."""
        delta = np.ascontiguousarray(delta)  # a selection of columns may lie otherwise in memory, and sum otherwise
        lengths = np.sqrt(np.einsum("md,md->m", delta, delta))
        largest = np.abs(delta).max(axis=1, initial=0.0)
        extreme = np.flatnonzero((largest > 0) & ((largest < 1e-140) | (largest > 1e140)) & np.isfinite(largest))
        if extreme.size:
            unit = largest[extreme]
            rows = delta[extreme] / unit[:, None]
            lengths[extreme] = unit * np.sqrt(np.einsum("md,md->m", rows, rows))
        return lengths

    def dual_lengths(self, A: np.ndarray) -> np.ndarray:
        """``‖a‖₂`` of each row."""
        return self.lengths(A)

    def steepest(self, A: np.ndarray) -> np.ndarray:
        """``a / ‖a‖₂``."""
        return _divide(A, self.lengths(A))

    def coordinates(self, T: np.ndarray, absolute: np.ndarray, reduce: bool) -> MoveCoordinates:
        """δ itself, or its part in the row space of T."""
        return _euclidean(T, absolute, np.eye(T.shape[1]), reduce, 0.0)

    def _of_parts(self, price: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """The root of the sum of squares."""
        return np.hypot(price, radius) * _ROUNDED

    def lifted_units(self, units: np.ndarray, copies: np.ndarray) -> np.ndarray:
        """Larger by the root of the copies."""
        return units * copies**0.5


@dataclass(frozen=True, eq=False)
class Ellipsoid(Norm):
    """``√(δᵀ A0 δ)``, A0 positive definite; dual ``√(aᵀ A0⁻¹ a)``.

    Parameters
    ----------
    A0 : ndarray of shape (n_inputs, n_inputs)
        Over all the inputs; :meth:`restricted` leaves out those that are frozen.
    """

    A0: np.ndarray
    name = "ellipsoid"
    code = EUCLIDEAN
    quadratic = True
    uses_box = False

    def lengths(self, delta: np.ndarray) -> np.ndarray:
        """``√(δᵀ A0 δ)`` of each row."""
        delta = np.ascontiguousarray(delta)
        return np.sqrt(np.maximum(np.einsum("md,md->m", product_by_rows(delta, self.A0), delta), 0.0))

    def dual_lengths(self, A: np.ndarray) -> np.ndarray:
        """``√(aᵀ A0⁻¹ a)`` of each row."""
        return np.linalg.norm(solve_triangular(self._factor(), A.T, lower=True), axis=0)

    def steepest(self, A: np.ndarray) -> np.ndarray:
        """``A0⁻¹a / ‖a‖*``."""
        C = self._factor()
        half = solve_triangular(C, A.T, lower=True)
        return _divide(solve_triangular(C, half, lower=True, trans="T").T, np.linalg.norm(half, axis=0))

    def coordinates(self, T: np.ndarray, absolute: np.ndarray, reduce: bool) -> MoveCoordinates:
        """``z = Cᵀδ`` with ``A0 = CCᵀ``: ``Tδ = (T C⁻ᵀ) z`` and ``‖z‖₂ = ‖δ‖``."""
        return _euclidean(T, absolute, self._to_input(), reduce, self._factor_error())

    def dual_error(self, A: np.ndarray) -> np.ndarray:
        """The relative error of the factor C, times ``‖ |a|ᵀ|C⁻ᵀ| ‖₂``."""
        return self._factor_error() * self.absolute_lengths(np.abs(A))

    def absolute_lengths(self, A: np.ndarray) -> np.ndarray:
        """``‖aᵀ|C⁻ᵀ|‖₂`` of each row."""
        return np.linalg.norm(A @ np.abs(self._to_input()), axis=1)

    def diameter(self, down: np.ndarray, up: np.ndarray) -> np.ndarray:
        """``√λ_max ‖corner‖₂``: of an ellipsoid the longest move is not that of the farthest corner."""
        largest = float(np.linalg.eigvalsh(self.A0)[-1]) * (1 + 1e-12)
        return np.sqrt(largest) * L2().lengths(np.maximum(down, up))

    def to_basic(self):
        """The matrix."""
        return self.A0

    def restricted(self, free: np.ndarray) -> Norm:
        """The same norm on moves that are zero outside the columns ``free``; where there are none, all norms agree."""
        return L2() if free.size == 0 else Ellipsoid(np.asarray(self.A0)[np.ix_(free, free)])

    def _factor(self) -> np.ndarray:
        """C with ``A0 = CCᵀ``."""
        return cholesky(check_shape_matrix(self.A0, len(self.A0)), lower=True)

    def _to_input(self) -> np.ndarray:
        """``C⁻ᵀ``."""
        return solve_triangular(self._factor(), np.eye(len(self.A0)), lower=True).T

    def _factor_error(self) -> float:
        """Relative error of C; a matrix for which it is too large is refused.

        If a matrix has the relative error ω, its factor has cond(A0) ω = cond(C)² ω (Lemma F2). Units of features do
        not matter: with A0 = D R D, D diagonal and R of unit diagonal, cond(R) counts in place of cond(A0) (Demmel
        1989).
        """
        C = self._factor()
        diagonal = np.count_nonzero(C - np.diag(np.diag(C))) == 0  # then each entry is right to the last bit
        unit = np.sqrt(np.diag(self.A0))
        growth = float(np.linalg.norm(C / unit[:, None]) * np.linalg.norm(self._to_input().T * unit))
        condition = 1.0 if diagonal else growth**2
        if condition > _CONDITION:
            raise ValueError(
                f"The norm A_0 is too ill-conditioned to be certified (condition {condition:.3g}, limit "
                f"{_CONDITION:g}): give features units of similar size, or a diagonal A_0."
            )
        return 8 * np.finfo(float).eps * len(C) * condition


@dataclass(frozen=True)
class LInf(Norm):
    """``max |δ_i|``; dual ``Σ |a_i|``."""

    name = "linf"
    code = SUM
    quadratic = False
    splits = True

    def lengths(self, delta: np.ndarray) -> np.ndarray:
        """``max |δ_i|`` of each row."""
        return np.abs(delta).max(axis=1, initial=0.0)

    def dual_lengths(self, A: np.ndarray) -> np.ndarray:
        """``Σ |a_i|`` of each row."""
        return np.abs(A).sum(axis=1)

    def steepest(self, A: np.ndarray) -> np.ndarray:
        """``sign(a)``."""
        return np.sign(A)

    def coordinates(self, T: np.ndarray, absolute: np.ndarray, reduce: bool) -> MoveCoordinates:
        """δ itself; ``‖Tδ‖₂ ≤ Σ_i ‖T_i‖₂ · max|δ_i|`` over the columns T_i."""
        lipschitz = min(np.linalg.norm(T, axis=0).sum(), np.sqrt(T.shape[1]) * _spectral(T))
        growth = np.linalg.norm(absolute, axis=0).sum()
        return MoveCoordinates(T, np.eye(T.shape[1]), _up(lipschitz), _up(growth), 0.0)

    def _of_parts(self, price: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """The larger one."""
        return np.maximum(price, radius)

    def rest_at(self, at: float | None) -> float | None:
        """The same size: the larger part counts."""
        return at

    def lifted_units(self, units: np.ndarray, copies: np.ndarray) -> None:
        """The box of the coordinates is the ball."""
        return None

    def program(self, A: np.ndarray, b: np.ndarray, down: np.ndarray, up: np.ndarray) -> Shortest:
        """A linear program."""
        return min_largest(A, b, down, up)


@dataclass(frozen=True)
class L1(Norm):
    """``Σ |δ_i|``; dual ``max |a_i|``."""

    name = "l1"
    code = MAX
    quadratic = False
    splits = True

    def lengths(self, delta: np.ndarray) -> np.ndarray:
        """``Σ |δ_i|`` of each row."""
        return np.abs(np.ascontiguousarray(delta)).sum(axis=1)

    def dual_lengths(self, A: np.ndarray) -> np.ndarray:
        """``max |a_i|`` of each row."""
        return np.abs(A).max(axis=1, initial=0.0)

    def steepest(self, A: np.ndarray) -> np.ndarray:
        """All of the move in the coordinate of largest ``|a_i|``."""
        out = np.zeros_like(A)
        if A.size:
            at = np.arange(len(A)), np.abs(A).argmax(axis=1)
            out[at] = np.sign(A[at])
        return out

    def coordinates(self, T: np.ndarray, absolute: np.ndarray, reduce: bool) -> MoveCoordinates:
        """δ itself; ``‖Tδ‖₂ ≤ max_i ‖T_i‖₂ · Σ|δ_i|`` over the columns T_i."""
        lipschitz = np.linalg.norm(T, axis=0).max(initial=0.0)
        growth = np.linalg.norm(absolute, axis=0).max(initial=0.0)
        return MoveCoordinates(T, np.eye(T.shape[1]), _up(lipschitz), _up(growth), 0.0)

    def _of_parts(self, price: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """The sum."""
        return (price + radius) * _ROUNDED

    def lifted_units(self, units: np.ndarray, copies: np.ndarray) -> np.ndarray:
        """Larger by the number of copies."""
        return units * copies

    def program(self, A: np.ndarray, b: np.ndarray, down: np.ndarray, up: np.ndarray) -> Shortest:
        """A linear program."""
        return min_sum(A, b, down, up)


_ROUNDED = 1.0 - 1e-12  # for the rounding of a price and of its sum with a radius
_FLAT = 1e-8  # σ² d, the fraction of an L1 or L∞ bound that may be lost (Lemma P1); less costs digits of the solution
_CONDITION = 1e13  # largest condition of an ellipsoid: beyond, rounding takes more than a percent of a radius

NAMED: dict[str, type[L2] | type[LInf] | type[L1]] = {
    "2": L2, "2.0": L2, "l2": L2, "inf": LInf, "linf": LInf, "1": L1, "1.0": L1, "l1": L1,
}  # fmt: skip


def as_norm(norm, n_features: int) -> Norm:
    """``2``, ``inf``, ``1``, their names, or a matrix ``A_0``, as a norm."""
    if isinstance(norm, Norm):
        return norm
    if np.ndim(norm) > 0:
        return Ellipsoid(check_shape_matrix(norm, n_features))
    try:
        return NAMED[str(norm).lower()]()
    except KeyError:
        raise ValueError(f"norm must be 2, numpy.inf, 1, or a positive definite matrix A_0; got {norm!r}.") from None


def _divide(A: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return np.divide(A, lengths[:, None], out=np.zeros_like(A), where=lengths[:, None] > 0)


def _up(value: float) -> float:
    """A float64 norm, with its own rounding added (relative 1e-12: sums of up to some 4,000 terms)."""
    return float(value) * (1 + 1e-12)


def _spectral(T: np.ndarray) -> float:
    return float(np.linalg.norm(T, 2)) if T.size else 0.0


def _euclidean(
    T: np.ndarray, absolute: np.ndarray, to_input: np.ndarray, reduce: bool, error: float
) -> MoveCoordinates:
    """``G = T · to_input``; if ``reduce``, ``G = QΣ`` of its singular value decomposition ``QΣRᵀ``, in rank(G) columns.

    A δ of least norm with a given Tδ is ``to_input R z``, so nothing is lost without a box. Singular values at
    rounding level are dropped; the change is below what ``map_error`` and the rounding bound already allow for.
    """
    G = T @ to_input
    growth = float(np.linalg.norm(absolute @ np.abs(to_input)))  # ≥ ‖ |T| |δ| ‖ for ‖z‖ = 1
    _, values, Rt = np.linalg.svd(G, full_matrices=False) if G.size else (None, np.zeros(0), np.zeros((0, 0)))
    top = float(values.max(initial=0.0))
    if reduce:
        rank = max(1, int(np.sum(values > 4 * np.finfo(float).eps * top)))
        if G.size:
            to_input = to_input @ Rt[:rank].T
            G = T @ to_input
        else:
            G, to_input = np.zeros((T.shape[0], 1)), np.zeros((T.shape[1], 1))
    G, to_input = np.ascontiguousarray(G), np.ascontiguousarray(to_input)
    return MoveCoordinates(G, to_input, _up(top + error * growth), _up(growth), error * growth)
