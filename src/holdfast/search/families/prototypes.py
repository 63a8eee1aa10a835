"""Nearest prototypes, learned together with a metric."""

from typing import Any

from holdfast.learn import Perturbation, ProxyNCA
from holdfast.learn.solvers import LBFGS
from holdfast.search.families.base import Facts, Family, Recipe, draw_loss


class Prototypes(Family):
    """PNCA-PL: number of prototypes, temperature, tau and weight are drawn; certificates are exact."""

    name = "prototypes"
    label = "PNCA-PL"

    def draws(self, rng, facts: Facts, n_draws: int) -> list[Recipe]:
        """Random draws, half of ``n_draws``: its fits take longest."""
        recipes = []
        for _ in range(-(-n_draws // 2)):
            parameters: dict[str, Any] = {
                "n_proxies": int((1, 2, 3, 5)[rng.randint(4)]),
                "temperature": float(10.0 ** rng.uniform(-1.5, 0.5)),
            }
            tau = draw_loss(rng, facts)["tau"]
            loss = {"tau": tau, "weight": float(10.0 ** rng.uniform(-1, 1.5))}
            learner = ProxyNCA(
                perturbation=Perturbation(**loss),
                normalize=True,
                n_proxy_steps=100,
                solver=LBFGS(max_iter=50),
                random_state=0,
                n_jobs=1,
                **parameters,
            )
            shown = {**parameters, "perturbation__tau": tau, "perturbation__weight": loss["weight"]}
            recipes.append(Recipe(self.name, learner, shown))
        return recipes
