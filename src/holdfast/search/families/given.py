"""Classifiers of the user's own."""

from typing import Any

from holdfast.search.families.base import Facts, Family, Recipe


class Given(Family):
    """One classifier as it is; :func:`holdfast.certify` must take it without a ``reference``."""

    def __init__(self, estimator: Any):
        self.name = self.label = type(estimator).__name__
        self.estimator = estimator

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """The one recipe."""
        return [Recipe(self.name, self.estimator)]
