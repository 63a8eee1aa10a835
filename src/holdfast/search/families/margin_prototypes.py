"""Nearest prototypes that are trained to be certified at the radius."""

from typing import Any

from holdfast.learners import MarginLVQ
from holdfast.search.families.base import Facts, Family, Recipe


class MarginPrototypes(Family):
    """Margin LVQ trained for the radius; the number of prototypes and the temperature are searched."""

    name = "margin_lvq"
    label = "margin LVQ"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """The whole list; nothing is random."""
        recipes = []
        for n_proxies in (1, 2, 4, 8, 16):
            for temperature in (0.25, 0.5, 1.0):
                parameters: dict[str, Any] = {"n_proxies": n_proxies, "temperature": temperature}
                learner = MarginLVQ(
                    radius=facts.radius, norm=facts.norm, certified_weight=facts.weight, random_state=0, **parameters
                )
                recipes.append(Recipe(self.name, learner, parameters))
        return recipes
