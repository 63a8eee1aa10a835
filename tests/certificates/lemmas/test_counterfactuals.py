"""Lemmas K1 and K3: certified balls of different answers do not meet; rows that hold within a slack are shifted."""

import numpy as np
import pytest

from holdfast import Threat, certify, counterfactuals
from holdfast.certificates.norms import L1, L2, LInf
from tests.certificates.questions import models

CHAINS = [
    "standard, pca",
    "standard, normalizer, metric",
    "power",
    "quantile",
    "bins",
    "clipped min-max",
    "log1p, sqrt",
]


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize(("group", "rule"), [("neighbours", "holdfast 3"), ("scores of three", "logistic")])
def test_k1_two_answers_are_farther_apart_than_their_radii(chain, group, rule):
    """With p for x and its radius for r, that is the lemma, behind every kind of step."""
    kind = next(kind for kind, chains in models.CHAINS.items() if chain in chains)
    model = models.model_of(kind, chain, group, rule)
    X = models.training(kind, 3)[0][:12]
    for norm in (2, 1, np.inf):
        found = certify(model, X, threat=Threat(norm, unit=[1.0, 2.0]), method="lower", witness=False, n_jobs=1)
        apart = np.linalg.norm((X[:, None] - X) / [1.0, 2.0], ord=norm, axis=2)
        other = found.prediction[:, None] != found.prediction
        assert other.any()
        assert (found.radius[:, None] + found.radius <= apart * (1 + 1e-12))[other].all()


@pytest.mark.parametrize(("norm", "order"), [(L2(), 2), (L1(), 1), (LInf(), np.inf)])
def test_k3_a_row_that_holds_within_a_slack_is_shifted_by_its_dual_length(norm, order):
    """All noise of the size keeps a row with that much to spare, and the worst noise takes all of it."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, r = rng.normal(size=4), rng.random()
        spare = r * norm.dual_lengths(a[None])[0]
        noise = rng.normal(size=(200, 4))
        noise *= r / np.linalg.norm(noise, ord=order, axis=1, keepdims=True)
        assert (noise @ a >= -spare * (1 + 1e-12)).all()
        worst = -r * norm.steepest(a[None])[0]
        assert worst @ a == pytest.approx(-spare)
        assert np.linalg.norm(worst, ord=order) == pytest.approx(r)


@pytest.mark.parametrize("chain", ["power", "quantile", "bins", "clipped min-max", "log1p, sqrt"])
def test_k3_behind_a_monotone_step_nothing_is_called_impossible(chain):
    """Every class is reached somewhere among the rows of training: no bound is above the way to one."""
    model = models.model_of("monotone", chain, "scores of three", "logistic")
    X, _ = models.training("monotone", 3)
    answers, rows = model.predict(X), X[:3]
    for target in model.classes_:
        for slack in (0.0, 0.1):
            found = counterfactuals(model, rows, target, slack=slack, near_data=False, n_jobs=1)
            there = X[answers == target]
            if slack:
                there = there[certify(model, there, method="lower", witness=False).radius >= slack]
            ways = np.linalg.norm(rows[:, None] - there, axis=2).min(axis=1, initial=np.inf)
            assert (found.lower_bound <= ways).all()
