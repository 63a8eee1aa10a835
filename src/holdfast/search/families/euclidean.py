"""Neighbours under the Euclidean distance, with adversarial pruning of the training rows."""

from holdfast.learn import Euclidean
from holdfast.search.families.base import Facts, Family, Recipe, neighbor_heads


class EuclideanNeighbors(Family):
    """k nearest neighbours under the Euclidean distance; k and the margin to prune are searched."""

    name = "euclidean"
    label = "k-NN"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """One recipe: there is nothing to fit."""
        heads = neighbor_heads(facts, (1, 3, 5, 9, 15, 31, 45), (0.0, 0.5, 1.0, 2.0))
        return [Recipe(self.name, Euclidean(), {}, heads)]
