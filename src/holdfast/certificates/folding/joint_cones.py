"""Several cones at once: a weighted mean of rows ``a · z ≥ c ‖z‖`` is a row too, and may be farther (Lemma S4)."""

import numpy as np

from holdfast.certificates.folding.cones import Cones
from holdfast.certificates.programs import non_negative_least_squares

_ROUNDS = 4  # how often the tangents of the cones are taken, each time where the last move leads
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
        for _ in range(_ROUNDS):
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
