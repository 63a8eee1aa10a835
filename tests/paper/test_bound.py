"""Theorem 1: its parts against a direct count, and the message where the bound is vacuous."""

import math

import numpy as np
import pytest

from holdfast import Euclidean, FixedMetric
from holdfast.learn import adversarial_margin
from holdfast.paper import generalization_bound


def unit_rows(n=18, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X / np.linalg.norm(X, axis=1, keepdims=True), np.arange(n) % 3


def test_parts_against_the_formula():
    X, y = unit_rows()
    tau, delta = 0.1, 0.1
    learner = FixedMetric(np.diag([3.0, 1.0, 0.5])).fit(X)
    M = learner.get_mahalanobis_matrix()
    n, n_hat, admissible = len(X), 0, 0
    for i in range(n):
        for j in range(n):
            for l in range(n):
                if i != j and y[i] == y[j] != y[l]:
                    admissible += 1
                    n_hat += adversarial_margin(M, X[i], X[j], X[l])[0] > tau
    found = generalization_bound(learner, X, y, tau, delta)
    assert (found.n_hat, found.n_admissible) == (n_hat, admissible)
    assert 0 < n_hat < admissible
    K = 3 * (1 + 2 / tau) ** 3
    B = 1 + 4 * np.linalg.eigvalsh(M)[-1]
    deviation = 3 * math.sqrt((2 * K * math.log(2) + 2 * math.log(1 / delta)) / n)
    assert found.log_K == pytest.approx(math.log(K))
    assert np.isclose(found.B, B)
    assert math.exp(found.log_deviation) == pytest.approx(deviation)
    assert found.bound == pytest.approx(n_hat / n**3 + B * ((n**3 - n_hat) / n**3 + deviation))


def test_a_bound_too_large_for_a_float_is_kept_as_a_log():
    X, y = unit_rows(n=30, p=400)
    found = generalization_bound(Euclidean().fit(X), X, y, tau=1e-3)
    assert found.log_K > 3000
    assert np.isfinite(found.log_bound)
    assert found.bound == np.inf
    assert found.vacuous
    assert "VACUOUS" in str(found)


def test_a_larger_margin_shrinks_the_cells_and_the_robust_triplets():
    X, y = unit_rows(n=40)
    learner = Euclidean().fit(X)
    small, large = (generalization_bound(learner, X, y, tau) for tau in (0.05, 0.5))
    assert large.log_K < small.log_K
    assert large.n_hat < small.n_hat


def test_bad_input_is_refused():
    X, y = unit_rows()
    with pytest.raises(ValueError, match="tau must be"):
        generalization_bound(Euclidean().fit(X), X, y, tau=0)
    with pytest.raises(ValueError, match="delta must be"):
        generalization_bound(Euclidean().fit(X), X, y, tau=0.1, delta=1)
