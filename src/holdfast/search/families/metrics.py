"""Neighbours under a metric learned with the perturbation loss."""

from typing import Any

import numpy as np

from holdfast.learners import LMNN, SCML, CappedTraceLMNN
from holdfast.search.families.base import Facts, Family, Recipe, draw_loss, neighbor_heads
from holdfast.terms import Perturbation

_TARGETS = (3, 5, 10)  # per point: more of them fit the vote of more neighbours


class LMNNFamily(Family):
    """LMNN-PL: targets, mu, tau and weight drawn; k and the margin to prune chosen."""

    name = "lmnn"
    label = "LMNN-PL"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """Random draws."""
        found = []
        for _ in range(n_draws):
            own: dict[str, Any] = {
                "n_neighbors": int(_TARGETS[rng.randint(len(_TARGETS))]),
                "mu": float(rng.uniform(0.1, 0.9)),
            }
            loss = draw_loss(rng, facts)
            learner = LMNN(perturbation=Perturbation(**loss), n_jobs=1, **own)
            found.append(Recipe(self.name, learner, _shown(own, loss), neighbor_heads(facts)))
        return found


class SCMLFamily(Family):
    """SCML-PL: targets, eta, tau and weight drawn; k and the margin to prune chosen."""

    name = "scml"
    label = "SCML-PL"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """Random draws, half as many as asked for: its fits take longer."""
        found = []
        for _ in range(-(-n_draws // 2)):
            own: dict[str, Any] = {
                "n_neighbors": int(_TARGETS[rng.randint(len(_TARGETS))]),
                "eta": float(10.0 ** rng.uniform(-5, 0)),
            }
            loss = draw_loss(rng, facts)
            learner = SCML(perturbation=Perturbation(**loss), random_state=0, n_basis=200, n_jobs=1, **own)
            found.append(Recipe(self.name, learner, _shown(own, loss), neighbor_heads(facts)))
        return found


class CappedTraceFamily(Family):
    """CAP-PL: targets, rank, weight of the capped trace, tau and weight drawn; k and the margin to prune chosen."""

    name = "capped_trace"
    label = "CAP-PL"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """Random draws, half as many as asked for."""
        found = []
        for _ in range(-(-n_draws // 2)):
            own: dict[str, Any] = {
                "n_neighbors": int(_TARGETS[rng.randint(len(_TARGETS))]),
                "weight": float(10.0 ** rng.uniform(-3, 1)),
                "rank": int(np.ceil(facts.n_features * rng.uniform(0.1, 1.0))),
            }
            loss = draw_loss(rng, facts)
            learner = CappedTraceLMNN(perturbation=Perturbation(**loss), n_jobs=1, **own)
            found.append(Recipe(self.name, learner, _shown(own, loss), neighbor_heads(facts)))
        return found


def _shown(own: dict, loss: dict) -> dict:
    """Parameters under the names that ``set_params`` of the learner knows."""
    return {**own, **{f"perturbation__{name}": value for name, value in loss.items()}}
