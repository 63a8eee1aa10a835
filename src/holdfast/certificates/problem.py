"""What a certificate is about: reference points, how an input moves a query, and how moves are measured."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from holdfast.certificates.chart import Chart
from holdfast.certificates.norms import L2, Ellipsoid, Norm


class Bounds(NamedTuple):
    """Certified below, reached above: ``lower ≤ smallest ‖δ‖ that changes the prediction ≤ upper``.

    Attributes
    ----------
    lower : ndarray of shape (m,)
        No move shorter than this changes the prediction, however the distances are rounded; infinite if
        none at all can.
    upper : ndarray of shape (m,)
        Length of ``delta``; infinite where no witness was found.
    delta : ndarray of shape (m, d)
        A move that changes the vote; NaN rows where none was found.
    """

    lower: np.ndarray
    upper: np.ndarray
    delta: np.ndarray


@dataclass(frozen=True)
class Budget:
    """How long an anytime engine may work on one query; the sandwich it returns is sound whenever it stops.

    Attributes
    ----------
    nodes : int
        Nodes of the search tree that are solved.
    seconds : float or None
        Time, looked at every few nodes.
    """

    nodes: int = 20_000
    seconds: float | None = None


@dataclass(frozen=True, eq=False)
class NeighborProblem:
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
    norm : L2, LInf, L1 or Ellipsoid
        How δ is measured.
    n_classes : int or None
        By default one more than the largest label.
    lower, upper : ndarrays of shape (d,) or None
        Where a moved input ``x + δ`` must stay; engines then need ``inputs``. An x outside may stay there.
    frozen : bool ndarray of shape (d,) or None
        Inputs that cannot be moved: their columns of T are left out.
    ties : {"nearest", "lowest"}
        Who wins equal votes: the tied class with the nearest neighbour (of equally near points the one
        that comes first), or the lowest code (scikit-learn). ``knn_lower`` holds for both.
    scale : float
        Magnitude of whatever else cancels on the way from an input to its u (means of scalers, say), for
        the rounding bound.
    """

    points: np.ndarray
    labels: np.ndarray
    T: np.ndarray
    n_neighbors: int = 1
    norm: Norm = field(default_factory=L2)
    n_classes: int | None = None
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    frozen: np.ndarray | None = None
    ties: str = "nearest"
    scale: float = 0.0

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
        if self.labels.min() < 0:
            raise ValueError("labels must be class codes 0, 1, …")
        if self.n_classes is None:
            put("n_classes", int(self.labels.max()) + 1)
        for name in ("lower", "upper", "frozen"):
            value = getattr(self, name)
            if value is not None:
                kind = bool if name == "frozen" else np.float64
                put(name, np.ascontiguousarray(np.broadcast_to(np.asarray(value, dtype=kind), self.T.shape[1])))

    @property
    def boxed(self) -> bool:
        """Whether the moved input is confined."""
        return self.lower is not None or self.upper is not None

    @cached_property
    def free(self) -> np.ndarray:
        """Indices of the inputs that can move."""
        d = self.T.shape[1]
        return np.arange(d) if self.frozen is None else np.flatnonzero(~self.frozen)

    @cached_property
    def free_norm(self) -> Norm:
        """The norm of a move of the free inputs."""
        return self.norm.restricted(self.free) if isinstance(self.norm, Ellipsoid) else self.norm

    @cached_property
    def chart(self) -> Chart:
        """Coordinates of the moves; of all free inputs if there is a box, else of rank(T)."""
        return self.free_norm.chart(np.ascontiguousarray(self.T[:, self.free]), reduce=not self.boxed)

    @cached_property
    def slopes(self) -> np.ndarray:
        """``V = U G``, of shape (n, s): ``a_lj`` is ``v_l − v_j``."""
        return np.ascontiguousarray(self.points @ self.chart.G)

    @cached_property
    def largest(self) -> float:
        """``max ‖u_j‖``."""
        return float(np.sqrt(np.einsum("nr,nr->n", self.points, self.points).max()))

    def room(self, inputs: np.ndarray | None, m: int) -> tuple[np.ndarray, np.ndarray]:
        """How far each free input may go down and up: two arrays (m, n_free), or (m, 0) without a box."""
        if not self.boxed:
            return np.empty((m, 0)), np.empty((m, 0))
        if inputs is None:
            raise ValueError("A box is on the moved inputs: the engine needs inputs as well as queries.")
        x = np.ascontiguousarray(np.asarray(inputs, dtype=np.float64)[:, self.free])
        none = np.full(self.T.shape[1], np.inf)
        low = (-none if self.lower is None else self.lower)[self.free]
        high = (none if self.upper is None else self.upper)[self.free]
        return np.maximum(x - low, 0.0), np.maximum(high - x, 0.0)

    def spread(self, move: np.ndarray) -> np.ndarray:
        """Moves of the free inputs (m, n_free) as moves of all (m, d)."""
        out = np.zeros((move.shape[0], self.T.shape[1]))
        out[:, self.free] = move
        return out
