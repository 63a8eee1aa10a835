"""Bases and proxies: what they are, seeded, on odd data."""

import numpy as np
import pytest

from holdfast.learn import knn_triplets
from holdfast.learn.scml import check_bases, local_bases, triplet_bases
from holdfast.learn.supervision import class_proxies
from tests.single_precision import single_precision_first  # noqa: F401


def stripes(n=120, p=6, seed=0):
    """Two classes told apart by the first feature alone; the second varies most."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p)) * [0.1, 5, *[1] * (p - 2)]
    X[:, 0] += y
    return X, y


@pytest.mark.parametrize("make", [local_bases, triplet_bases])
def test_bases_point_where_the_classes_differ(make):
    X, y = stripes()
    given = y if make is local_bases else knn_triplets(X, y)
    basis = make(X, given, 40, random_state=0)
    assert basis.shape == (40, 6)
    np.testing.assert_allclose(np.linalg.norm(basis, axis=1), 1)
    strength = np.abs(basis).mean(axis=0)
    assert strength[0] > 1.5 * strength[1:].max()
    np.testing.assert_array_equal(make(X, given, 40, random_state=0), basis)
    assert not np.array_equal(make(X, given, 40, random_state=1), basis)


@pytest.mark.parametrize("p", [3, 200])
def test_the_direction_is_fisher_s(p):
    """One region, by hand: (S_w + ridge)⁻¹ (m_same − m_other), in fewer and in more dimensions than points."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, p)), np.repeat([0, 1], 10)
    basis = local_bases(X, y, 4, random_state=0)  # one centre per class, two scales, all points near
    same, other = X[y == 0], X[y == 1]
    Z = np.vstack([same - same.mean(axis=0), other - other.mean(axis=0)])
    S = Z.T @ Z / 20
    b = np.linalg.solve(S + 1e-2 * np.trace(S) / p * np.eye(p), same.mean(axis=0) - other.mean(axis=0))
    np.testing.assert_allclose(np.abs(basis @ b), np.linalg.norm(b), rtol=1e-8)


def test_few_or_equal_points():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    basis = local_bases(X, np.repeat([0, 1], 5), 200, random_state=0)
    assert len(basis) == 4  # a centre per class, on two scales
    np.testing.assert_allclose(np.abs(basis), np.sqrt(0.5))
    assert local_bases(np.zeros((6, 2)), np.arange(6) % 2, 10).tolist() == [[1.0, 0.0]]
    proxies, labels = class_proxies(X, np.repeat([0, 1], 5), n_proxies=3)
    assert (proxies.tolist(), labels.tolist()) == ([[0.0, 0.0], [1.0, 1.0]], [0, 1])


@pytest.mark.parametrize("bad", [np.ones((2, 3)), np.ones(4), np.zeros((2, 4)), np.full((2, 4), np.nan)])
def test_bad_bases_are_refused(bad):
    with pytest.raises(ValueError, match="basis must"):
        check_bases(bad, 4)
