"""SCML: the same problem for every solver, exact zeros, wide data, triplets alone."""

import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler, normalize

from holdfast import SCML, Perturbation
from holdfast.learn import Triplets, knn_triplets
from holdfast.learn.solvers import LBFGS, AcceleratedProximalGradient, ProjectedGradient


@pytest.fixture(scope="module")
def data():
    X, y = load_wine(return_X_y=True)
    return normalize(StandardScaler().fit_transform(X)), y


@pytest.mark.parametrize("loss", [None, Perturbation(tau=0.2, weight=2.0)])
def test_solvers_agree_and_zeros_are_exact(loss, data):
    X, y = data
    found = [
        SCML(n_basis=60, eta=0.005, perturbation=loss, solver=solver, random_state=0).fit(X, y)
        for solver in (LBFGS(tol=1e-6), AcceleratedProximalGradient(tol=1e-6))
    ]
    assert found[0].objective_[-1] == pytest.approx(found[1].objective_[-1], rel=0.01)
    for scml in found:
        assert scml.n_active_basis_ == np.count_nonzero(scml.w_) < 60
        assert scml.w_.min() == 0
        expected = (scml.basis_.T * scml.w_) @ scml.basis_
        np.testing.assert_allclose(scml.get_mahalanobis_matrix(), expected, atol=1e-9)
    assert (np.diff(found[1].objective_) <= 0).all()


def test_the_objective_is_push_plus_eta_times_the_l1_norm(data):
    X, y = data
    t = knn_triplets(X, y)
    scml = SCML(n_basis=30, eta=0.02, random_state=0).fit(X, y)
    M = scml.get_mahalanobis_matrix()
    d = [np.einsum("tp,pq,tq->t", X[t.i] - X[o], M, X[t.i] - X[o]) for o in (t.j, t.l)]
    expected = np.maximum(0, 1 + d[0] - d[1]).mean() + 0.02 * scml.w_.sum()
    assert scml.objective_[-1] == pytest.approx(expected)


def test_eta_makes_it_sparser(data):
    X, y = data
    active = [SCML(eta=eta, random_state=0).fit(X, y).n_active_basis_ for eta in (1e-4, 1e-2, 5e-2)]
    assert active[0] > active[1] > active[2] > 0
    with pytest.warns(ConvergenceWarning, match="Lower eta"):
        assert SCML(eta=1e3, random_state=0).fit(X, y).n_active_basis_ == 0


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e3, 1e6])
def test_units_do_not_matter_but_for_eta(unit, data):
    X, y = data
    expected = SCML(eta=0.005, random_state=0).fit(X, y).objective_
    found = SCML(eta=0.005 * unit**2, random_state=0).fit(unit * X, y).objective_
    assert found[0] == pytest.approx(expected[0], rel=1e-3)  # bases are regularised a little
    assert found[-1] == pytest.approx(expected[-1], rel=0.01)


def test_an_eta_too_large_for_the_units_is_said(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="Lower eta"):
        assert SCML(random_state=0).fit(1e-6 * X, y).n_active_basis_ == 0


def test_bases_of_one_s_own_and_a_warm_start(data):
    X, y = data
    scml = SCML(basis=5 * np.eye(13), eta=0.001).fit(X, y)
    np.testing.assert_array_equal(scml.basis_, np.eye(13))
    M = scml.get_mahalanobis_matrix()
    np.testing.assert_allclose(M, np.diag(np.diag(M)), atol=1e-10)
    again = SCML(basis=np.eye(13), eta=0.001, init=scml.w_).fit(X, y)
    assert again.objective_[0] == pytest.approx(scml.objective_[-1])
    with pytest.raises(ValueError, match="init must be 13 weights"):
        SCML(basis=np.eye(13), init=np.ones(3)).fit(X, y)
    with pytest.raises(ValueError, match="eta must be"):
        SCML(eta=-1).fit(X, y)


def test_the_paper_s_start_is_ones(data):
    X, y = data
    solver = AcceleratedProximalGradient()
    scml = SCML(n_basis=20, eta=0.01, solver=solver, random_state=0).fit(X, y)
    once = SCML(basis=scml.basis_, init=np.ones(len(scml.w_)), eta=0.01, solver=solver).fit(X, y)
    np.testing.assert_allclose(once.w_, scml.w_, rtol=1e-9, atol=1e-12)
    assert SCML(n_basis=20, solver=ProjectedGradient(), random_state=0).fit(X, y).w_.min() >= 0


def test_triplets_alone_and_more_features_than_triplets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 300))
    rows = Triplets([[0, 1, 2], [3, 4, 5], [6, 7, 8]], 12)
    scml = SCML(eta=1e-4, random_state=0).fit(X, triplets=rows)
    assert scml.basis_.shape[1] == 300
    assert scml.objective_[-1] < scml.objective_[0]


def test_triplets_times_bases_are_never_held():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(800, 8)), np.arange(800) % 4
    t = knn_triplets(X, y)
    scml = SCML(n_basis=1000, eta=1e-3, random_state=0, n_jobs=1)
    tracemalloc.start()
    scml.fit(X, y, triplets=t)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.15 * len(t) * 1000 * 8  # bytes of triplets × bases: 190 MB
