"""Learners on data nobody meant for them: absurd scales, rows that are all the same, more features than rows."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from holdfast import (
    AML,
    DRIFT,
    LMNN,
    SCML,
    CappedTraceLMNN,
    CertifiedKNeighborsClassifier,
    LogDetLMNN,
    Perturbation,
    ProxyNCA,
    SpectralNormLMNN,
    poisoning_tolerance,
)
from holdfast.learn.lmnn import RegularisedLMNN

LEARNERS = {
    "LMNN": LMNN(),
    "LMNN-PL": LMNN(perturbation=Perturbation(tau=1.0)),
    "LogDet": LogDetLMNN(weight=0.1),
    "Capped": CappedTraceLMNN(),
    "Spectral": SpectralNormLMNN(),
    "DRIFT": DRIFT(),
}
OTHERS = {"AML": AML(), "SCML": SCML(n_basis=20, random_state=0), "ProxyNCA": ProxyNCA(random_state=0)}


def rows(n, p, seed=0):
    rng = np.random.RandomState(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, 0] += 3 * y
    return X, y


# -- scales -------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflows on the way to a refusal
@pytest.mark.parametrize("scale", [1e-310, 1e-170, 1e-160, 1e-155, 1e-100, 1e100, 1e154, 1e160, 1e200, 1e300])
@pytest.mark.parametrize("name", [*LEARNERS, *OTHERS])
def test_absurd_scales_are_learned_refused_or_announced(name, scale):
    X, y = rows(40, 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner, refused = {**LEARNERS, **OTHERS}[name], None
        try:
            learner.fit(X * scale, y)
        except ValueError as error:
            refused = error
    if refused is not None:
        assert not isinstance(refused, np.linalg.LinAlgError)
        assert "floating point" in str(refused)
        return
    assert np.isfinite(learner.components_).all()
    announced = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    Z = learner.transform(X * scale)
    assert announced or KNeighborsClassifier(3).fit(Z, y).score(Z, y) > 0.7  # a coin has 0.5


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_aml_does_not_depend_on_the_unit(scale):
    X, y = rows(40, 4)
    L, scaled = AML().fit(X, y).components_, AML().fit(X * scale, y).components_
    np.testing.assert_allclose(scaled, L, rtol=1e-6)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize(
    "X", [np.ones((20, 3)), np.full((20, 3), 1e-310), np.random.RandomState(0).rand(20, 3) * 1e-310]
)
def test_proxy_nca_says_that_there_is_nothing_to_learn(X, normalize):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Number of distinct clusters")
        with pytest.warns(ConvergenceWarning, match="nothing to learn"):
            ProxyNCA(n_proxies=1, normalize=normalize, random_state=0).fit(X, np.arange(20) % 2)


# -- more features than rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*LEARNERS, "AML", "SCML"])
def test_many_features_take_seconds(name):
    """2,000 features of 50 rows took minutes; here only the size of the work is checked, not the clock."""
    X, y = rows(50, 2000)
    learner = (LEARNERS | OTHERS)[name].fit(X, y)
    assert learner.components_.shape[0] <= 49
    span = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:49]
    outside = learner.components_ - learner.components_ @ span.T @ span
    assert np.abs(outside).max() < 1e-10 * np.abs(learner.components_).max()


@pytest.mark.parametrize("name", ["LMNN", "LMNN-PL", "LogDet", "Spectral"])
def test_the_span_holds_the_minimum(name, monkeypatch):
    X, y = rows(24, 30)
    within = LEARNERS[name].fit(X, y)
    objective = within.objective_[-1]
    for kind in (LMNN, RegularisedLMNN):
        monkeypatch.setattr(kind, "_optimal_in_span", False)
    everywhere = LEARNERS[name].fit(X, y)
    assert everywhere.components_.shape[1] == 30
    assert objective <= everywhere.objective_[-1] * (1 + 1e-2) + 1e-6


def test_log_det_predicts_the_same_on_the_span(monkeypatch):
    """The divergence makes the minimum unique, so that both fits must find the same votes, of new rows too."""
    X, y = rows(24, 30)
    new, _ = rows(200, 30, seed=1)
    predictions = []
    for on_span in (True, False):
        monkeypatch.setattr(RegularisedLMNN, "_optimal_in_span", on_span)
        learner = LogDetLMNN(weight=0.1).fit(X, y)
        predictions.append(KNeighborsClassifier(3).fit(learner.transform(X), y).predict(learner.transform(new)))
    assert (predictions[0] == predictions[1]).mean() >= 0.99


@pytest.mark.parametrize("name", ["AML", "SCML"])
def test_span_changes_no_distance(name, monkeypatch):
    """What AML and SCML learn on the span is what they learn over all features, where only the ridge is seen."""
    X, y = rows(24, 30)
    triplets = AML().find_triplets(X, y).rows
    within = OTHERS[name].fit(X, triplets=triplets).transform(X)
    if name == "SCML":
        monkeypatch.setattr(SCML, "_optimal_in_span", False)
    else:
        X = np.vstack([X, X[:8]])  # with as many rows as features no span is taken
    everywhere = OTHERS[name].fit(X, triplets=triplets).transform(X[:24])
    gaps = [np.linalg.norm(Z[:, None] - Z, axis=2) for Z in (within, everywhere)]
    np.testing.assert_allclose(gaps[0], gaps[1], rtol=1e-6, atol=1e-9 * gaps[1].max())


def test_span_is_left_where_a_basis_points_out_of_it():
    X, y = rows(10, 30)
    given = np.eye(30)[:12]
    learner = SCML(basis=given, init=np.ones(12)).fit(X, y)
    assert learner.components_.shape[1] == 30
    assert not hasattr(learner, "_basis_in_span")


def test_span_with_a_start_a_shape_and_a_rank():
    X, y = rows(20, 30)
    shaped = LMNN(perturbation=Perturbation(tau=1.0, shape="variance"), init=np.eye(30)).fit(X, y)
    assert shaped.components_.shape[1] == 30
    with pytest.raises(ValueError, match="init is 20 × 20"):
        LMNN(init=np.eye(20)).fit(X, y)
    with pytest.raises(ValueError, match="rank=31 exceeds the number of features, which is 30"):
        CappedTraceLMNN(rank=31).fit(X, y)
    assert DRIFT(init=np.eye(30)).fit(X, y).disturbances_.shape == (20, 30)


def test_rows_that_are_all_the_same_on_a_span():
    with pytest.warns(ConvergenceWarning, match="zero on this data"):
        LMNN().fit(np.ones((10, 20)), np.arange(10) % 2)


# -- labels that are wrong, among rows that are equally far ---------------------------------------------------


def least_tolerance(X, y, query, k, n_classes):
    """By the definition, over every choice of k points that ranks as nearest."""
    d = ((X - query) ** 2).sum(axis=1)
    kth = np.sort(d)[k - 1]
    near, tied = np.flatnonzero(d < kth), np.flatnonzero(d == kth)
    votes = np.array(
        [
            np.bincount(y[[*near, *chosen]], minlength=n_classes)
            for chosen in itertools.combinations(tied, k - len(near))
        ]
    )
    leads = [(votes[:, c] - np.delete(votes, c, axis=1).max(axis=1)).min() for c in range(n_classes)]
    return max((max(leads) + 1) // 2 - 1, 0)


@pytest.mark.parametrize("seed", range(20))
def test_poisoning_tolerance_is_the_least_over_equally_far_points(seed):
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(6, 12)), int(rng.integers(2, 4))
    X = rng.integers(0, 2, (n, 4)).astype(float)
    y = np.r_[
        np.arange(n_classes), np.where(rng.random(n - n_classes) < 0.75, 0, rng.integers(0, n_classes, n - n_classes))
    ]
    queries, k = rng.integers(0, 2, (10, 4)).astype(float), int(rng.integers(1, n))
    expected = [least_tolerance(X, y, query, k, n_classes) for query in queries]
    ours = CertifiedKNeighborsClassifier(n_neighbors=k).fit(X, y)
    theirs = KNeighborsClassifier(k).fit(X, y)
    assert poisoning_tolerance(ours, queries).tolist() == expected
    assert poisoning_tolerance(theirs, queries, reference=(X, y)).tolist() == expected


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree", "ball_tree"])
def test_no_allowed_number_of_flips_changes_a_vote_among_equals(algorithm):
    """Binary features, where scikit-learn's neighbours among equals are others than ours."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 5)).astype(float)
    y = (X.sum(axis=1) + rng.normal(scale=0.8, size=60) > 2.5).astype(int)
    queries, k = rng.integers(0, 2, (80, 5)).astype(float), 9
    model = KNeighborsClassifier(k, algorithm=algorithm).fit(X, y)
    tolerance, before = poisoning_tolerance(model, queries, reference=(X, y)), model.predict(queries)
    assert tolerance.max() >= 2
    near = model.kneighbors(queries, return_distance=False)
    for flips in (1, 2, 3):
        for row in np.flatnonzero(tolerance >= flips):
            own = [i for i in near[row] if y[i] == before[row]][:flips]  # the flips that hurt most
            poisoned = y.copy()
            poisoned[own] = 1 - before[row]
            again = KNeighborsClassifier(k, algorithm=algorithm).fit(X, poisoned)
            assert again.predict(queries[row : row + 1])[0] == before[row]
