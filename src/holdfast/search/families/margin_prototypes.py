"""The nearest prototype, prototypes trained for what they certify."""

from typing import Any

from holdfast.learners import MarginLVQ
from holdfast.search.families.base import Facts, Family, Recipe


class MarginPrototypes(Family):
    """Margin LVQ at the radius: number of prototypes and temperature chosen; certified exactly."""

    name = "margin_lvq"
    label = "margin LVQ"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """The whole list; nothing is random."""
        found = []
        for n_proxies in (1, 2, 4, 8, 16):
            for temperature in (0.25, 0.5, 1.0):
                own: dict[str, Any] = {"n_proxies": n_proxies, "temperature": temperature}
                learner = MarginLVQ(
                    radius=facts.radius, norm=facts.norm, certified_weight=facts.weight, random_state=0, **own
                )
                found.append(Recipe(self.name, learner, own))
        return found
