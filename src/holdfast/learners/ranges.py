"""Ranges of parameters, from which a search draws."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Uniform:
    """The uniform distribution on an interval.

    Attributes
    ----------
    low, high : float
    """

    low: float
    high: float

    def draw(self, rng: np.random.RandomState) -> float:
        """One number, above ``low``."""
        return float(self.high - (self.high - self.low) * rng.random_sample())


@dataclass(frozen=True)
class Known:
    """The facts that a range may depend on: the data, and the parameters drawn before.

    Attributes
    ----------
    n_features : int
    tau_max : float
        The 90th percentile of the Euclidean adversarial margins.
    drawn : mapping
        Parameters drawn so far, by name.
    """

    n_features: int
    tau_max: float
    drawn: Mapping[str, Any]


Range = Sequence | Uniform | Callable[[Known], Sequence | Uniform]
Ranges = Mapping[str, Range]  # by parameter; drawn in this order
Stages = Ranges | tuple[Ranges, ...]  # searched one after the other, each around the best of the one before


def powers_of_ten(first: int, last: int) -> list[float]:
    """``10^first, …, 10^last``."""
    return [10.0**k for k in range(first, last + 1)]


#: The paper's range of tau: up to the 90th percentile of the margins before learning.
TAU: Ranges = {"perturbation__tau": lambda known: Uniform(0.0, known.tau_max)}

#: The paper's ranges of the perturbation loss. The weight is drawn given tau: the loss is at most ``weight · tau²``.
PERTURBATION: Ranges = {
    **TAU,
    "perturbation__weight": lambda known: Uniform(0.0, 4.0 / known.drawn["perturbation__tau"] ** 2),
}
