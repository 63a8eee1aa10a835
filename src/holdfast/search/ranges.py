"""What is searched: one entry per method, with ranges that depend on the data and on each other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
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
    """What a range may depend on: the data, and what has been drawn before.

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
Space = Mapping[str, Range]


def _powers(first: int, last: int) -> list[float]:
    return [10.0**k for k in range(first, last + 1)]


def _ranks(known: Known) -> list[int]:
    return np.unique(np.round(np.linspace(1, known.n_features, 10)).astype(int)).tolist()


_TAU: Space = {"perturbation__tau": lambda known: Uniform(0.0, known.tau_max)}
_MARGIN: Space = {
    **_TAU,
    "perturbation__weight": lambda known: Uniform(0.0, 4.0 / known.drawn["perturbation__tau"] ** 2),
}
_CAP: Space = {"weight": _powers(-3, 1), "rank": _ranks}
_WEIGHT: Space = {"weight": _powers(-6, 2)}
_PNCA: Space = {"temperature": _powers(-2, 2), "n_proxies": [1, 2, 3, 5, 10]}

#: Ranges of every method: class of the learner, and "-PL" if it has a perturbation loss. Lists are tried
#: in full if there are no more combinations than draws; a tuple is searched stage by stage, the first
#: without perturbation loss, the next around its best.
SPACES: dict[str, Space | tuple[Space, ...]] = {
    "LMNN": {"mu": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]},
    "LMNN-PL": {"mu": Uniform(0.1, 0.9), **_MARGIN},
    "SCML": {"eta": _powers(-5, 3)},
    "SCML-PL": {"eta": _powers(-5, 3), **_MARGIN},
    "ProxyNCA": _PNCA,
    "ProxyNCA-PL": {**_PNCA, **_TAU, "perturbation__weight": _powers(-2, 2)},
    "LogDetLMNN": _WEIGHT,
    "LogDetLMNN-PL": (_WEIGHT, _MARGIN),
    "CappedTraceLMNN": _CAP,
    "CappedTraceLMNN-PL": (_CAP, _MARGIN),
    "SpectralNormLMNN": _WEIGHT,
    "SpectralNormLMNN-PL": (_WEIGHT, _MARGIN),
    "DRIFT": {"mu": [0.1, 0.3, 0.5, 0.7, 0.9], "disturbance": [0.03, 0.1, 0.3], "eta": [1e-3, 1e-1]},
    "AML": {"alpha": [0.1, 1.0, 10.0], "beta": [10.0, 30.0, 100.0]},
    "Euclidean": {},
    "FixedMetric": {},
}


def candidates(space: Space, n_draws: int, n_features: int, tau_max: float, rng) -> list[dict[str, Any]]:
    """All combinations, if every range is a list and they are few enough; else random draws."""
    known = Known(n_features, tau_max, {})
    resolved = {
        name: entry(known) if callable(entry) and not _is_conditional(entry, known) else entry
        for name, entry in space.items()
    }
    lists = {name: entry for name, entry in resolved.items() if isinstance(entry, Sequence)}
    if len(lists) == len(resolved):
        combinations = list(product(*lists.values()))
        if len(combinations) > n_draws:
            chosen = np.sort(rng.choice(len(combinations), n_draws, replace=False))
            combinations = [combinations[k] for k in chosen]
        return [dict(zip(lists, combination, strict=True)) for combination in combinations]
    found = []
    for _ in range(n_draws):
        drawn: dict[str, Any] = {}
        for name, entry in space.items():
            values = entry(Known(n_features, tau_max, drawn)) if callable(entry) else entry
            drawn[name] = values.draw(rng) if isinstance(values, Uniform) else values[rng.randint(len(values))]
        found.append(drawn)
    return found


def _is_conditional(entry: Callable[[Known], Any], known: Known) -> bool:
    """Whether a range asks for what has been drawn before it."""
    try:
        entry(known)
    except KeyError:
        return True
    return False
