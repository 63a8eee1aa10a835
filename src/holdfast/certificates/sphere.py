"""Votes behind a step that scales rows to length 1."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from holdfast.base.affine import AffineMap
from holdfast.base.blocks import product_by_rows, single_threaded_blas
from holdfast.certificates.chain import Affine, Chain, Vote
from holdfast.certificates.moves import Moves
from holdfast.certificates.programs import non_negative_least_squares
from holdfast.certificates.questions import (
    UNIT_ROUNDOFF,
    Bounds,
    Effort,
    LinearProblem,
    NeighborProblem,
    Problem,
    kappa,
    order_statistic_bound,
)

# scikit-learn does not normalise rows that are shorter than this.
SHORTEST = 10 * np.finfo(float).eps
_ROUNDS = 4  # how often the direction of a row is improved
_MULTIPLIERS = 24  # multipliers λ, below the first at which D is singular, that are tried for a row with c < 0
_APART = 1e-6  # least distance of the matrix D of a dual problem from a singular one: it costs as many digits
_BEYOND = 4.0  # how far multipliers go beyond the first at which D is singular
_DIGITS = 1e-8  # relative error of a sum: above n rounding errors of D, which is no nearer to 0 than _APART
_FIRST_ORDER = 1e-2  # largest relative error of a divisor, so that its square does not matter


class Cones:
    """Distances from an input to the sets ``a · z ≥ c ‖z‖``, z = W x + w0, in the norm of the moves."""

    def __init__(self, before: AffineMap, moves: Moves):
        self.W, absolute = moves.in_units(before.W), moves.in_units(before.absolute)
        self.norm = moves.free_norm
        coordinates = self.norm.coordinates(self.W, absolute, reduce=True)
        self.growth, self.lipschitz = coordinates.growth, coordinates.lipschitz
        U, S, _ = np.linalg.svd(self.W, full_matrices=False) if self.W.size else (np.zeros((1, 1)), np.zeros(1), None)
        self.axes = U, np.maximum(S, 1e-300)
        self.error = kappa(before.W.shape[0], before.W.shape[1], before.n_steps + 1, n_terms=before.n_terms)

    def at(self, z: np.ndarray, length: float, size: float) -> "Cones":
        """Set one input: its z, its length and the magnitude of the numbers behind it; returns self."""
        self.z, self.length, self.size = z, length, size
        self.way: np.ndarray | None = None  # a move of the free inputs to look for witnesses along, if one is found
        self.direction = z / length
        # ‖P Wδ‖ ≤ σ‖δ‖ for the part across z, and |ẑ·Wδ| ≤ τ‖δ‖ along it.
        across = self.W - np.outer(self.direction, self.direction @ self.W)
        coordinates = self.norm.coordinates(across, np.abs(across), reduce=True)
        self.across = coordinates.lipschitz
        self.along = float(self._slopes(self.direction[None])[0])
        return self

    def _slopes(self, A: np.ndarray) -> np.ndarray:
        """``‖Wᵀa‖*`` of each row a, with its rounding."""
        slopes = A @ self.W
        return self.norm.dual_lengths(slopes) * (1.0 + 1e-12) + self.norm.dual_error(slopes)

    def reach(self) -> float:
        """A lower bound on moves that take z to where scikit-learn does not normalise it."""
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
        # Where nothing moves z, the reach is infinite.
        far = self.length + (self.lipschitz * reach if self.lipschitz else 0.0)
        behind = self.error * (self.size + (self.growth * reach if self.growth else 0.0))
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
            safe = np.divide(left, slope, out=np.where(left > 0, np.inf, 0.0), where=slope > 0)
            best = np.maximum(best, np.minimum(safe, np.where(np.isfinite(free), free, np.inf)) * (1.0 - 1e-12))
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
            met = np.divide(2.0 * constant, below, out=np.full(len(gap), np.inf), where=below > 0)
            return np.where(gap > 0, met, 0.0)

        gap = np.maximum(c * self.length - inner, 0.0)
        free = np.minimum(root(gap), self.reach())
        bound = root(np.maximum(gap - self._allowance(A, c, error, free), 0.0)) * (1.0 - 1e-12)
        if refine and self.norm.cone_duality and self.along > 0:
            bound = np.maximum(bound, self._by_duality(A, c, inner, error))
        return bound

    def _by_duality(self, A, c, inner, error) -> np.ndarray:
        """c < 0, L2: ``‖δ‖² ≥ max_λ min_δ ‖δ‖² + λ f(δ)``, ``f = (a·z')² − c²‖z'‖²`` (Lemma S4).

        With ``W = U S Vᵀ`` and ``b = S Uᵀ a`` the matrix of the inner problem is ``D + λ b bᵀ``, ``D = 1 − λ c² S²``:
        its inverse is known. Several λ are tried; every one gives a sound bound. Where c is nearly 0 all λ are so large
        that the terms cancel; ``…_size`` are the magnitudes before they do, from which the lost digits follow.
        """
        U, S = self.axes
        cap = min(0.9 * self.length / self.along, self.reach())
        shortest = self.length - self.along * cap
        weight = -c + self._allowance(A, c, error, np.full(len(c), cap)) / shortest  # |c|, with rounding
        low, high = -inner - weight * self.length, -inner + weight * self.length
        level = np.where(low > 0, low * high, 0.0)  # f at the input
        b, b_size = (A @ U) * S, (np.abs(A) @ np.abs(U)) * S
        inner_size = np.abs(A) @ np.abs(self.z)
        g = b * inner[:, None] - (weight**2)[:, None] * (S * (U.T @ self.z))
        g_size = b_size * inner_size[:, None] + (weight**2)[:, None] * (S * (np.abs(U).T @ np.abs(self.z)))
        level_size = (inner_size + weight * self.length) ** 2
        top, second = S[0] ** 2, S[1] ** 2 if S.size > 1 else 0.0
        limit = min(top / second, _BEYOND) if second > 0 else _BEYOND
        sizes = np.append(np.linspace(0.0, 1.0, _MULTIPLIERS + 2)[1:-1], np.linspace(1.0, limit, 10)[1:-1])
        best = np.zeros(len(c))
        for size in (*np.geomspace(1e-6, 0.05, 10), *sizes):
            scale = np.divide(size, weight**2 * top, out=np.zeros(len(c)), where=weight > 0)  # λ
            D = 1.0 - (size / top) * S**2
            if np.abs(D).min() < _APART:
                continue
            bb, gg, bg = (b**2 / D).sum(axis=1), (g**2 / D).sum(axis=1), (b * g / D).sum(axis=1)
            factor = 1.0 + scale * bb
            definite = factor > 0 if D.min() > 0 else factor < 0  # with one negative entry of D, b bᵀ must outweigh it
            bb_size, gg_size, bg_size = (
                ((one * other) / np.abs(D)).sum(axis=1)
                for one, other in ((b_size, b_size), (g_size, g_size), (b_size, g_size))
            )
            with np.errstate(all="ignore"):  # values that are not finite are not used below
                square = scale * level - scale**2 * (gg - scale * bg**2 / factor)
                blur = _DIGITS * (1.0 + scale * bb_size) / np.abs(factor)  # relative error of ``factor``
                quotient = scale * bg_size**2 / np.abs(factor) * (1.0 + blur / _DIGITS)
                square -= _DIGITS * (scale * level_size + scale**2 * (gg_size + 2.0 * quotient))
            sound = definite & (blur < _FIRST_ORDER) & np.isfinite(square) & (square > 1e-3 * scale * level)
            best = np.where(sound, np.maximum(best, np.sqrt(np.where(sound, square, 0.0))), best)
        return np.minimum(best * (1.0 - 1e-6), cap)


_JOINT_ROUNDS = 4  # how often the tangents of the cones are taken, each time where the last move leads
_NONE = 1e-9  # weights below this fraction of the largest count as 0


class JointCones:
    """Lower bounds on moves that meet all cones of a set, or all but a few.

    Parameters
    ----------
    cone : Cones
        Of one input.
    error : float
        Of each level.
    """

    def __init__(self, cone: Cones, error: float):
        self.cone, self.error = cone, error
        self.shortest, self.way = np.inf, np.zeros(cone.W.shape[1])  # the least bound met, and a move for witnesses

    def orders(self, A: np.ndarray, c: np.ndarray, n: int) -> np.ndarray:
        """For q = 0 … n − 1: no shorter move meets all but q of the cones; the least over which are left out."""
        kept = np.arange(len(c))
        self.last = np.zeros(self.cone.W.shape[1])
        bound, _ = self._all(A, c)
        if 0 < bound < self.shortest:
            self.shortest, self.way = bound, self.last
        rest = [self._all_but(A, c, kept, q) if q < len(c) else 0.0 for q in range(1, n)]
        return np.array([bound, *rest])

    def _all_but(self, A: np.ndarray, c: np.ndarray, kept: np.ndarray, q: int) -> float:
        """The least over q cones that are left out; only those with a weight change anything."""
        bound, weights = self._all(A[kept], c[kept])
        if q == 0 or bound == 0.0:
            return bound
        heavy = np.flatnonzero(weights > 0)
        return min([bound, *(self._all_but(A, c, np.delete(kept, at), q - 1) for at in heavy)])

    def _all(self, A: np.ndarray, c: np.ndarray) -> tuple[float, np.ndarray]:
        """A certified bound on moves that meet all cones, and the weights of the mean that gives it."""
        cone, best, kept = self.cone, 0.0, np.zeros(len(c))
        v = cone.direction
        for _ in range(_JOINT_ROUNDS):
            normals = A - c[:, None] * v
            slopes, levels = normals @ cone.W, -(normals @ cone.z)
            size = np.maximum(np.linalg.norm(slopes, axis=1), 1e-300)
            # The shortest move with slopes · δ ≥ levels, by its dual: multipliers of the rows.
            matrix = np.vstack([(slopes / size[:, None]).T, levels / size])
            scale = max(float(np.abs(levels / size).max()), 1e-300)
            matrix[-1] /= scale
            weights = non_negative_least_squares(matrix, np.append(np.zeros(len(matrix) - 1), 1.0))
            if weights is None or not weights.max(initial=0.0) > 0:
                break
            weights = weights / size
            weights = np.where(weights > _NONE * weights.max(), weights, 0.0) / weights.sum()
            mean, level = weights @ A, float(weights @ c)
            bound = float(cone.distances(mean[None], np.array([level]), np.array([self.error]), True)[0])
            if bound > best:
                best, kept = bound, weights
            self.last = cone.norm.steepest(((mean - level * v) @ cone.W)[None])[0] * bound
            moved = cone.z + cone.W @ self.last
            v = moved / max(float(np.linalg.norm(moved)), 1e-300)
        return best, kept


_TARGETS = 32  # nearest points of the predicted class that are used, or twice as many as an order statistic needs
_REFINED = 64  # points of other classes (2k more) whose cones get the tighter, slower bound
_JOINED = 24  # points of other classes whose cones are taken together
_MOST_EXCUSED = 1  # targets that may be excused then: votes of up to three neighbours
_COARSE = 1e-4  # rounding of a squared distance on the sphere from which on cones are used: they lose fewer digits
_LENGTHS = 64.0  # roundings of a sum by which squared lengths of points may differ from 1 and still count as 1


def unit_rows(Z: np.ndarray) -> np.ndarray:
    """Rows scaled to unit length as scikit-learn does: a row of length (nearly) 0 stays as it is."""
    length = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(length < SHORTEST, 1.0, length)


@dataclass(frozen=True)
class OnSphere(Chain):
    """``x → z = before(x) → z / ‖z‖ → u = after(·)``.

    Attributes
    ----------
    before, after : AffineMap
        The steps before the normalisation and those behind it.
    """

    before: AffineMap
    after: AffineMap

    tangents = 3
    keeps_distances = False

    @property
    def linear_part(self) -> np.ndarray:  # type: ignore[override]
        """The metric behind the normalisation, in the directions before it."""
        return self.after.W @ self.before.W

    def image(self, X: np.ndarray, fixed: bool = False) -> np.ndarray:
        """A row of length (nearly) 0 is not scaled."""
        return self.after(unit_rows(self.before(X, fixed)), fixed)

    def magnitude(self, X: np.ndarray) -> np.ndarray:
        """Rounding before the normalisation grows as rows are scaled up to length 1."""
        length = np.maximum(np.linalg.norm(self.before(X), axis=1, keepdims=True), np.finfo(float).tiny)
        return np.linalg.norm(self.after.magnitudes(self.before.magnitudes(X) / length), axis=1)

    def near(self, x: np.ndarray) -> AffineMap:
        """The tangent ``ẑ + (I − ẑẑᵀ)(z' − z)/‖z‖``."""
        z = self.before(x[None])[0]
        length = max(float(np.linalg.norm(z)), SHORTEST)
        across = self.before.W - np.outer(z / length, z @ self.before.W / length)
        W = self.after.W @ across / length
        return AffineMap.step(W, self.image(x[None])[0] - W @ x)

    def reads(self, column: int) -> bool:
        """Whether it moves z."""
        return bool(self.before.W[:, column].any())

    def then(self, step: AffineMap) -> "OnSphere":
        """One more step behind the normalisation."""
        return replace(self, after=self.after.then(step))

    def for_points(self, points: np.ndarray) -> Chain:
        """Without the normalisation, where the vote does not need it; else as it is (Lemma S1).

        Directly before a Euclidean vote of points of length 1, ``z / ‖z‖`` and z rank the points alike. Lengths that
        differ from 1 by rounding cost as much of the budget as so many more steps.
        """
        before, after = self.before, self.after
        if not np.array_equal(after.W, np.eye(len(after.W))) or after.w0.any():
            return self
        squares = np.einsum("nr,nr->n", points, points)
        unit = (points.shape[1] + 8) * UNIT_ROUNDOFF
        apart = float(np.abs(squares - 1.0).max()) * 2.0 / unit
        coarse = kappa(before.W.shape[0], before.W.shape[1], n_terms=before.n_terms) * before.scale**2 > _COARSE
        if apart > _LENGTHS or coarse:
            return self
        more = after.n_steps + 2 + int(np.ceil(apart / 3.0))  # a step is worth three units (Lemma F2)
        return Affine(replace(before, n_steps=before.n_steps + more))

    def question(self, vote: Vote, moves: Moves) -> Problem:
        """The vote on unit vectors."""
        return vote(self.after, Moves())

    def quick(self, problem: Problem, fast: bool) -> bool:
        """Cones take no search."""
        return True

    def towards(self, rows: np.ndarray, shifts: np.ndarray, free: np.ndarray) -> np.ndarray:
        """A row keeps its length, so that it lands where it should on the sphere."""
        W = self.before.then(self.after).W
        length = np.linalg.norm(self.before(rows), axis=1, keepdims=True)
        moved = rows.copy()
        moved[:, free] += product_by_rows(shifts * length, np.linalg.pinv(W[:, free]))
        return moved

    def bounds(self, problem: Problem, moves: Moves, rows: np.ndarray, codes: np.ndarray, effort: Effort) -> Bounds:
        """Radii from distances to cones (Lemmas S2 to S4, B1); a box is ignored, which is sound."""
        cone = Cones(self.before, moves)
        neighbors = partial(_neighbor_radius, fast=effort.fast)
        rule: Callable[..., float] = neighbors if isinstance(problem, NeighborProblem) else _linear_radius
        Z, U = self.before(rows), self.image(rows)
        size = np.linalg.norm(product_by_rows(np.abs(rows), self.before.absolute), axis=1) + self.before.scale
        out, ways = np.zeros(len(rows)), np.full(rows.shape, np.nan)
        with single_threaded_blas():  # small matrices
            for t, (z, u, y) in enumerate(zip(Z, U, codes, strict=True)):
                length = float(np.linalg.norm(z))
                if 1e-150 < length < 1e150 and problem.vote(u[None])[0] == y:  # else a square may over- or underflow
                    cone.at(z, length, float(size[t]))
                    out[t] = rule(problem, self.after, cone, u, int(y))
                    if cone.way is not None:
                        ways[t] = moves.spread(cone.way[None], rows.shape[1])[0]
        return Bounds(out, np.full(len(rows), np.inf), ways)


def _linear_radius(problem: LinearProblem, after: AffineMap, cone: Cones, u: np.ndarray, y: int) -> float:
    """The least distance to a cone ``(w_c − w_y) · û ≥ b_y − b_c`` over the other classes c."""
    others = np.delete(np.arange(problem.n_classes), y)
    unit = kappa(problem.T.shape[0], problem.T.shape[1], problem.n_steps + 2, n_terms=problem.n_terms)
    sizes = unit * (np.linalg.norm(problem.absolute, axis=1) + problem.cancellation + np.abs(after.w0))
    A, c = problem.T[others] - problem.T[y], after.w0[y] - after.w0[others]
    return float(cone.distances(A, c, 4.0 * (sizes[others] + sizes[y]), refine=True).min())


def _neighbor_radius(
    problem: NeighborProblem, after: AffineMap, cone: Cones, u: np.ndarray, y: int, fast: bool
) -> float:
    """The order-statistic bound of Lemma B1, with distances to cones for distances to halfspaces.

    Of the points l that decide it, the cones of several targets are taken together.
    """
    k, labels, points = problem.n_neighbors, problem.labels, problem.points
    Q = k // 2 + 1
    targets, others = np.flatnonzero(labels == y), np.flatnonzero(labels != y)
    if not others.size:
        return np.inf
    near = np.argsort(np.sum((points[targets] - u) ** 2, axis=1), kind="stable")
    targets = targets[near[: max(_TARGETS, 2 * Q)]]
    S = problem.largest + np.linalg.norm(problem.absolute) + np.linalg.norm(after.w0) + problem.scale
    unit = kappa(problem.T.shape[0], problem.T.shape[1], problem.n_steps + 1, problem.shared, problem.n_terms)

    def cones(impostors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slopes and levels of all pairs of an impostor and a target, one after the other."""
        step = points[impostors][:, None] - points[targets]
        middle = 0.5 * (points[impostors][:, None] + points[targets]) - after.w0
        return (step @ problem.T).reshape(-1, problem.T.shape[1]), np.einsum("ljr,ljr->lj", step, middle).ravel()

    def orders(impostors: np.ndarray, refine: bool) -> np.ndarray:
        """``E_l^(q)`` for q = 0 … Q − 1, one row for each l."""
        A, c = cones(impostors)
        distances = cone.distances(A, c, np.full(len(c), 0.5 * unit * S * S), refine).reshape(len(impostors), -1)
        padded = np.hstack([distances, np.zeros((len(impostors), max(0, Q - targets.size)))])
        return -np.sort(-padded, axis=1)[:, :Q]

    E = np.vstack([orders(part, False) for part in np.array_split(others, 1 + others.size // 256)])
    least = np.argsort(E[:, -1], kind="stable")[: _REFINED + 2 * k]  # the points that decide the bound
    E[least] = np.maximum(E[least], orders(others[least], True))
    if fast or Q > _MOST_EXCUSED + 1:
        return order_statistic_bound(E, labels[others], k)
    joint, left = JointCones(cone, float(unit * S * S)), np.ones(len(others), bool)
    for _ in range(_JOINED):
        bound = order_statistic_bound(E, labels[others], k)
        deciding = np.flatnonzero(left & (E[:, -1] <= bound))
        if not deciding.size or not np.isfinite(bound):
            break
        l = deciding[np.argmin(E[deciding, -1])]
        left[l] = False
        E[l] = np.maximum(E[l], joint.orders(*cones(others[l : l + 1]), Q))
    cone.way = joint.way if np.isfinite(joint.shortest) else None
    return order_statistic_bound(E, labels[others], k)
