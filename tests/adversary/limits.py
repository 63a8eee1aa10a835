"""Moves that are possible, and their lengths in rational arithmetic; nothing here is taken from holdfast but Threat."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from holdfast import Threat


@dataclass(frozen=True)
class Limits:
    """What may move, as arrays over all features.

    Attributes
    ----------
    norm : {"l2", "linf", "l1"} or ndarray of shape (d, d)
    unit, lower, upper : ndarrays of shape (d,) or None
    frozen, only_up, only_down, integer : bool ndarrays of shape (d,) or None
    relations : tuple of ndarrays (A, b) of shapes (n, d) and (n,), or None
        A moved row z has ``A z ≤ b``.
    """

    norm: str | np.ndarray = "l2"
    unit: np.ndarray | None = None
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    frozen: np.ndarray | None = None
    only_up: np.ndarray | None = None
    only_down: np.ndarray | None = None
    integer: np.ndarray | None = None
    relations: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def threat(self) -> Threat:
        """The same for certify."""
        return Threat(
            self.norm, unit=self.unit, lower=self.lower, upper=self.upper, frozen=self.frozen,
            only_up=self.only_up, only_down=self.only_down, integer=self.integer, relations=self._named_relations(),
        )  # fmt: skip

    def _named_relations(self) -> list | None:
        """``A z ≤ b`` row by row, by number of the column."""
        if self.relations is None:
            return None
        return [
            ({int(j): float(a[j]) for j in np.flatnonzero(a)}, "<=", float(b))
            for a, b in zip(*self.relations, strict=True)
        ]

    def sides(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest values that moved rows may have; a row outside the box may stay there."""
        low = np.full(rows.shape, -np.inf) if self.lower is None else np.minimum(self.lower, rows)
        high = np.full(rows.shape, np.inf) if self.upper is None else np.maximum(self.upper, rows)
        for mask, side in ((self.only_up, low), (self.only_down, high)):
            if mask is not None:
                side[:, mask] = rows[:, mask]
        if self.frozen is not None:
            low[:, self.frozen] = high[:, self.frozen] = rows[:, self.frozen]
        return low, high

    def possible(self, moved: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Which moved rows respect box, one-sided and frozen features, whole numbers and relations, to the last bit."""
        low, high = self.sides(rows)
        out = ((low <= moved) & (moved <= high)).all(axis=1)
        if self.integer is not None:
            value, own = moved[:, self.integer], rows[:, self.integer]
            out &= ((value == np.rint(value)) | (value == own)).all(axis=1)
        if self.relations is not None:
            A, b = self.relations
            room = 1e-12 * (np.abs(moved) @ np.abs(A).T + np.abs(b))  # more than the rounding of few terms
            out &= (moved @ A.T - b <= -room).all(axis=1)
        return out

    def lengths(self, delta: np.ndarray) -> np.ndarray:
        """Lengths of moves in float64, scaled so that no square leaves the range."""
        delta = delta if self.unit is None else delta / self.unit
        top = np.abs(delta).max(axis=1, keepdims=True)
        safe = np.where((top > 0) & np.isfinite(top), top, 1.0)
        delta = delta / safe
        if not isinstance(self.norm, str):
            length = np.sqrt(np.maximum(np.einsum("md,de,me->m", delta, self.norm, delta), 0.0))
        elif self.norm == "l2":
            length = np.sqrt((delta**2).sum(axis=1))
        else:
            length = np.abs(delta).max(axis=1) if self.norm == "linf" else np.abs(delta).sum(axis=1)
        return length * safe[:, 0]

    def compare(self, moved: np.ndarray, row: np.ndarray, size: float) -> int:
        """-1, 0 or 1: the exact length of the move of one row is below, at or above a finite size."""
        delta = [Fraction(float(a)) - Fraction(float(b)) for a, b in zip(moved, row, strict=True)]
        if self.unit is not None:
            delta = [a / Fraction(float(u)) for a, u in zip(delta, self.unit, strict=True)]
        size_ = Fraction(float(size))
        if not isinstance(self.norm, str):
            A = [[Fraction(float(v)) for v in line] for line in self.norm.tolist()]
            length = sum(delta[i] * A[i][j] * delta[j] for i in range(len(delta)) for j in range(len(delta)))
            size_ *= size_
        elif self.norm == "l2":
            length, size_ = sum(a * a for a in delta), size_ * size_
        else:
            length = max(map(abs, delta)) if self.norm == "linf" else sum(map(abs, delta))
        return (length > size_) - (length < size_)

    def steepest(self, A: np.ndarray) -> np.ndarray:
        """For each row a, a direction in which ``a · δ`` grows fastest for its length."""
        unit = np.ones(A.shape[1]) if self.unit is None else self.unit
        A = A * unit
        if not isinstance(self.norm, str):
            out = np.linalg.lstsq(self.norm, A.T, rcond=None)[0].T
        elif self.norm == "l2":
            out = A
        elif self.norm == "linf":
            out = np.sign(A)
        else:
            out = np.zeros_like(A)
            at = np.arange(len(A)), np.abs(A).argmax(axis=1)
            out[at] = np.sign(A[at])
        return out * unit

    def stretched(self, rows: np.ndarray, directions: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Rows moved along directions, within the limits, until the move is about as long as ``sizes``."""
        low, high = self.sides(rows)
        top = np.abs(directions).max(axis=1, keepdims=True)
        directions = directions / np.where((top > 0) & np.isfinite(top), top, 1.0)
        plain = np.clip(rows + directions, low, high) - rows  # the free part of the direction
        length = self.lengths(np.where(plain == 0, 0.0, directions))
        factor = np.divide(sizes, length, out=np.zeros_like(sizes), where=length > 0)
        moved = np.clip(rows + factor[:, None] * directions, low, high)
        if self.lower is None and self.upper is None:
            return self._whole(moved, rows)
        for _ in range(8):  # what the box cut off, the other features make up for
            length = self.lengths(moved - rows)
            growth = np.divide(sizes, length, out=np.ones_like(sizes), where=length > 0)
            factor = factor * np.clip(growth, 0.5, 4.0)
            moved = np.clip(rows + factor[:, None] * directions, low, high)
        return self._whole(moved, rows)

    def _whole(self, moved: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The same with whole numbers where they must be, rounded towards the row."""
        if self.integer is None:
            return moved
        value, own = moved[:, self.integer], rows[:, self.integer]
        whole = np.where(value > own, np.floor(value), np.ceil(value))
        out = moved.copy()
        out[:, self.integer] = np.where((whole - own) * (value - own) > 0, whole, own)
        return out
