"""The vote of a linear classifier: the class of the largest score."""

from dataclasses import dataclass, field, replace

import numpy as np

from holdfast.certificates.moves import Moves
from holdfast.certificates.problems.base import Problem


@dataclass(frozen=True, eq=False)
class LinearProblem(Problem):
    """``argmax_c u_c`` over scores u, which an input move δ takes to ``u + Tδ``; equal scores go to the lowest code.

    Class c can overtake y only where ``(T_c − T_y) · δ ≥ u_y − u_c``: one row per class.

    Parameters
    ----------
    T : ndarray of shape (n_classes, d)
        Scores ``u = T x + const``.
    moves : Moves
    absolute : ndarray of shape (n_classes, d)
        Magnitudes behind T; by default ``|T|``.
    cancellation : ndarray of shape (n_classes,)
        Magnitudes of constants behind each score, for the rounding bound.
    n_steps, n_terms : int
        Affine steps behind the scores, and terms of the longest sum in them.
    """

    T: np.ndarray
    moves: Moves = field(default_factory=Moves)
    absolute: np.ndarray = field(default_factory=lambda: np.empty(0))
    cancellation: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_steps: int = 1
    n_terms: int = 0

    def __post_init__(self):
        if not self.absolute.size:
            object.__setattr__(self, "absolute", np.abs(self.T))
        if not self.cancellation.size:
            object.__setattr__(self, "cancellation", np.zeros(len(self.T)))

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """Number of scores."""
        return len(self.T)

    def magnitude(self) -> float:
        """The largest weight; scores have no squares, but the lengths of weights have."""
        return float(np.abs(self.T).max(initial=0.0))

    def scaled(self, alpha: float, beta: float) -> "LinearProblem":
        """The problem with scores ``alpha u`` and moves measured in units of ``beta``."""
        return replace(
            self, T=alpha * self.T, absolute=alpha * self.absolute, cancellation=alpha * self.cancellation,
            moves=self.moves.in_units_of(beta, self.T.shape[1]),
        )  # fmt: skip

    def vote(self, queries: np.ndarray) -> np.ndarray:
        """The class of the largest score; the lowest code of equal ones."""
        return np.argmax(queries, axis=1)
