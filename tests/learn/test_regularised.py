"""LMNN with a regulariser of M in place of pull: what each regulariser does to the metric."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler, normalize

from holdfast import LMNN, CappedTraceLMNN, LogDetLMNN, Perturbation, SpectralNormLMNN
from holdfast.learn import CappedTrace, LogDet, SpectralNorm
from holdfast.learn.solvers import LBFGS, ProjectedGradient

REGULARISED = [LogDetLMNN, CappedTraceLMNN, SpectralNormLMNN]
every = pytest.mark.parametrize("Learner", REGULARISED)


@pytest.fixture(scope="module")
def data():
    X, y = load_wine(return_X_y=True)
    return normalize(StandardScaler().fit_transform(X)), y


def eigenvalues(learner):
    return np.linalg.eigvalsh(learner.get_mahalanobis_matrix())


@every
@pytest.mark.parametrize("loss", [None, Perturbation(tau=0.2, weight=2.0)])
def test_the_default_solver_is_as_good_as_the_paper_s(Learner, loss, data):
    X, y = data
    fast = Learner(weight=0.02, perturbation=loss, solver=LBFGS(tol=1e-6)).fit(X, y)
    slow = Learner(weight=0.02, perturbation=loss, solver=ProjectedGradient(tol=1e-5, max_iter=3000)).fit(X, y)
    # At kinks (ties of eigenvalues) fixed steps stop short; the default may be lower, never higher.
    assert fast.objective_[-1] == pytest.approx(slow.objective_[-1], rel=0.05, abs=0.02)
    assert fast.objective_[-1] <= slow.objective_[-1] * 1.005


@every
def test_a_vanishing_perturbation_recovers_the_method(Learner, data):
    X, y = data
    plain = Learner(validation_fraction=None).fit(X, y).get_mahalanobis_matrix()
    with_loss = Learner(perturbation=Perturbation(weight=1e-12)).fit(X, y).get_mahalanobis_matrix()
    np.testing.assert_allclose(with_loss, plain, atol=2e-2 * np.abs(plain).max())


@every
def test_the_perturbation_loss_enlarges_margins(Learner, data):
    from holdfast.learn import adversarial_margin, knn_triplets

    X, y = data
    t = knn_triplets(X, y)

    def short(learner):  # share of triplets with a margin below tau
        M = learner.fit(X, y).get_mahalanobis_matrix()
        return np.mean(adversarial_margin(M, X[t.i], X[t.j], X[t.l]) < 0.25)

    assert short(Learner(perturbation=Perturbation(tau=0.25, weight=50.0))) < short(Learner())


@pytest.mark.parametrize("solver", [LBFGS(), ProjectedGradient(max_iter=3000, tol=1e-5)])
@pytest.mark.parametrize("weight", [1e-6, 1e-3, 1.0, 100.0])
def test_log_det_stays_positive_definite(solver, weight, data):
    X, y = data
    learner = LogDetLMNN(weight=weight, solver=solver).fit(X, y)
    assert eigenvalues(learner)[0] > 1e-4
    assert np.isfinite(learner.objective_).all()


def test_log_det_draws_to_the_identity(data):
    X, y = data
    far, near = (np.abs(eigenvalues(LogDetLMNN(weight=w).fit(X, y)) - 1).max() for w in (0.01, 100.0))
    assert near < 0.01 < far
    assert LogDet().value_and_grad(np.diag([1.0, 0.0]))[0] == np.inf


def test_capped_trace_lowers_the_rank(data):
    X, y = data
    values = eigenvalues(CappedTraceLMNN(weight=10.0, rank=2).fit(X, y))
    assert values[:-2].sum() < 1e-3 * values[-2:].sum()
    assert values[-2] > 0.1
    assert CappedTrace(rank=13).value_and_grad(np.eye(13))[0] == 0
    with pytest.raises(ValueError, match="rank=14 exceeds the number of features, which is 13"):
        CappedTraceLMNN(rank=14).fit(X, y)
    with pytest.raises(ValueError, match="CappedTrace: rank must be"):
        CappedTraceLMNN(rank=0).fit(X, y)


def test_spectral_norm_flattens_the_spectrum(data):
    X, y = data
    flat, free = (eigenvalues(SpectralNormLMNN(weight=w).fit(X, y)) for w in (0.05, 1e-6))
    assert flat[-1] < 0.5 * free[-1]
    # At a tie the subgradient is the mean over all who share the norm.
    np.testing.assert_allclose(SpectralNorm().value_and_grad(np.eye(4))[1], np.eye(4) / 4)


@every
def test_bad_weights_are_refused(Learner, data):
    with pytest.raises(ValueError, match=f"{Learner.__name__}: weight must be"):
        Learner(weight=0).fit(*data)


def test_pull_is_replaced(data):
    X, y = data
    assert LogDetLMNN(weight=1e-9).fit(X, y).objective_[-1] < LMNN(mu=0.5).fit(X, y).objective_[-1]
