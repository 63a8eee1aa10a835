import numpy as np
import pytest
from sklearn.datasets import load_wine, make_classification
from sklearn.preprocessing import StandardScaler, normalize

from holdfast import LMNN, CappedTraceLMNN, CertifiedKNeighborsClassifier, Perturbation, Reduced
from holdfast.learn import PoorMetricWarning, knn_triplets


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_its_scale_is_that_of_the_data(wine):
    X, y = wine
    X = X * np.geomspace(0.1, 10, 13)
    loss = LMNN().fit(X, y).perturbation_
    t = knn_triplets(X, y, 3, 10)
    deviations = X.std(axis=0)
    A_0 = np.sqrt(np.mean(deviations**2)) / deviations
    np.testing.assert_allclose(loss.shape, A_0)
    mean = np.mean(((X[t.i] - X[t.l]) ** 2) @ A_0)
    assert loss.tau == pytest.approx(0.25 * np.sqrt(mean))
    assert loss.weight * loss.tau**2 == pytest.approx(0.3)


def test_units_of_the_table_do_not_matter(wine):
    X, y = wine
    small, large = (LMNN().fit(factor * X, y) for factor in (1.0, 2.0**6))
    assert large.perturbation_.tau == pytest.approx(2.0**6 * small.perturbation_.tau)
    M = small.get_mahalanobis_matrix()
    np.testing.assert_allclose(large.get_mahalanobis_matrix() * 4.0**6, M, atol=1e-3 * np.abs(M).max())


def test_it_is_the_same_as_passing_it(wine):
    X, y = wine
    auto = LMNN().fit(X, y)
    assert LMNN(perturbation=auto.perturbation_).fit(X, y).components_.tolist() == auto.components_.tolist()
    assert LMNN(perturbation=None).fit(X, y).perturbation_ is None


def test_the_metric_no_longer_collapses():
    """Where LMNN with mu = 0.5 falls to few directions and far below the Euclidean distance."""
    X, y = make_classification(1600, 40, n_informative=20, n_redundant=5, n_classes=5, class_sep=1.2, random_state=0)
    X = normalize(X)
    train, test = slice(0, 800), slice(800, None)
    with pytest.warns(PoorMetricWarning, match=r"under the Euclidean distance.* Raise mu"):
        plain = LMNN(mu=0.5, perturbation=None).fit(X[train], y[train])
    score = [
        CertifiedKNeighborsClassifier(learner).fit(X[train], y[train]).score(X[test], y[test])
        for learner in (LMNN(), None, plain)
    ]
    assert score[0] > score[1] > score[2]


def test_more_features_than_rows_and_a_reduction(wine):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 60)), np.arange(20) % 2
    assert LMNN().fit(X, y).perturbation_.shape is None
    assert Reduced(LMNN()).fit(*wine).learner_.perturbation_.reduction is None


def test_only_lmnn_knows_auto(wine):
    with pytest.raises(ValueError, match="perturbation must be None or a Perturbation"):
        CappedTraceLMNN(perturbation="auto").fit(*wine)
    with pytest.raises(ValueError, match="'auto', None or a Perturbation"):
        LMNN(perturbation="automatic").fit(*wine)
    assert isinstance(LMNN().fit(*wine).perturbation_, Perturbation)
