"""DRIFT and AML do what their docstrings say; Reduced and the shapes of perturbations."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler, normalize

from holdfast import AML, DRIFT, LMNN, Perturbation, Reduced
from holdfast.learn import Pull, Push, knn_triplets
from holdfast.paper.learners import ExpectedObjective, _geometric_mean


@pytest.fixture(scope="module")
def data():
    X, y = load_wine(return_X_y=True)
    return normalize(StandardScaler().fit_transform(X)), y


def test_drift_is_lmnn_on_expected_distances(data):
    X, y = data
    t, rng = knn_triplets(X, y), np.random.default_rng(0)
    L = rng.normal(size=(13, 13)) / 4
    M = L.T @ L
    with ExpectedObjective(X, t, [(0.5, Pull()), (0.5, Push())], 0.01, 0.1, 1) as objective:
        variances = rng.uniform(0.005, 0.05, X.shape)
        objective.geometry.variances = variances
        value, G = objective(M)

        def expected(i, j):
            d = X[i] - X[j]
            return np.einsum("tp,pq,tq->t", d, M, d) + (variances[i] + variances[j]) @ np.diag(M)

        ratio = variances / 0.01
        by_hand = 0.5 * expected(t.i[t.targets], t.j[t.targets]).mean()
        by_hand += 0.5 * np.maximum(0, 1 + expected(t.i, t.j) - expected(t.i, t.l)).mean()
        by_hand += 0.1 / len(X) * 0.5 * np.sum(ratio - 1 - np.log(ratio))
        assert value == pytest.approx(by_hand)
        D = rng.normal(size=(13, 13))
        D += D.T
        slope = (objective(M + 1e-6 * D)[0] - objective(M - 1e-6 * D)[0]) / 2e-6
        assert np.vdot(G, D) == pytest.approx(slope, rel=1e-4)
        assert objective.disturb(M) < value


def test_drift_learns_disturbances_and_is_held_near_the_euclidean_metric(data):
    X, y = data
    drift = DRIFT(disturbance=0.3, eta=1e-3).fit(X, y)
    assert drift.disturbances_.shape == X.shape
    assert drift.disturbances_.min() > 0
    assert np.ptp(drift.disturbances_) > 0.1 * drift.disturbances_.mean()
    free, held = (DRIFT(weight=weight).fit(X, y).get_mahalanobis_matrix() for weight in (1e-4, 1e3))
    values, strong = np.linalg.eigvalsh(free), np.linalg.eigvalsh(held)
    assert strong[-1] < 1.01 * strong[0]
    assert values[-1] > 2 * max(values[0], strong[-1])
    for name in ("weight", "disturbance", "eta", "n_turns"):
        with pytest.raises(ValueError, match=f"DRIFT: {name} must be"):
            DRIFT(**{name: 0}).fit(X, y)


@pytest.mark.parametrize("scale", [1e-4, 1e3])
def test_units_do_not_matter_to_drift(data, scale):
    X, y = data
    reference, scaled = DRIFT().fit(X, y), DRIFT().fit(scale * X, y)
    assert scaled.objective_[-1] == pytest.approx(reference.objective_[-1], rel=2e-3)


def test_geometric_mean_minimises():
    rng = np.random.default_rng(0)
    S, D = (np.cov(rng.normal(size=(4, 30))) for _ in range(2))
    M = _geometric_mean(S, D)
    np.testing.assert_allclose(M @ S @ M, D, atol=1e-10)  # the stationary point of tr MS + tr M⁻¹D


def test_aml_without_adversaries_is_the_geometric_mean(data):
    X, y = data
    t = knn_triplets(X, y)
    S, D = (np.cov((X[i] - X[j]).T, ddof=0) for i, j in ((t.i[t.targets], t.j[t.targets]), (t.i, t.l)))
    S, D = (
        C + np.outer(m, m)
        for C, m in (
            (S, (X[t.i[t.targets]] - X[t.j[t.targets]]).mean(axis=0)),
            (D, (X[t.i] - X[t.l]).mean(axis=0)),
        )
    )
    S, D = (C + 1e-3 * np.trace(C) / 13 * np.eye(13) for C in (S, D))
    np.testing.assert_allclose(AML(alpha=0).fit(X, y).get_mahalanobis_matrix(), _geometric_mean(S, D))
    changed = AML(alpha=1.0).fit(X, y).get_mahalanobis_matrix()
    assert np.abs(changed - _geometric_mean(S, D)).max() > 1e-3
    with pytest.raises(ValueError, match="AML: beta must be"):
        AML(beta=2).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="AML did not converge"):
        AML(max_iter=1).fit(X, y)


def test_variance_shape(data):
    X = data[0] * np.linspace(0.5, 3, 13)
    X[:, 4] = 1.0
    B = Perturbation(shape="variance").slope_matrix(13, X.var(axis=0))
    np.testing.assert_allclose(np.diag(B), X.var(axis=0) / X.var(axis=0).mean())
    assert np.diag(B)[4] == 0
    given = Perturbation(shape=X.var(axis=0)[:4].mean() / X.var(axis=0)[:4]).slope_matrix(4)
    np.testing.assert_allclose(Perturbation(shape="variance").slope_matrix(4, X[:, :4].var(axis=0)), given)
    learner = LMNN(perturbation=Perturbation(shape="variance", weight=50.0))
    other = clone(learner).set_params(perturbation__shape=None)
    assert not np.allclose(learner.fit(X, data[1]).components_, other.fit(X, data[1]).components_)
    with pytest.raises(ValueError, match="shape must be a matrix"):
        LMNN(perturbation=Perturbation(shape="round")).fit(*data)


@pytest.mark.parametrize("whiten", [False, True])
def test_reductions_are_asked_not_read(whiten, data):
    X, y = data
    pca = PCA(5, whiten=whiten).fit(X)
    scale = np.sqrt(pca.explained_variance_) if whiten else np.ones(5)
    D = pca.components_ / scale[:, None]
    B = Perturbation(reduction=pca).slope_matrix(5)
    np.testing.assert_allclose(np.eye(5) if B is None else B, D @ D.T, atol=1e-10)
    v = np.diag(pca.get_covariance())
    B = Perturbation(reduction=pca, shape="variance").slope_matrix(5)
    np.testing.assert_allclose(B, (D * (v / v.mean())) @ D.T, atol=1e-10)
    chain = make_pipeline(StandardScaler(), pca).fit(pd.DataFrame(X, columns=[f"f{k}" for k in range(13)]))
    D = chain[1].components_ / (np.sqrt(chain[1].explained_variance_)[:, None] if whiten else 1)
    np.testing.assert_allclose(
        Perturbation(reduction=chain).slope_matrix(5), (D / chain[0].var_) @ D.T, rtol=1e-8, atol=1e-10
    )
    learner = clone(LMNN(perturbation=Perturbation(reduction=pca)))
    assert learner.perturbation.reduction is pca  # a clone would be unfitted
    learner.fit(pca.transform(X), y)


def test_bad_reductions_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="PCA that is not fitted"):
        LMNN(perturbation=Perturbation(reduction=PCA())).fit(X, y)
    with pytest.raises(ValueError, match="Normalizer, which is not affine"):
        LMNN(perturbation=Perturbation(reduction=Normalizer().fit(X))).fit(X, y)
    with pytest.raises(ValueError, match="stores the covariance of its inputs"):
        LMNN(perturbation=Perturbation(reduction=np.eye(13), shape="variance")).fit(X, y)


def test_reduced_is_a_metric_on_the_inputs(data):
    X, y = data
    loss = Perturbation(tau=0.3, weight=20.0)
    reduced = Reduced(LMNN(perturbation=loss), PCA(4, whiten=True)).fit(X, y)
    Z = reduced.reduction_.transform(X)
    inner = reduced.learner_.transform(Z)
    between = [np.linalg.norm(V[:60] - V[60:120], axis=1) for V in (reduced.transform(X), inner)]
    np.testing.assert_allclose(*between, rtol=1e-8)
    by_hand = LMNN(perturbation=clone(loss).set_params(reduction=reduced.reduction_)).fit(Z, y)
    np.testing.assert_allclose(by_hand.components_, reduced.learner_.components_)
    unaware = LMNN(perturbation=loss).fit(Z, y)  # thinks that Z is what is perturbed
    assert not np.allclose(unaware.components_, reduced.learner_.components_, atol=1e-3)
    assert loss.reduction is None


@pytest.mark.parametrize("far", [1.7e12, 1.7e15, 1.7e18], ids=["ms", "us", "ns"])
@pytest.mark.parametrize("kind", ["pca", "whitened", "pipeline", "incremental"])
def test_a_reduction_of_columns_far_from_zero_is_not_lost_in_rounding(kind, far, data):
    """Time stamps: ``transform(e_k) − transform(0)`` is the difference of two large numbers."""
    X, y = data[0] * 1e-3 * far + far, data[1]
    reduction = {
        "pca": PCA(4),
        "whitened": PCA(4, whiten=True),
        "pipeline": make_pipeline(StandardScaler(), "passthrough", PCA(4)),
        "incremental": IncrementalPCA(4),
    }[kind]
    reduced = Reduced(LMNN(), reduction).fit(X, y)
    Z = reduced.learner_.transform(reduced.reduction_.transform(X))
    apart = np.linalg.norm(Z[:80] - Z[80:160], axis=1)
    distances = reduced.pair_distance(np.stack([X[:80], X[80:160]], axis=1))
    np.testing.assert_allclose(distances, apart, rtol=1e-6)


def test_a_reduction_to_nothing_is_said(data):
    X, y = data[0] + 1e18, data[1]
    reduction = make_column_transformer((StandardScaler(), slice(0, 13)))
    with pytest.warns(UserWarning, match="whose matrix D is 0.*StandardScaler"), pytest.warns(ConvergenceWarning):
        Reduced(LMNN(), reduction).fit(X, y)
