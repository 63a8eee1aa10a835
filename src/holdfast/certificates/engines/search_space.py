"""The coordinates of a search, and the limits of its moves in them."""

from dataclasses import dataclass

import numpy as np

from holdfast.certificates.problems import NeighborProblem
from holdfast.certificates.rounding import UNIT_ROUNDOFF
from holdfast.numerics.sums import product_by_rows


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """Coordinates z of moves: those of the norm if it is quadratic, else ``(σδ, T)``.

    Attributes
    ----------
    slopes : ndarray of shape (n, s)
    to_input : ndarray of shape (n_free, s)
    ball : int or None
        The dual length of a slope if the norm is not quadratic.
    sigma : float
    limited : bool
        Whether the kernels are given a box: there is one, or a relation, or the norm is not quadratic, for which they
        are compiled only once, a box without sides included.
    relations : ndarray of shape (n_relations, s)
        Rows of the relations, for ``relations · z ≥ least``, times ``factors``: powers of two that make them no longer
        than the slopes may be, so that they round no more than these.
    factors : ndarray of shape (n_relations,)
    kept : int ndarray of shape (n_relations,)
        The relations that a move of the free inputs changes.
    """

    slopes: np.ndarray
    to_input: np.ndarray
    ball: int | None
    sigma: float
    limited: bool
    relations: np.ndarray
    factors: np.ndarray
    kept: np.ndarray

    @classmethod
    def of(cls, problem: NeighborProblem) -> "SearchSpace":
        """The space of a problem."""
        coordinates, moves = problem.coordinates, problem.moves
        slopes, to_input, ball, sigma = problem.norm.search_coordinates(problem.slopes, coordinates.to_input)
        relations = np.empty((0, to_input.shape[1]))
        if moves.relations is not None:
            relations = -moves.in_units(np.atleast_2d(moves.relations[0])) @ to_input
        kept = np.flatnonzero(relations.any(axis=1))
        longest = max(problem.largest * coordinates.growth / sigma, 1e-300)
        factors = 2.0 ** np.floor(np.log2(longest / np.linalg.norm(relations[kept], axis=1)))
        rows = np.ascontiguousarray(relations[kept] * factors[:, None])
        limited = moves.confined or moves.relations is not None or ball is not None
        return cls(slopes, to_input, ball, sigma, limited, rows, factors, kept)

    def limits(self, problem: NeighborProblem, inputs: np.ndarray | None, m: int):
        """The room of each query, down and up (m, n_free), or None; the least levels of the relations (m, n_relations).

        Levels are rounded down: a set of moves that is a hair too large keeps a bound sound (Lemma P2).
        """
        moves, n_free = problem.moves, self.to_input.shape[0]
        if not self.limited:
            return None, None, np.empty((m, 0))
        down, up = problem.room(inputs, m)
        if not down.size:
            down, up = np.full((m, n_free), np.inf), np.full((m, n_free), np.inf)
        if moves.relations is None:
            return down, up, np.empty((m, 0))
        room = moves.relation_room(inputs)[:, self.kept]  # refuses to go on without inputs
        assert inputs is not None
        A, b = moves.relations[0][self.kept], moves.relations[1][self.kept]
        size = product_by_rows(np.abs(inputs), np.abs(A)) + np.abs(b)
        return down, up, -(room + 4 * (A.shape[1] + 8) * UNIT_ROUNDOFF * size) * self.factors
