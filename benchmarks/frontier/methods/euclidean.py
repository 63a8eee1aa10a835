"""Neighbours under the Euclidean distance, k chosen by certified accuracy."""

from holdfast import Euclidean, RobustClassifierCV
from holdfast.selection.families import Facts, Family, Recipe, neighbor_heads


class KNeighbors(Family):
    """k alone is chosen."""

    name = "Euclidean k-NN"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """One recipe: there is nothing to fit."""
        return [Recipe(self.name, Euclidean(), {}, neighbor_heads(facts, range(1, 46, 2), (0.0,)))]


def make(radius: float, seed: int) -> RobustClassifierCV:
    """Odd k up to 45."""
    return RobustClassifierCV(radius, candidates=[KNeighbors()], random_state=seed)
