"""Linear relations between features, ``A z ≤ b``, which a moved row keeps."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from holdfast.numerics.sums import product_by_rows

# A row may break a relation by this fraction of the sizes that are added, as 0.1 + 0.2 breaks "<= 0.3": more than the
# rounding of sums of up to a million terms.
TOLERANCE = 1e-9
_ROUNDS = 60  # of projections; a row that still breaks a relation then is no witness
_INSIDE = 1e-13  # how far inside a relation a projection aims, relative to the sizes that are added


class Relations(NamedTuple):
    """``A z ≤ b`` for every row z, before and after a move.

    Attributes
    ----------
    A : ndarray of shape (n_relations, d)
    b : ndarray of shape (n_relations,)
    """

    A: np.ndarray
    b: np.ndarray

    def sizes(self, rows: np.ndarray) -> np.ndarray:
        """``|A| |z| + |b|``: the sizes that are added in each relation of each row, (m, n_relations)."""
        return np.abs(rows) @ np.abs(self.A).T + np.abs(self.b)

    def broken(self, rows: np.ndarray) -> np.ndarray:
        """A mask (m, n_relations) of the relations that a row breaks by more than rounding can."""
        return rows @ self.A.T - self.b > TOLERANCE * self.sizes(rows)

    def room(self, rows: np.ndarray, slack: float) -> np.ndarray:
        """``b − A z + slack · sizes``, (m, n_relations); a row has the same room in any batch."""
        sizes = product_by_rows(np.abs(rows), np.abs(self.A)) + np.abs(self.b)
        return self.b - product_by_rows(rows, self.A) + slack * sizes

    def kept(self, moved: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """True for each moved row that keeps every relation in exact arithmetic.

        An equality, which is two opposite relations, is kept to rounding (1e-9 of the sizes that are added). Where the
        row before the move breaks a relation by rounding, the moved row may break it by as much.
        """
        value, size = moved @ self.A.T - self.b, self.sizes(moved)
        out = ~(value > TOLERANCE * size).any(axis=1)
        unclear = (np.abs(value) <= TOLERANCE * size) & ~self.equalities()
        for t, k in zip(*np.nonzero(unclear & out[:, None]), strict=True):
            now = _exact(self.A[k], moved[t], self.b[k])
            out[t] &= now <= 0 or now <= _exact(self.A[k], rows[t], self.b[k])
        return out

    def equalities(self) -> np.ndarray:
        """A mask of the relations whose opposite is there as well."""
        both = np.column_stack([self.A, self.b])
        return np.array([(both == -row).all(axis=1).any() for row in both], dtype=bool)

    def project(self, moved, rows, low, high, still: np.ndarray, unit: np.ndarray | None) -> np.ndarray:
        """Moved rows, projected onto the relations they break, one after the other, within ``low`` and ``high``.

        Projections alternate between halfspaces and the box, in units of the features; features of the mask ``still``
        do not change. A row that still breaks a relation at the end is drawn a little towards the row before the move,
        which keeps its relations.
        """
        todo = np.flatnonzero(np.isfinite(moved).all(axis=1))
        todo = todo[~self.kept(moved[todo], rows[todo])]
        if not todo.size:
            return moved
        out = moved.copy()
        z, low, high, x = moved[todo], low[todo], high[todo], rows[todo]
        scale = np.ones(len(still)) if unit is None else unit
        for _ in range(_ROUNDS):
            before = z
            for a, b in zip(self.A, self.b, strict=True):
                # Only features that can still move in the direction needed.
                move = np.where(still | ((z <= low) & (a > 0)) | ((z >= high) & (a < 0)), 0.0, a * scale)
                over = z @ a - b + _INSIDE * (np.abs(z) @ np.abs(a) + abs(b))
                length = np.einsum("md,md->m", move, move)
                step = np.divide(np.maximum(over, 0.0), length, out=np.zeros(len(z)), where=length > 0)
                z = np.clip(z - step[:, None] * move * scale, low, high)
            if np.array_equal(before, z):
                break
        kept = self.kept(z, x)
        if not kept.all() and not still.any():
            back = x[~kept] + (1.0 - 1e-6) * (z[~kept] - x[~kept])
            z[~kept] = np.clip(back, low[~kept], high[~kept])
        out[todo] = z
        return out


def _exact(a: np.ndarray, z: np.ndarray, b: float) -> Fraction:
    """``a · z − b`` in exact arithmetic."""
    terms = (Fraction(float(a[i])) * Fraction(float(z[i])) for i in np.flatnonzero(a))
    return sum(terms, Fraction(0)) - Fraction(float(b))
