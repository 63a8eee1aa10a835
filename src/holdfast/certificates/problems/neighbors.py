"""The vote of the k nearest neighbours."""

from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np

from holdfast.certificates.coordinates import MoveCoordinates
from holdfast.certificates.kernels.order_statistics import VoteRule
from holdfast.certificates.kernels.voting import vote_rows
from holdfast.certificates.moves import Moves
from holdfast.certificates.norms import L2
from holdfast.certificates.problems.base import Problem


@dataclass(frozen=True, eq=False)
class NeighborProblem(Problem):
    """k nearest neighbours among ``points``, for queries u that an input move δ takes to ``u + Tδ``.

    Parameters
    ----------
    points : ndarray of shape (n, r)
        Reference points where the distance is Euclidean, ``u = L W x + const``.
    labels : int ndarray of shape (n,)
        Class codes ``0 … n_classes − 1``.
    T : ndarray of shape (r, d)
        ``L W``.
    n_neighbors : int
    moves : Moves
        Which δ are possible, and how they are measured.
    n_classes : int or None
        By default one more than the largest label.
    ties : {"nearest", "lowest"}
        Which class wins equal votes: the tied class with the nearest neighbour (of equally near points the one
        that comes first), or the lowest code (scikit-learn). The lower bound holds for both.
    scale : float
        Magnitude of other terms that cancel when u is computed from an input (means of scalers, say), for the rounding
        bound.
    absolute, n_steps, n_terms
        As for :class:`~holdfast.certificates.problems.Problem`; by default ``|T|`` and one step.
    shared : bool
        Whether the model votes with these very points, and not with points it has mapped by itself.
    goal : int or None
        The only class whose victory counts as a change; None: any class but the prediction.
    goal_votes : int or None
        Only victories of ``goal`` with at most this many votes count; None: all.

    Attributes
    ----------
    coordinates : MoveCoordinates
        Of all free inputs if they are confined, else of rank(T).
    slopes : ndarray of shape (n, s)
        ``V = U G``: ``a_lj`` is ``v_l − v_j``.
    largest : float
        ``max ‖u_j‖``.
    """

    points: np.ndarray
    labels: np.ndarray
    T: np.ndarray
    n_neighbors: int = 1
    moves: Moves = field(default_factory=Moves)
    n_classes: int = 0
    ties: str = "nearest"
    scale: float = 0.0
    absolute: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_steps: int = 1
    n_terms: int = 0
    shared: bool = True
    goal: int | None = None
    goal_votes: int | None = None
    coordinates: MoveCoordinates = field(init=False)
    slopes: np.ndarray = field(init=False)
    largest: float = field(init=False)

    def __post_init__(self):
        def put(name, value):
            object.__setattr__(self, name, value)

        put("points", np.ascontiguousarray(self.points, dtype=np.float64))
        put("labels", np.ascontiguousarray(self.labels, dtype=np.int64))
        put("T", np.ascontiguousarray(self.T, dtype=np.float64))
        n, r = self.points.shape
        if self.T.ndim != 2 or self.T.shape[0] != r:
            raise ValueError(f"T must have {r} rows, as the points have columns; got shape {self.T.shape}.")
        if self.labels.shape != (n,):
            raise ValueError(f"labels must have shape ({n},); got {self.labels.shape}.")
        if not 1 <= self.n_neighbors <= n:
            raise ValueError(f"n_neighbors must be between 1 and {n}, the number of points; got {self.n_neighbors}.")
        if self.ties not in ("nearest", "lowest"):
            raise ValueError(f"ties must be 'nearest' or 'lowest'; got {self.ties!r}.")
        least = int(self.labels.max()) + 1
        if self.labels.min() < 0 or (self.n_classes and self.n_classes < least):
            raise ValueError("labels must be class codes 0, 1, … below n_classes.")
        put("n_classes", self.n_classes or least)
        if not self.absolute.size:
            put("absolute", np.abs(self.T))
        columns, sizes = self.moves.in_units(self.T), self.moves.in_units(self.absolute)
        limited = self.moves.confined or self.moves.relations is not None
        put("coordinates", self.moves.free_norm.coordinates(columns, sizes, reduce=not limited))
        put("slopes", np.ascontiguousarray(self.points @ self.coordinates.G))
        put("largest", float(L2().lengths(self.points).max()))

    @property
    def lowest_wins(self) -> bool:
        """True if equal votes go to the lowest code."""
        return self.ties == "lowest"

    @property
    def rule(self) -> VoteRule:
        """The rule of the vote and the measure of moves, for the kernels."""
        return VoteRule(self.n_neighbors, self.n_classes, self.moves.norm.code, self.coordinates.lipschitz)

    def vote(self, queries: np.ndarray) -> np.ndarray:
        """The class that wins at each query, by distances ``Σ (u − u_j)²`` in float64.

        Of equally near points the one that comes first counts as nearer.
        """
        out = np.empty(len(queries), np.int64)
        rows = np.ascontiguousarray(queries, dtype=np.float64)
        k = self.n_neighbors
        keys, nearest, tally = np.empty(k), np.empty(k, np.int64), np.empty(self.n_classes, np.int64)
        D = np.empty(len(self.points))
        vote_rows(self.points, self.labels, rows, self.lowest_wins, keys, nearest, tally, D, out)
        return out

    def lost(self, elected: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        """Whether votes for the classes ``elected`` are changes that count."""
        return elected != prediction if self.goal is None else elected == self.goal

    def magnitude(self) -> float:
        """``max ‖u_j‖``."""
        return self.largest

    def scaled(self, alpha: float, beta: float) -> "NeighborProblem":
        """The problem with queries ``alpha u`` and moves measured in units of ``beta``."""
        return replace(
            self, points=alpha * self.points, T=alpha * self.T, absolute=alpha * self.absolute,
            scale=alpha * self.scale, moves=self.moves.in_units_of(beta, self.T.shape[1]),
        )  # fmt: skip

    def among(self, kept: np.ndarray) -> "NeighborProblem":
        """The problem with only the points ``kept``; coordinates and rounding are those of all points."""
        part = copy(self)
        for name in ("points", "labels", "slopes"):
            object.__setattr__(part, name, getattr(self, name)[kept])
        return part


def tallies(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes for each class in each row of class codes, of shape (n_rows, n_classes)."""
    cells = np.arange(len(codes))[:, None] * n_classes + codes
    return np.bincount(cells.ravel(), minlength=len(codes) * n_classes).reshape(-1, n_classes)


def winners(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """The class with most votes in each row of class codes, nearest first; of tied classes, that of the nearest."""
    votes = np.take_along_axis(tallies(codes, n_classes), codes, axis=1)  # for the class of each neighbour
    return codes[np.arange(len(codes)), votes.argmax(axis=1)]
