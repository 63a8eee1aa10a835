"""Components of a metric, from its matrix and from a factor of it."""

import numpy as np
import pytest

from holdfast.learn.spaces import components_of, components_of_factor


@pytest.mark.parametrize(("rows", "rank"), [(3, 3), (9, 5), (6, 2), (1, 1), (4, 0)])
def test_a_factor_gives_the_components_of_its_matrix(rows, rank):
    rng = np.random.default_rng(rows)
    L = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, 5))
    found = components_of_factor(L)
    assert found.shape == (max(rank, 1), 5)
    np.testing.assert_allclose(found.T @ found, L.T @ L, atol=1e-12)
    np.testing.assert_allclose(found, components_of(L.T @ L), atol=1e-7)
