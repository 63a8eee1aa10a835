"""Neighbours under a metric learned with the perturbation loss."""

from typing import Any

import numpy as np

from holdfast.learn import LMNN, SCML, CappedTraceLMNN, Perturbation
from holdfast.search.families.base import Facts, Family, Recipe, draw_loss, neighbor_heads

_TARGETS = (3, 5, 10)  # target neighbours per point: more of them suit votes of more neighbours


class LMNNFamily(Family):
    """LMNN-PL: targets, mu, tau and weight are drawn; k and the margin to prune are searched."""

    name = "lmnn"
    label = "LMNN-PL"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """Random draws."""
        recipes = []
        for _ in range(n_draws):
            parameters: dict[str, Any] = {
                "n_neighbors": int(_TARGETS[rng.randint(len(_TARGETS))]),
                "mu": float(rng.uniform(0.1, 0.9)),
            }
            loss = draw_loss(rng, facts)
            learner = LMNN(perturbation=Perturbation(**loss), n_jobs=1, **parameters)
            recipes.append(Recipe(self.name, learner, _all_parameters(parameters, loss), neighbor_heads(facts)))
        return recipes


class SCMLFamily(Family):
    """SCML-PL: targets, eta, tau and weight are drawn; k and the margin to prune are searched."""

    name = "scml"
    label = "SCML-PL"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """Random draws, half of ``n_draws``: its fits take longer."""
        recipes = []
        for _ in range(-(-n_draws // 2)):
            parameters: dict[str, Any] = {
                "n_neighbors": int(_TARGETS[rng.randint(len(_TARGETS))]),
                "eta": float(10.0 ** rng.uniform(-5, 0)),
            }
            loss = draw_loss(rng, facts)
            learner = SCML(perturbation=Perturbation(**loss), random_state=0, n_basis=200, n_jobs=1, **parameters)
            recipes.append(Recipe(self.name, learner, _all_parameters(parameters, loss), neighbor_heads(facts)))
        return recipes


class CappedTraceFamily(Family):
    """CAP-PL: targets, rank, both weights and tau are drawn; k and the margin to prune are searched."""

    name = "capped_trace"
    label = "CAP-PL"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """Random draws, half of ``n_draws``."""
        recipes = []
        for _ in range(-(-n_draws // 2)):
            parameters: dict[str, Any] = {
                "n_neighbors": int(_TARGETS[rng.randint(len(_TARGETS))]),
                "weight": float(10.0 ** rng.uniform(-3, 1)),
                "rank": int(np.ceil(facts.n_features * rng.uniform(0.1, 1.0))),
            }
            loss = draw_loss(rng, facts)
            learner = CappedTraceLMNN(perturbation=Perturbation(**loss), n_jobs=1, **parameters)
            recipes.append(Recipe(self.name, learner, _all_parameters(parameters, loss), neighbor_heads(facts)))
        return recipes


def _all_parameters(parameters: dict, loss: dict) -> dict:
    """The parameters of the learner and of its perturbation loss, under the names that ``set_params`` takes."""
    return {**parameters, **{f"perturbation__{name}": value for name, value in loss.items()}}
