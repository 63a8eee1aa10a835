"""ProxyNCA: gradients by finite differences, the loss as stated, prototypes that predict."""

from itertools import count

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler, normalize

from holdfast import CertifiedPrototypeClassifier, Perturbation, ProxyNCA
from holdfast.learn import ProxySoftmax, adversarial_margin
from holdfast.learn.proxy_nca import ProxyGeometry, ProxyLoss
from holdfast.learn.rows import Kept
from holdfast.learn.solvers import ProjectedGradient

LABELS = np.array([0, 0, 1, 1, 2, 2])


@pytest.fixture(scope="module")
def data():
    X, y = load_wine(return_X_y=True)
    return normalize(StandardScaler().fit_transform(X)), y


def problem(seed=0):
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(4, 4))
    return rng, rng.normal(size=(50, 4)), rng.integers(0, 3, 50), rng.normal(size=(6, 4)), L.T @ L / 4


@pytest.mark.parametrize("B", [None, np.diag([1.0, 2.0, 0.5, 1.0])])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("loss", [None, Perturbation(tau=1.5, weight=3.0)])
def test_gradients(loss, unit, B):
    rng, X, y, A, M = problem()
    function = ProxyLoss(ProxySoftmax(0.7), loss, unit, len(X), B)
    with Kept(ProxyGeometry(X, y, LABELS, B)) as geometry:
        _, GM, GA = function(geometry, M, A)
        for _ in range(4):
            D, E = rng.normal(size=(4, 4)), rng.normal(size=A.shape)
            D, e = D + D.T, 1e-6
            slope = (function(geometry, M + e * D, A)[0] - function(geometry, M - e * D, A)[0]) / (2 * e)
            assert np.vdot(GM, D) == pytest.approx(slope, rel=1e-5, abs=1e-6)
            slope = (function(geometry, M, A + e * E)[0] - function(geometry, M, A - e * E)[0]) / (2 * e)
            assert np.vdot(GA, E) == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_the_loss_is_as_stated():
    """Row by row: softmax over proxies, τ² ± r² of the nearest two."""
    _, X, y, A, M = problem(1)
    tau, weight, T = 1.5, 3.0, 0.7
    expected, sides = 0.0, set()
    for x, label in zip(X, y, strict=True):
        d = np.array([(x - a) @ M @ (x - a) for a in A])
        e = np.exp(-(d - d.min()) / T)
        expected -= np.log(e[label == LABELS].sum() / e.sum())
        same = A[label == LABELS][d[label == LABELS].argmin()]
        other = A[label != LABELS][d[label != LABELS].argmin()]
        r = adversarial_margin(M, x, same, other)[0]
        sides.add(r > 0)
        expected += weight * (max(tau**2 - r**2, 0) if r > 0 else tau**2 + r**2)
    assert sides == {True, False}
    with Kept(ProxyGeometry(X, y, LABELS)) as geometry:
        value = ProxyLoss(ProxySoftmax(T), Perturbation(tau, weight), False, len(X))(geometry, M, A)[0]
    assert value == pytest.approx(expected / len(X), rel=1e-8)


@pytest.mark.parametrize("temperature", [1e-8, 1e8])
def test_no_temperature_overflows(temperature):
    rng = np.random.default_rng(0)
    value, C = ProxySoftmax(temperature).value_and_partials(rng.uniform(0, 9, (20, 6)), np.arange(20) % 3, LABELS)
    assert np.isfinite(value)
    assert np.isfinite(C).all()
    np.testing.assert_allclose(C.sum(axis=1), 0, atol=1e-6 / temperature)


@pytest.mark.parametrize("loss", [None, Perturbation(tau=0.2, weight=1.0)])
@pytest.mark.parametrize("solver", [None, ProjectedGradient(tol=1e-4, max_iter=2000)])
def test_prototypes_predict(loss, solver, data):
    X, y = data
    names = np.array(["barolo", "grignolino", "barbera"])[y]
    pnca = ProxyNCA(2, perturbation=loss, normalize=True, solver=solver, random_state=0).fit(X, names)
    assert pnca.prototypes_.shape == (6, 13)
    assert sorted(pnca.prototype_labels_) == sorted(np.repeat(np.unique(names), 2))
    np.testing.assert_allclose(np.linalg.norm(pnca.prototypes_, axis=1), 1)
    nearest = KNeighborsClassifier(1).fit(pnca.transform(pnca.prototypes_), pnca.prototype_labels_)
    assert nearest.score(pnca.transform(X), names) > 0.97
    assert pnca.objective_[-1] < 0.3 * pnca.objective_[0]


def test_a_vanishing_perturbation_recovers_the_method(data):
    X, y = data
    plain = ProxyNCA(temperature=10.0, random_state=0, perturbation=None).fit(X, y)
    loss = ProxyNCA(temperature=10.0, random_state=0, perturbation=Perturbation(weight=1e-14)).fit(X, y)
    assert loss.objective_[-1] == pytest.approx(plain.objective_[-1], abs=1e-3)


def test_the_perturbation_loss_enlarges_margins():
    X, y = make_blobs(300, 5, centers=3, cluster_std=4.0, random_state=0)
    X = normalize(X - X.mean(axis=0))

    def short(loss):
        pnca = ProxyNCA(n_proxies=1, perturbation=loss, random_state=0).fit(X, y)
        M, A = pnca.get_mahalanobis_matrix(), pnca.prototypes_
        d = np.einsum("nkp,pq,nkq->nk", X[:, None] - A, M, X[:, None] - A)
        other = np.where(np.arange(3) == y[:, None], np.inf, d).argmin(axis=1)
        return np.minimum(adversarial_margin(M, X, A[y], A[other]), 0.3).mean()

    assert short(Perturbation(tau=0.3, weight=100.0)) > short(None)


@pytest.mark.parametrize("length", [1e-3, 1.0, 700.0])
def test_the_default_loss_has_the_scale_of_the_rows(length, data):
    X, y = data
    unit, other = (ProxyNCA(n_proxy_steps=0, random_state=0).fit(X * s, y).perturbation_ for s in (1.0, length))
    assert 0.05 < unit.tau < 1.0
    assert unit.weight * unit.tau**2 == pytest.approx(0.3)
    assert other.tau == pytest.approx(unit.tau * length, rel=1e-6)
    assert other.weight * other.tau**2 == pytest.approx(0.3)
    assert ProxyNCA(perturbation=None, n_proxy_steps=0).fit(X, y).perturbation_ is None


def test_the_default_loss_needs_margins():
    X = np.tile([[1.0, 0.0], [0.0, 1.0]], (10, 1))  # both classes have the same rows
    assert ProxyNCA(random_state=0).fit(X, np.repeat([0, 1], 10)).perturbation_ is None


def test_proxies_rest_after_their_steps(data):
    X, y = data
    still = ProxyNCA(n_proxies=1, n_proxy_steps=0, normalize=True, random_state=0).fit(X, y)
    means = np.array([X[y == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(still.prototypes_, normalize(means), atol=1e-9)
    seen = []
    ProxyNCA(random_state=0, callback=seen.append).fit(X, y)
    assert len(seen) > 5


@pytest.mark.parametrize("loss", [False, True])
def test_other_lengths_of_rows(loss, data):
    X, y = data

    def early(s):
        """Twenty steps on rows of length s; later, at the kinks of the loss, paths part."""
        told = count()
        perturbation = Perturbation(0.2 * s, 1 / s**2) if loss else None
        learner = ProxyNCA(1, perturbation=perturbation, normalize=True, random_state=0)
        return learner.set_params(callback=lambda _: next(told) == 20).fit(X * s, y)

    unit, long = early(1), early(8)
    np.testing.assert_allclose(long.objective_, unit.objective_, rtol=1e-6)
    np.testing.assert_allclose(long.prototypes_, 8 * unit.prototypes_, rtol=1e-4, atol=1e-4)
    free = ProxyNCA(n_proxies=1, random_state=0).fit(X * 7, y)
    assert np.ptp(np.linalg.norm(free.prototypes_, axis=1)) > 1e-3


@pytest.mark.parametrize("normalize", [False, True])
def test_the_default_loss_at_both_lengths(normalize, data):
    X, y = data
    unit, long = (ProxyNCA(normalize=normalize, n_proxy_steps=0, random_state=0).fit(X * s, y) for s in (1.0, 64.0))
    assert long.perturbation_.tau == pytest.approx(64 * unit.perturbation_.tau, rel=1e-6)
    np.testing.assert_allclose(long.prototypes_, 64 * unit.prototypes_, rtol=1e-4, atol=1e-4)


def test_prototypes_vote_on_rows_of_any_length():
    X, y = load_iris(return_X_y=True)
    clf = CertifiedPrototypeClassifier(ProxyNCA(random_state=0)).fit(X - X.mean(axis=0), y)
    assert clf.score(X - X.mean(axis=0), y) > 0.95


@pytest.mark.parametrize(
    ("name", "bad"), [("n_proxies", 0), ("temperature", 0.0), ("n_proxy_steps", -1), ("perturbation", 3)]
)
def test_bad_parameters_are_refused(name, bad, data):
    with pytest.raises(ValueError, match=name):
        ProxyNCA(**{name: bad}).fit(*data)


def test_whole_numbers_of_pandas_stay_whole():
    X, y = make_blobs(40, random_state=0)
    learner = ProxyNCA(random_state=0).fit(X, pd.Series(y, dtype="Int64"))
    assert learner.classes_.dtype == learner.prototype_labels_.dtype == y.dtype
