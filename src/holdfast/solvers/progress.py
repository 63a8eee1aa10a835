"""The state of a run after an iteration."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Progress:
    """One iteration, as a callback receives it; a callback that returns True ends the run.

    Attributes
    ----------
    iteration : int
        From 0, the start.
    value : float
        The objective.
    step : float
        Length of the step, in the solver's own units.
    x : ndarray
        The parameters.
    n_evaluations : int
    seconds : float
        Since the run began.
    share : float
        Of the data behind ``value``: below 1 for a solver that works on samples.
    """

    iteration: int
    value: float
    step: float
    x: np.ndarray
    n_evaluations: int
    seconds: float
    share: float = 1.0


Callback = Callable[[Progress], object]
