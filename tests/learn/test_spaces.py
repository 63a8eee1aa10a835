"""Spaces: parameters stand for the metric they start from, and gradients are those of finite differences."""

import numpy as np
import pytest

from holdfast.learn import BasisWeights, Factors, PositiveDefinite, PSDMatrices
from holdfast.learn.spaces import whitening

P = 4


def _metric(rng) -> np.ndarray:
    L = rng.normal(size=(P, P))
    return L.T @ L


def _spaces(rng) -> list:
    stretched = Factors(whitening(_metric(rng), shrinkage=0.01))
    return [PSDMatrices(), PositiveDefinite(1e-6), Factors(), stretched, BasisWeights(rng.normal(size=(7, P)))]


@pytest.mark.parametrize("which", range(5))
def test_gradients_go_through_the_space(which):
    rng = np.random.default_rng(which)
    space, C = _spaces(rng)[which], _metric(rng)
    x = space.start(_metric(rng)) + 0.1
    g = space.gradient(C, x)  # of tr(C M)
    step = 1e-6 * rng.normal(size=x.shape)
    slope = np.vdot(C, space.metric(x + step)) - np.vdot(C, space.metric(x - step))
    assert 2 * np.vdot(g, step) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("which", range(4))
def test_a_start_stands_for_its_metric(which):
    rng = np.random.default_rng(which)
    space, M = _spaces(rng)[which], _metric(rng) + np.eye(P)
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
