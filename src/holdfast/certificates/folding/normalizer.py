"""Through an L2 normalisation ``z → z / ‖z‖``: rows ``a · z ≥ c ‖z‖``, and the moves that they take."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from holdfast.affine import Affine
from holdfast.certificates.moves import Moves
from holdfast.certificates.order_bounds import order_statistic_bound
from holdfast.certificates.problems import LinearProblem, NeighborProblem, Problem
from holdfast.certificates.rounding import UNIT_ROUNDOFF, kappa
from holdfast.numerics.sums import product_by_rows
from holdfast.numerics.threads import single_threaded_blas

if TYPE_CHECKING:
    from holdfast.certificates.folding.fold import Fold

# scikit-learn leaves rows alone that are shorter than this.
SHORTEST = 10 * np.finfo(float).eps
_TARGETS = 32  # nearest points of the predicted class that are looked at, or twice as many as an order statistic needs
_REFINED = 64  # rows whose direction is improved, and how often
_ROUNDS = 4
_COARSE = 1e-4  # of a squared distance on the sphere: more rounding than this, and cones are taken
_LENGTHS = 64.0  # roundings of a sum by which squared lengths of voters may differ and still count as 1


def unit_rows(Z: np.ndarray) -> np.ndarray:
    """Rows scaled to unit length as scikit-learn does: a row of (nearly) no length stays as it is."""
    length = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(length < SHORTEST, 1.0, length)


def left_out(fold: "Fold", points: np.ndarray) -> "Fold":
    """The fold without its normalisation, where the vote does not need it; else as it is (Lemma S1).

    Directly before a Euclidean vote of points of length 1, ``z / ‖z‖`` and z rank the points alike. Lengths that differ
    from 1 by rounding cost as much of the budget as so many more steps.
    """
    after = fold.after
    if after is None or not np.array_equal(after.W, np.eye(len(after.W))) or after.w0.any():
        return fold
    squares = np.einsum("nr,nr->n", points, points)
    unit = (points.shape[1] + 8) * UNIT_ROUNDOFF
    apart = float(np.abs(squares - 1.0).max()) * 2.0 / unit
    if apart > _LENGTHS or kappa(*fold.before.W.shape) * fold.before.scale**2 > _COARSE:  # cones lose fewer digits
        return fold
    more = after.n_steps + 2 + int(np.ceil(apart / 3.0))  # a step is worth three units (Lemma F2)
    return replace(fold, before=replace(fold.before, n_steps=fold.before.n_steps + more), after=None)


def radii_before_normalizer(problem: Problem, fold: "Fold", moves: Moves, rows: np.ndarray, codes: np.ndarray):
    """Certified radii (m,) of votes after a normalisation, in the units of rows (Lemmas S2, S3, B1).

    Parameters
    ----------
    problem : NeighborProblem or LinearProblem
        The vote on unit vectors.
    fold : Fold
        With its normalisation.
    moves : Moves
        Of rows. A box is ignored, which is sound.
    rows : ndarray of shape (m, d)
    codes : int ndarray of shape (m,)
        Predictions.
    """
    assert fold.after is not None
    cone = _Cones(fold.before, moves)
    rule: Callable[..., float] = _neighbor_radius if isinstance(problem, NeighborProblem) else _linear_radius
    Z, U = fold.before(rows), fold(rows)
    size = np.linalg.norm(product_by_rows(np.abs(rows), fold.before.absolute), axis=1) + fold.before.scale
    out = np.zeros(len(rows))
    with single_threaded_blas():  # small matrices
        for t, (z, u, y) in enumerate(zip(Z, U, codes, strict=True)):
            length = float(np.linalg.norm(z))
            if 1e-150 < length < 1e150 and problem.vote(u[None])[0] == y:  # else a square may over- or underflow
                out[t] = rule(problem, fold.after, cone.at(z, length, float(size[t])), u, int(y))
    return out


def linearised(problem, fold: "Fold", moves: Moves, row: np.ndarray, at: np.ndarray):
    """The vote with the normalisation replaced by its tangent at another row, and the query of ``row``: for witnesses.

    The tangent is ``ẑ + (I − ẑẑᵀ)(z' − z)/‖z‖``.
    """
    assert fold.after is not None
    z = fold.before(at[None])[0]
    length = max(float(np.linalg.norm(z)), SHORTEST)
    across = fold.before.W - np.outer(z / length, z @ fold.before.W / length)
    T = fold.after.W @ across / length
    return replace(problem, T=T, absolute=np.abs(T), moves=moves), fold(at[None])[0] + T @ (row - at)


class _Cones:
    """Distances from an input to the sets ``a · z ≥ c ‖z‖``, z = W x + w0, in the norm of the moves."""

    def __init__(self, before: Affine, moves: Moves):
        self.W, absolute = moves.in_units(before.W), moves.in_units(before.absolute)
        self.norm = moves.free_norm
        coordinates = self.norm.coordinates(self.W, absolute, reduce=True)
        self.growth, self.lipschitz = coordinates.growth, coordinates.lipschitz + coordinates.map_error
        self.error = kappa(before.W.shape[0], before.W.shape[1], before.n_steps + 1)

    def at(self, z: np.ndarray, length: float, size: float) -> "_Cones":
        """The same, for one input: its z, its length and the magnitude of the numbers behind it."""
        self.z, self.length, self.size = z, length, size
        self.direction = z / length
        # ‖P Wδ‖ ≤ σ‖δ‖ for the part across z, and |ẑ·Wδ| ≤ τ‖δ‖ along it.
        across = self.W - np.outer(self.direction, self.direction @ self.W)
        coordinates = self.norm.coordinates(across, np.abs(across), reduce=True)
        self.across = coordinates.lipschitz + coordinates.map_error
        self.along = float(self._slopes(self.direction[None])[0])
        return self

    def _slopes(self, A: np.ndarray) -> np.ndarray:
        """``‖Wᵀa‖*`` of each row a, with its rounding."""
        slopes = A @ self.W
        return self.norm.dual_lengths(slopes) * (1.0 + 1e-12) + self.norm.dual_error(slopes)

    def reach(self) -> float:
        """No shorter move takes z to where scikit-learn leaves it alone."""
        if self.along == 0.0:
            return np.inf
        error = 2.0 * self.error * (self.size + self.growth * self.length / self.along)
        return max(0.0, (self.length - 2.0 * SHORTEST - error) / self.along) * (1.0 - 1e-12)

    def distances(self, A: np.ndarray, c: np.ndarray, error: np.ndarray, refine: bool) -> np.ndarray:
        """Lower bounds on ``min{‖δ‖ : a · z' ≥ c‖z'‖ − error‖z'‖}`` for rows a (p, r), levels c (p,)."""
        inner, out = A @ self.z, np.zeros(len(c))
        for sign in (True, False):
            at = np.flatnonzero((c >= 0) == sign)
            if at.size:
                bound = self._convex if sign else self._hollow
                out[at] = bound(A[at], c[at], inner[at], error[at], refine)
        return np.minimum(out, self.reach())

    def _allowance(self, A: np.ndarray, c: np.ndarray, error: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """By how much rounding may move ``a·z' − c‖z'‖`` for moves up to ``reach``."""
        far = self.length + self.lipschitz * reach
        behind = self.error * (self.size + self.growth * reach)
        return error * far + 4.0 * (np.linalg.norm(A, axis=1) + np.abs(c)) * behind

    def _convex(self, A, c, inner, error, refine: bool) -> np.ndarray:
        """c ≥ 0: ``‖z'‖ ≥ v·z'`` for every unit v, so ``(a − c v)·z' ≥ 0`` is needed: one halfspace (Lemma S2)."""
        V = np.broadcast_to(self.direction, A.shape)
        best = np.zeros(len(c))
        for _ in range(_ROUNDS if refine else 1):
            rows = A - c[:, None] * V
            level = c * (V @ self.z) - inner
            slope = self._slopes(rows)
            free = np.divide(level, slope, out=np.full(len(c), np.inf), where=slope > 0)
            free = np.where(level > 0, free, 0.0)
            capped = np.minimum(free, self.reach())
            left = level - self._allowance(A, c, error, capped)
            found = np.divide(left, slope, out=np.where(left > 0, np.inf, 0.0), where=slope > 0)
            best = np.maximum(best, np.minimum(found, np.where(np.isfinite(free), free, np.inf)) * (1.0 - 1e-12))
            if refine:  # the direction of z' where the halfspace is met is a better v
                moved = self.z + (capped[:, None] * self.norm.steepest(rows @ self.W)) @ self.W.T
                length = np.linalg.norm(moved, axis=1, keepdims=True)
                V = np.divide(moved, length, out=V.copy(), where=length > 0)
                V = V / np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1.0) * (1.0 - 1e-15)
        return np.maximum(best, 0.0)

    def _hollow(self, A, c, inner, error, refine: bool) -> np.ndarray:
        """c < 0: ``‖z'‖ ≤ p + q²/2p``, p the part of z' along z and q the part across (Lemma S3)."""
        weight = -c
        slope = self._slopes(A + weight[:, None] * self.direction)

        def root(gap: np.ndarray) -> np.ndarray:
            h, s, t = self.length, self.across, self.along
            first = 2.0 * (gap * t + slope * h)
            constant = 2.0 * gap * h
            inside = np.maximum(first**2 - 4.0 * (2.0 * slope * t - weight * s**2) * constant, 0.0)
            below = first + np.sqrt(inside)
            return np.divide(2.0 * constant, below, out=np.full(len(gap), np.inf), where=below > 0)

        gap = np.maximum(c * self.length - inner, 0.0)
        free = np.minimum(root(gap), self.reach())
        return root(np.maximum(gap - self._allowance(A, c, error, free), 0.0)) * (1.0 - 1e-12)


def _linear_radius(problem: LinearProblem, after: Affine, cone: _Cones, u: np.ndarray, y: int) -> float:
    """The nearest class: ``(w_c − w_y) · û ≥ b_y − b_c``."""
    others = np.delete(np.arange(problem.n_classes), y)
    unit = kappa(problem.T.shape[0], problem.T.shape[1], problem.n_steps + 2)
    sizes = unit * (np.linalg.norm(problem.absolute, axis=1) + problem.cancellation + np.abs(after.w0))
    A, c = problem.T[others] - problem.T[y], after.w0[y] - after.w0[others]
    return float(cone.distances(A, c, 4.0 * (sizes[others] + sizes[y]), refine=True).min())


def _neighbor_radius(problem: NeighborProblem, after: Affine, cone: _Cones, u: np.ndarray, y: int) -> float:
    """The order-statistic bound of Lemma B1, with distances to cones for distances to halfspaces."""
    k, labels, points = problem.n_neighbors, problem.labels, problem.points
    Q = k // 2 + 1
    targets, others = np.flatnonzero(labels == y), np.flatnonzero(labels != y)
    if not others.size:
        return np.inf
    near = np.argsort(np.sum((points[targets] - u) ** 2, axis=1), kind="stable")
    targets = targets[near[: max(_TARGETS, 2 * Q)]]
    S = problem.largest + np.linalg.norm(problem.absolute) + np.linalg.norm(after.w0) + problem.scale
    unit = kappa(problem.T.shape[0], problem.T.shape[1], problem.n_steps + 1, problem.shared)

    def orders(some: np.ndarray, refine: bool) -> np.ndarray:
        """``E_l^(q)`` for q = 0 … Q − 1, one row for each l."""
        step = points[some][:, None] - points[targets]
        middle = 0.5 * (points[some][:, None] + points[targets]) - after.w0
        A = (step @ problem.T).reshape(-1, problem.T.shape[1])
        c = np.einsum("ljr,ljr->lj", step, middle).ravel()
        found = cone.distances(A, c, np.full(len(c), 0.5 * unit * S * S), refine).reshape(len(some), -1)
        padded = np.hstack([found, np.zeros((len(some), max(0, Q - targets.size)))])
        return -np.sort(-padded, axis=1)[:, :Q]

    E = np.vstack([orders(part, False) for part in np.array_split(others, 1 + others.size // 256)])
    worth = np.argsort(E[:, -1], kind="stable")[: _REFINED + 2 * k]
    E[worth] = np.maximum(E[worth], orders(others[worth], True))
    return order_statistic_bound(E, labels[others], k)
