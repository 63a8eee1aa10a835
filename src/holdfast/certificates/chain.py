"""``x → u``: what lies before a vote, as one map of encoded rows. This file: a chain that is affine."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from holdfast.base.affine import AffineMap
from holdfast.base.blocks import product_by_rows
from holdfast.certificates.engines import choose, solve
from holdfast.certificates.moves import Moves
from holdfast.certificates.questions import Bounds, Effort, Problem

Vote = Callable[[AffineMap, Moves], Problem]  # who votes, for inputs that a map takes to the space of the vote


class Chain(ABC):
    """A map of encoded rows (m, d) to the space of the vote (m, r): callers never ask which.

    Attributes
    ----------
    most_variants : int
        Choices of whole numbers of a row that are worth a bound each.
    tangents : int
        How often the chain is replaced by :meth:`near`, each time where the last move led, to look for witnesses.
    keeps_distances : bool
        Whether votes that depend on the distances themselves can be bounded behind it.
    defined_everywhere : bool
        Whether every row has an image, as rows have none below 0 behind a logarithm.
    affine_map : AffineMap or None
        The chain itself, where halfspaces in the space of the vote are halfspaces of the input (Lemma K3).
    linear_part : ndarray of shape (r, d) or None
        The product of its affine steps; None where this says nothing about moves of the input.
    """

    most_variants = 256
    tangents = 0
    keeps_distances = True
    defined_everywhere = True
    affine_map: AffineMap | None = None
    linear_part: np.ndarray | None = None

    @abstractmethod
    def image(self, X: np.ndarray, fixed: bool = False) -> np.ndarray:
        """The images of rows, (m, r); ``fixed`` as for :class:`~holdfast.base.affine.AffineMap`."""

    @abstractmethod
    def magnitude(self, X: np.ndarray) -> np.ndarray:
        """The size of the numbers behind each image, (m,): its rounding error is a small part of it."""

    @abstractmethod
    def near(self, x: np.ndarray) -> AffineMap:
        """The chain as an affine map at the row x: for proposals and pictures, never for a bound."""

    @abstractmethod
    def reads(self, column: int) -> bool:
        """Whether a coordinate of an encoded row counts."""

    @abstractmethod
    def then(self, step: AffineMap) -> "Chain":
        """This chain with one more affine step."""

    @abstractmethod
    def question(self, vote: Vote, moves: Moves) -> Problem:
        """The vote, as :meth:`bounds` takes it."""

    @abstractmethod
    def quick(self, problem: Problem, fast: bool) -> bool:
        """Whether a bound takes no search."""

    @abstractmethod
    def bounds(self, problem: Problem, moves: Moves, rows: np.ndarray, codes: np.ndarray, effort: Effort) -> Bounds:
        """Certified sizes of moves of rows, and moves to look for witnesses at; NaN where there is none."""

    @abstractmethod
    def towards(self, rows: np.ndarray, shifts: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Rows whose images are about ``shifts`` (m, r) away from those of ``rows``, by short moves of ``free``."""

    def shift(self, X: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """How far the image of each row moves when the row does."""
        return np.linalg.norm(self.image(moved) - self.image(X), axis=1)

    def blur(self, X: np.ndarray) -> np.ndarray:
        """A bound on the change of each coordinate of an image by a map that jumps near x, (m, r) or (m, 1)."""
        return np.zeros((len(X), 1))

    def defined(self, X: np.ndarray) -> np.ndarray:
        """True for each row that has an image; at others ``predict`` raises."""
        return np.ones(len(X), bool)

    def for_points(self, points: np.ndarray) -> "Chain":
        """The chain without a step that a Euclidean vote of these points does not need."""
        return self


@dataclass(frozen=True)
class Affine(Chain):
    """``u = W x + w0``: a move δ of a row moves its image by Wδ (Lemma R1)."""

    map: AffineMap

    @property
    def affine_map(self) -> AffineMap:  # type: ignore[override]
        """The map."""
        return self.map

    @property
    def linear_part(self) -> np.ndarray:  # type: ignore[override]
        """W."""
        return self.map.W

    def image(self, X: np.ndarray, fixed: bool = False) -> np.ndarray:
        """``W x + w0``."""
        return self.map(X, fixed)

    def shift(self, X: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """``‖W δ‖``."""
        return np.linalg.norm(self.map.linear_part(moved - X), axis=1)

    def magnitude(self, X: np.ndarray) -> np.ndarray:
        """``‖ |W_2| |W_1| |x| + what cancels ‖``."""
        return np.linalg.norm(self.map.magnitudes(X), axis=1)

    def near(self, x: np.ndarray) -> AffineMap:
        """The map itself."""
        return self.map

    def reads(self, column: int) -> bool:
        """Whether a column of W is not 0."""
        return bool(self.map.W[:, column].any())

    def then(self, step: AffineMap) -> "Affine":
        """The product."""
        return Affine(self.map.then(step))

    def question(self, vote: Vote, moves: Moves) -> Problem:
        """The vote of moves of the row."""
        return vote(self.map, moves.relaxed())

    def quick(self, problem: Problem, fast: bool) -> bool:
        """As the engine that is chosen."""
        return choose(problem, fast).fast

    def bounds(self, problem: Problem, moves: Moves, rows: np.ndarray, codes: np.ndarray, effort: Effort) -> Bounds:
        """By an engine."""
        return solve(
            problem, self.image(rows), codes, rows,
            fast=effort.fast, budget=effort.budget, n_jobs=effort.n_jobs, memory=effort.memory,
        )  # fmt: skip

    def towards(self, rows: np.ndarray, shifts: np.ndarray, free: np.ndarray) -> np.ndarray:
        """By the pseudo-inverse of W."""
        moved = rows.copy()
        moved[:, free] += product_by_rows(shifts, np.linalg.pinv(self.map.W[:, free]))
        return moved
