"""The three numbers against their definitions, and the gradients against finite differences."""

import numpy as np
import pytest

from holdfast.learn import Triplets
from holdfast.learn.geometry import TripletGeometry
from holdfast.learn.margins import slope_matrix
from tests.naive import collect_all, three_numbers

P = 5
SHAPES = {
    "isotropic": None,
    "ellipsoid": slope_matrix(P, shape=np.diag([1.0, 2.0, 3.0, 4.0, 5.0]) + 0.3),
    "reduced": slope_matrix(P, reduction=np.random.default_rng(3).normal(size=(P, 8))),
    "reduced ellipsoid": slope_matrix(
        P, shape=np.arange(1.0, 9.0), reduction=np.random.default_rng(4).normal(size=(P, 8))
    ),
}
every_shape = pytest.mark.parametrize("B", SHAPES.values(), ids=SHAPES)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, P))
    rows = np.array([rng.choice(20, 3, replace=False) for _ in range(90)])
    L = rng.normal(size=(P, P))
    return X, Triplets(rows, 20), L.T @ L, rng


@every_shape
def test_three_numbers_are_their_definitions(problem, B):
    X, triplets, M, _ = problem
    found = TripletGeometry(X, triplets, B).three_numbers(M)
    for mine, naive in zip(found, three_numbers(M, X, triplets.rows, B), strict=True):
        np.testing.assert_allclose(mine, naive, rtol=1e-10)


def _sum(X, triplets, B, M, da, db, dh):
    a, b, h = three_numbers(M, X, triplets.rows, B)
    return da @ a + db @ b + dh @ h


@every_shape
def test_gradient_in_the_metric(problem, B):
    X, triplets, M, rng = problem
    da, db, dh = rng.normal(size=(3, len(triplets)))
    geometry = TripletGeometry(X, triplets, B)
    geometry.measure(M)
    collect_all(geometry, da, db, dh)
    G = geometry.gradient_in_metric()
    np.testing.assert_array_equal(G, G.T)
    for _ in range(5):
        D = rng.normal(size=(P, P))
        D += D.T
        step = 1e-5
        slope = (_sum(X, triplets, B, M + step * D, da, db, dh) - _sum(X, triplets, B, M - step * D, da, db, dh)) / (
            2 * step
        )
        assert np.vdot(G, D) == pytest.approx(slope, rel=1e-6)


def test_gradient_in_basis_weights(problem):
    from holdfast.learn import BasisWeights

    X, triplets, _, rng = problem
    space = BasisWeights(rng.normal(size=(7, P)))
    w = rng.uniform(0.5, 1, 7)
    da, db, dh = rng.normal(size=(3, len(triplets)))
    geometry = TripletGeometry(X, triplets)
    geometry.measure(space.metric(w))
    collect_all(geometry, da, db, dh)
    g = space.gradient(geometry.gradient_in_metric(), w)
    for k in range(7):
        step = 1e-6 * np.eye(7)[k]
        up, down = (_sum(X, triplets, None, space.metric(v), da, db, dh) for v in (w + step, w - step))
        assert g[k] == pytest.approx((up - down) / 2e-6, rel=1e-5)


def test_without_slope_its_pairs_are_not_made(problem):
    X, triplets, M, _ = problem
    geometry = TripletGeometry(X, triplets, with_slope=False)
    assert geometry.three_numbers(M)[2] is None
    assert "_slopes" not in vars(triplets)


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 40))
    i, step = np.arange(3000), rng.integers(1, 1000, size=(80, 3000))
    rows = np.concatenate([np.column_stack([i, (i + s) % 3000, (i + 2000) % 3000]) for s in step])
    M = np.cov(X.T) + np.eye(40)
    partials = rng.normal(size=(3, len(rows)))
    out = []
    for n_jobs in (1, 2, 3):
        geometry = TripletGeometry(X, Triplets(rows, 3000), n_jobs=n_jobs)
        assert geometry.workers.threads == n_jobs
        numbers = geometry.three_numbers(M)
        collect_all(geometry, *partials)
        out.append((*numbers, geometry.gradient_in_metric()))
        geometry.close()
    for other in out[1:]:
        for mine, theirs in zip(out[0], other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("p", [1, 2, 4, 5, 7, 8, 9, 16, 17])
def test_any_width(p, singular):
    """Padding rows to whole cache lines changes no result."""
    rng = np.random.default_rng(p)
    X = 3.0 + rng.normal(size=(12, p))
    triplets = Triplets([rng.choice(12, 3, replace=False) for _ in range(40)], 12)
    L = rng.normal(size=(p, p))
    if singular:
        L[0] = 0.0
    M = L.T @ L
    geometry = TripletGeometry(X, triplets)
    for mine, naive in zip(geometry.three_numbers(M), three_numbers(M, X, triplets.rows), strict=True):
        np.testing.assert_allclose(mine, naive, rtol=1e-9, atol=1e-12)
    da, db, dh = rng.normal(size=(3, 40))
    i, j, l = triplets.rows.T
    outer = [np.einsum("t,tp,tq->pq", w, X[u] - X[v], X[u] - X[v]) for w, u, v in ((da, i, j), (db, i, l), (dh, j, l))]
    expected = outer[0] + outer[1] + outer[2] @ M + M @ outer[2]
    collect_all(geometry, da, db, dh)
    G = geometry.gradient_in_metric()
    np.testing.assert_allclose(G, expected, rtol=1e-9, atol=1e-9)
