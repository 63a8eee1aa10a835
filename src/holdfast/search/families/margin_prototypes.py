"""Nearest prototypes that are trained to be certified at the radius."""

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from holdfast.learn import MarginLVQ
from holdfast.search.families.base import Facts, Family, Recipe

_GRID = ParameterGrid({"n_proxies": [1, 2, 4, 8, 16], "temperature": [0.25, 0.5, 1.0]})  # did well on the paper's sets


class MarginPrototypes(Family):
    """Margin LVQ trained for the radius; the number of prototypes and the temperature are searched."""

    name = "margin_lvq"
    label = "margin LVQ"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """All of a grid; nothing is random."""
        learner = MarginLVQ(radius=facts.radius, norm=facts.norm, certified_weight=facts.weight, random_state=0)
        return [Recipe(self.name, clone(learner).set_params(**parameters), parameters) for parameters in _GRID]
