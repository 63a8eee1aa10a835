"""Distances from an input to cones ``a · z ≥ c ‖z‖``, the rows of a vote behind a normalisation (Lemmas S2, S3)."""

import numpy as np

from holdfast.affine import Affine
from holdfast.certificates.moves import Moves
from holdfast.certificates.rounding import kappa

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

    def __init__(self, before: Affine, moves: Moves):
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
