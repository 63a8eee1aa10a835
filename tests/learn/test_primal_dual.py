"""PrimalDual: the bound is one, the proximal step is the nearest point, and the start does not matter."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler, normalize

from holdfast import LMNN, Perturbation, SpectralNormLMNN
from holdfast.learn import PSDMatrices, Push, SpectralNorm, Triplets, knn_triplets
from holdfast.learn.objective import Objective
from holdfast.learn.solvers import LBFGS, PrimalDual, StopReason
from holdfast.learn.solvers.primal_dual import HingeProblem


@pytest.fixture(scope="module")
def data():
    X, y = load_wine(return_X_y=True)
    return normalize(StandardScaler().fit_transform(X))[::2, :6], y[::2]


def symmetric(rng, p):
    A = rng.normal(size=(p, p))
    return A + A.T


def random_psd(rng, p):
    A = rng.normal(size=(p, rng.integers(1, p + 1)))
    return A @ A.T


@pytest.mark.parametrize("seed", range(5))
def test_the_proximal_step_and_the_polar_of_the_spectral_norm(seed):
    rng = np.random.default_rng(seed)
    norm, M, t = SpectralNorm(), symmetric(rng, 5), rng.uniform(0.01, 8.0)
    Z = norm.prox(M, t)

    def value(Z):
        return 0.5 * np.sum((Z - M) ** 2) + t * norm.value_and_grad(Z)[0]

    assert np.linalg.eigvalsh(Z)[0] > -1e-12
    for _ in range(50):  # a convex function: a minimum near Z is one everywhere
        other = Z + rng.uniform(0, 0.2) * (random_psd(rng, 5) / 5 - Z)
        assert value(Z) <= value(other) + 1e-12
        P = random_psd(rng, 5)
        assert np.vdot(M, P) <= norm.polar(M) * norm.value_and_grad(P)[0] + 1e-9
    values, V = np.linalg.eigh(M)
    attained = (V * (values > 0)) @ V.T
    assert np.vdot(M, attained) == pytest.approx(norm.polar(M))


def test_every_multiplier_gives_a_lower_bound_of_every_value(data):
    X, y = data
    rng = np.random.default_rng(0)
    with Objective(X, knn_triplets(X, y), [(0.5, Push()), (0.02, SpectralNorm())]) as objective:
        problem = HingeProblem(objective)
        for _ in range(30):
            M, multipliers = random_psd(rng, 6), problem.share * rng.uniform(-1, 2, len(objective.triplets)).clip(0, 1)
            f, S = problem.forms(M), problem.scatter(multipliers)
            assert np.vdot(S, M) == pytest.approx(f @ multipliers)  # the adjoint
            assert problem.primal(M, f) == pytest.approx(objective(M)[0])
            assert problem.dual(multipliers, S) <= problem.primal(M, f)


def test_one_feature_is_a_linear_program():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(30, 1)), 0.3
    rows = np.array([rng.permutation(30)[:3] for _ in range(60)])
    triplets = Triplets(rows, 30)
    f = (X[triplets.i] - X[triplets.l]) ** 2 - (X[triplets.i] - X[triplets.j]) ** 2  # per unit of M
    # min weight·m + mean s over m, s ≥ 0 with s ≥ 1 − f m
    exact = linprog(np.r_[weight, np.full(60, 1 / 60)], A_ub=-np.c_[f, np.eye(60)], b_ub=-np.ones(60)).fun
    with Objective(X, triplets, [(1.0, Push()), (weight, SpectralNorm())]) as objective:
        found = PrimalDual(tol=1e-7).minimize(objective, PSDMatrices(), np.eye(1))
    assert found.value == pytest.approx(exact, rel=1e-6)
    assert found.lower_bound == pytest.approx(exact, rel=1e-6)
    assert found.lower_bound <= exact * (1 + 1e-12)
    assert found.reason is StopReason.SMALL_GAP


def test_the_start_does_not_matter(data):
    X, y = data[0][::2, :4], data[1][::2]
    rng = np.random.default_rng(0)
    found = [
        SpectralNormLMNN(weight=0.1, solver=PrimalDual(tol=2e-6), init=init).fit(X, y)
        for init in (None, random_psd(rng, 4), 30 * np.eye(4))
    ]
    values = [learner.objective_[-1] for learner in found]
    assert np.ptp(values) < 1e-6
    for learner in found:
        assert learner.lower_bound_ <= min(values) <= learner.objective_[-1]
        assert learner.objective_[-1] - learner.lower_bound_ <= 2e-6 * learner.objective_[-1]


def test_the_default_is_near_the_minimum_and_l_bfgs_alone_is_not(data):
    X, y = data
    default, alone, proven = (SpectralNormLMNN(solver=solver).fit(X, y) for solver in (None, LBFGS(), PrimalDual()))
    assert proven.lower_bound_ >= (1 - 1e-3) * proven.objective_[-1]
    assert proven.lower_bound_ <= default.objective_[-1] <= 1.02 * proven.objective_[-1]
    assert default.objective_[-1] <= alone.objective_[-1]
    assert default.lower_bound_ is None
    assert (np.diff(default.objective_) <= 1e-12).all()


def test_a_norm_that_dominates_leaves_nothing(data):
    with pytest.warns(ConvergenceWarning, match="a metric that is zero on this data"):
        zero = SpectralNormLMNN(weight=100.0, solver=PrimalDual()).fit(*data)
    assert zero.objective_[-1] == pytest.approx(1.0, rel=1e-3)
    assert zero.lower_bound_ == pytest.approx(1.0, rel=2e-3)


def test_other_objectives_are_refused(data):
    with pytest.raises(TypeError, match="PrimalDual minimises hinges plus a norm"):
        LMNN(perturbation=None, solver=PrimalDual()).fit(*data)
    with pytest.raises(TypeError, match="without a perturbation loss"):
        SpectralNormLMNN(perturbation=Perturbation(0.2, 1.0), solver=PrimalDual()).fit(*data)
    with pytest.warns(ConvergenceWarning, match="PrimalDual did not converge"):
        SpectralNormLMNN(solver=PrimalDual(max_iter=3)).fit(*data)
