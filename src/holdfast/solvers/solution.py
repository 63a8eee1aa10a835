"""The result of a run."""

from dataclasses import dataclass, field

import numpy as np

from holdfast.solvers.stop_reason import StopReason


@dataclass
class Solution:
    """The point a solver found, and how it got there.

    Attributes
    ----------
    x : ndarray
        The parameters found.
    value : float
        The objective there.
    trace : list of float
        The objective at the start and after every iteration.
    n_evaluations : int
        How often value and gradient were computed.
    reason : StopReason
        Why the run ended.
    message : str
        The same as a sentence.
    lower_bound : float or None
        Not above the minimum, but for rounding, by duality; from solvers that find one.
    """

    x: np.ndarray
    value: float
    trace: list[float] = field(repr=False)
    n_evaluations: int
    reason: StopReason
    message: str
    lower_bound: float | None = None

    @property
    def converged(self) -> bool:
        """True if the solver's own test ended the run, or the callback."""
        return self.reason.converged

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.trace) - 1
