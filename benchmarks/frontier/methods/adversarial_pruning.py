"""Adversarial pruning (Yang et al. 2020): one or three neighbours under the Euclidean distance, on pruned rows."""

from holdfast import Euclidean, RobustClassifierCV
from holdfast.selection.families import Facts, Family, Recipe, neighbor_heads


class Pruned(Family):
    """k = 1 or 3, and the margin kept between classes."""

    name = "adversarial pruning"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """One recipe: there is nothing to fit."""
        heads = neighbor_heads(facts, (1, 3), (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0))
        return [Recipe(self.name, Euclidean(), {}, heads)]


def make(radius: float, seed: int) -> RobustClassifierCV:
    """The margin is chosen by certified accuracy."""
    return RobustClassifierCV(radius, candidates=[Pruned()], random_state=seed)
