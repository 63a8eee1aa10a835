"""Spaces: parameters stand for the metric they start from, and gradients are those of finite differences."""

import numpy as np
import pytest

from holdfast.learn import BasisWeights, Factors, PositiveDefinite, PSDMatrices
from holdfast.learn.spaces import components_of, components_of_factor, whitening

P = 4


def _metric(rng) -> np.ndarray:
    L = rng.normal(size=(P, P))
    return L.T @ L


# name -> a space, made with random numbers
SPACES = {
    "PSD matrices": lambda rng: PSDMatrices(),
    "positive definite": lambda rng: PositiveDefinite(1e-6),
    "factors": lambda rng: Factors(),
    "stretched factors": lambda rng: Factors(whitening(_metric(rng), shrinkage=0.01)),
    "basis weights": lambda rng: BasisWeights(rng.normal(size=(7, P))),
}


@pytest.mark.parametrize("make", SPACES.values(), ids=list(SPACES))
def test_gradients_go_through_the_space(make):
    rng = np.random.default_rng(0)
    space, C = make(rng), _metric(rng)
    x = space.start(_metric(rng)) + 0.1
    g = space.gradient(C, x)  # of tr(C M)
    step = 1e-6 * rng.normal(size=x.shape)
    slope = np.vdot(C, space.metric(x + step)) - np.vdot(C, space.metric(x - step))
    assert 2 * np.vdot(g, step) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("name", [name for name in SPACES if name != "basis weights"])
def test_a_start_stands_for_its_metric(name):
    rng = np.random.default_rng(1)
    space, M = SPACES[name](rng), _metric(rng) + np.eye(P)
    np.testing.assert_allclose(space.metric(space.start(M)), M, rtol=1e-9, atol=1e-9)


def test_a_singular_start_is_lifted():
    for space in (Factors(), Factors(whitening(np.diag([1.0, 2.0, 3.0, 4.0]), shrinkage=0.01))):
        M = space.metric(space.start(np.diag([1.0, 1.0, 0.0, 0.0])))
        np.testing.assert_allclose(np.linalg.eigvalsh(M), [5e-4, 5e-4, 1, 1], rtol=1e-6)


def test_whitening_makes_the_scatter_round():
    rng = np.random.default_rng(0)
    C = _metric(rng)
    W = whitening(C, shrinkage=1e-9)
    np.testing.assert_allclose(W @ C @ W, np.eye(P) * np.trace(C) / P, atol=1e-4)
    np.testing.assert_allclose(whitening(1e-30 * C, np.zeros((P, P)), shrinkage=1e-9), W, atol=1e-6 * np.abs(W).max())
    assert whitening(np.zeros((P, P)), shrinkage=0.1) is None


@pytest.mark.parametrize(("rows", "rank"), [(3, 3), (9, 5), (6, 2), (1, 1), (4, 0)])
def test_a_factor_gives_the_components_of_its_matrix(rows, rank):
    rng = np.random.default_rng(rows)
    L = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, 5))
    found = components_of_factor(L)
    assert found.shape == (max(rank, 1), 5)
    np.testing.assert_allclose(found.T @ found, L.T @ L, atol=1e-12)
    np.testing.assert_allclose(found, components_of(L.T @ L), atol=1e-7)
