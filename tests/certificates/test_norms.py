"""Contract of every norm: its dual, its steepest moves and its coordinates belong together."""

import numpy as np
import pytest

from tests.certificates.brute_force import NORMS

D = 4
every_norm = pytest.mark.parametrize("norm", [make(D) for make in NORMS.values()], ids=list(NORMS))


def draws(rows=200):
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, D)), rng.normal(size=(rows, D)), rng.normal(size=(3, D))


@every_norm
def test_the_dual_length_is_a_tight_bound(norm):
    """``a · δ ≤ ‖a‖* ‖δ‖``, with equality at the steepest move; ``a · |δ|`` is bounded by the absolute length."""
    A, delta, _ = draws()
    products = np.einsum("md,md->m", A, delta)
    assert (products <= norm.dual_lengths(A) * norm.lengths(delta) * (1 + 1e-12)).all()
    step = norm.steepest(A)
    np.testing.assert_allclose(norm.lengths(step), 1.0)
    np.testing.assert_allclose(np.einsum("md,md->m", A, step), norm.dual_lengths(A))
    assert not norm.steepest(np.zeros((1, D))).any()
    absolute = np.einsum("md,md->m", np.abs(A), np.abs(delta))
    assert (absolute <= norm.absolute_lengths(np.abs(A)) * norm.lengths(delta) * (1 + 1e-12)).all()


@every_norm
@pytest.mark.parametrize("reduce", [False, True])
def test_coordinates_carry_moves_and_their_lengths(norm, reduce):
    """``Tδ = G z`` for ``δ = to_input z``; ``lipschitz`` and ``growth`` bound what a move of length 1 does."""
    _, delta, T = draws()
    coordinates = norm.coordinates(T, np.abs(T), reduce)
    z = np.random.default_rng(1).normal(size=(50, coordinates.G.shape[1]))
    moves = z @ coordinates.to_input.T
    np.testing.assert_allclose(moves @ T.T, z @ coordinates.G.T, atol=1e-12)
    if norm.quadratic:
        np.testing.assert_allclose(norm.lengths(moves), np.linalg.norm(z, axis=1))
    size = norm.lengths(delta)
    assert (np.linalg.norm(delta @ T.T, axis=1) <= coordinates.lipschitz * size).all()
    assert (np.linalg.norm(np.abs(delta) @ np.abs(T).T, axis=1) <= coordinates.growth * size).all()


@every_norm
def test_a_restricted_norm_is_that_of_moves_which_are_zero_elsewhere(norm):
    _, delta, _ = draws()
    free = np.array([0, 2, 3])
    delta[:, 1] = 0.0
    np.testing.assert_allclose(norm.restricted(free).lengths(delta[:, free]), norm.lengths(delta))
