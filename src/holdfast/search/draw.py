"""Candidates for the parameters of a learner, drawn from ranges."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from holdfast.learners.ranges import Known, Range, Ranges, Uniform


def draw_candidates(
    ranges: Ranges, n_draws: int, n_features: int, tau_max: float, rng: np.random.RandomState
) -> list[dict[str, Any]]:
    """All combinations, if every range is a list; at most ``n_draws`` of them. Else random draws.

    Parameters
    ----------
    ranges : mapping
        Parameter names, each with a list, a :class:`Uniform` or a function of :class:`Known` that returns one.
    n_draws : int
    n_features : int
    tau_max : float
    rng : RandomState
    """

    def resolve(range_: Range, drawn: Mapping[str, Any]):
        """The list or distribution of a parameter, given those drawn before it."""
        return range_(Known(n_features, tau_max, drawn)) if callable(range_) else range_

    def combinations(names: list[str], drawn: dict[str, Any]) -> Iterator[dict[str, Any] | None]:
        """Depth first through the lists; None where a range is no list."""
        if not names:
            yield drawn
            return
        values = resolve(ranges[names[0]], drawn)
        if isinstance(values, Uniform):
            yield None
            return
        for value in values:
            yield from combinations(names[1:], {**drawn, names[0]: value})

    def draw() -> dict[str, Any]:
        drawn: dict[str, Any] = {}
        for name, range_ in ranges.items():
            values = resolve(range_, drawn)
            drawn[name] = values.draw(rng) if isinstance(values, Uniform) else values[rng.randint(len(values))]
        return drawn

    found = []
    for combination in combinations(list(ranges), {}):
        if combination is None:
            return [draw() for _ in range(n_draws)]
        found.append(combination)
    if len(found) <= n_draws:
        return found
    return [found[k] for k in np.sort(rng.choice(len(found), n_draws, replace=False))]
