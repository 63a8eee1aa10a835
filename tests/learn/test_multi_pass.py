"""Multi-pass learning: neighbours under the metric at hand; and a fit that goes on from a saved metric."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from holdfast import AML, DRIFT, LMNN, SCML, Euclidean, MultiPass, Perturbation, load, save
from holdfast.learn import knn_triplets


@pytest.fixture(scope="module")
def data():
    """Classes in clusters of four informative features, hidden by eight loud ones."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=2.0, size=(12, 4))
    cluster = rng.integers(0, 12, 900)
    X = np.hstack([centres[cluster] + 0.7 * rng.normal(size=(900, 4)), 4.0 * rng.normal(size=(900, 8))])
    return X / X.std(axis=0), cluster % 3


def test_one_pass_is_the_learner(data):
    X, y = data
    passes = MultiPass(LMNN(), n_passes=1).fit(X, y)
    np.testing.assert_array_equal(passes.components_, LMNN().fit(X, y).components_)
    assert passes.n_passes_ == 1
    assert passes.renewal_.size == 0


def test_the_second_pass_learns_from_neighbours_under_the_first(data):
    X, y = data
    passes = MultiPass(LMNN(), n_passes=2, tol=0.0).fit(X, y)
    first = LMNN().fit(X, y)
    again = knn_triplets(X @ first.components_.T, y)
    second = LMNN(init=first.get_mahalanobis_matrix()).fit(X, triplets=again)
    np.testing.assert_allclose(passes.components_, second.components_, rtol=1e-9, atol=1e-12)
    old = {(i, k) for t in [knn_triplets(X, y).rows.tolist()] for i, j, l in t for k in (j, l)}
    new = {(i, k) for i, j, l in again.rows.tolist() for k in (j, l)}
    assert passes.renewal_[0] == pytest.approx(len(new - old) / len(new))
    assert passes.n_passes_ == 2


def test_more_passes_help_where_the_first_neighbours_mislead(data):
    X, y = data

    def score(learner):
        L = learner.fit(X[:600], y[:600]).components_
        return KNeighborsClassifier(3).fit(X[:600] @ L.T, y[:600]).score(X[600:] @ L.T, y[600:])

    assert score(MultiPass(n_passes=4)) > score(LMNN()) > score(Euclidean())


def test_ends_early_when_the_neighbours_stay():
    rng = np.random.default_rng(0)
    X = np.arange(40.0)[:, None] + 0.01 * rng.random((40, 1))  # one feature: no metric changes who is near
    passes = MultiPass(LMNN(), n_passes=5).fit(X, np.arange(40) // 10 % 2)
    assert passes.n_passes_ == 1
    np.testing.assert_array_equal(passes.renewal_, [0.0])


@pytest.mark.parametrize("learner", [SCML(n_basis=30, random_state=0), DRIFT(n_turns=1), AML()])
def test_every_triplet_learner_goes_on_from_where_it_was(learner, data):
    X, y = data
    passes = MultiPass(learner, n_passes=2, tol=0.0).fit(X[:200], y[:200])
    assert passes.n_passes_ == 2
    assert np.isfinite(passes.components_).all()
    assert "init" not in learner.get_params() or learner.init is None  # the user's learner is left alone


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_passes": 0}, "MultiPass: n_passes must be"),
        ({"tol": -1.0}, "MultiPass: tol must be"),
        ({"learner": Euclidean()}, "learn from triplets"),
    ],
)
def test_bad_parameters_are_refused_by_name(settings, message, data):
    with pytest.raises(ValueError, match=message):
        MultiPass(**settings).fit(*data)


def test_a_fit_goes_on_from_a_saved_metric(data, tmp_path):
    X, y = data
    loss = Perturbation(tau=0.3)
    saved = load(save(LMNN(mu=0.5, perturbation=loss).fit(X[:450], y[:450]), tmp_path / "half.holdfast"))
    cold = LMNN(mu=0.5, perturbation=loss).fit(X, y)
    warm = LMNN(mu=0.5, perturbation=loss, init=saved.get_mahalanobis_matrix()).fit(X, y)
    assert warm.objective_[0] < cold.objective_[0]
    assert warm.objective_[-1] == pytest.approx(cold.objective_[-1], rel=5e-3)
    assert warm.n_iter_ < cold.n_iter_
