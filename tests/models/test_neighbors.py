import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import normalize
from sklearn.utils.estimator_checks import parametrize_with_checks

from holdfast import LMNN, CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier, FixedMetric, ProxyNCA


@parametrize_with_checks(
    [
        CertifiedKNeighborsClassifier(),
        CertifiedKNeighborsClassifier(LMNN()),
        CertifiedPrototypeClassifier(),
        CertifiedPrototypeClassifier(ProxyNCA(n_proxy_steps=20, random_state=0)),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # checks cut max_iter short
@pytest.mark.filterwarnings("ignore:n_neighbors=3 targets:UserWarning")  # checks fit tiny classes
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.mark.parametrize("k", [1, 3, 5])
def test_agrees_with_scikit_learn_where_votes_are_not_tied(iris, k):
    X, y, X_test, _ = iris
    rng = np.random.default_rng(0)
    M = rng.normal(size=(4, 4))
    learner = FixedMetric(M.T @ M)
    clf = CertifiedKNeighborsClassifier(learner, n_neighbors=k).fit(X, y)
    L = clf.components_
    theirs = KNeighborsClassifier(k).fit(X @ L.T, y)
    votes = theirs.predict_proba(X_test @ L.T)
    tied = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
    np.testing.assert_array_equal(clf.predict(X_test)[~tied], theirs.predict(X_test @ L.T)[~tied])
    np.testing.assert_allclose(clf.predict_proba(X_test), votes, atol=1e-8)


def test_ties_go_to_the_nearest():
    X, y = [[0.0], [1.0], [5.0]], ["c", "b", "a"]
    clf = CertifiedKNeighborsClassifier(n_neighbors=3).fit(X, y)
    assert clf.predict([[0.1], [0.9], [4.0]]).tolist() == ["c", "b", "a"]
    assert clf.classes_[clf.predict_proba([[0.1], [0.9], [4.0]]).argmax(axis=1)].tolist() == ["c", "b", "a"]
    np.testing.assert_allclose(clf.predict_proba([[0.1]]), 1 / 3, atol=1e-8)


def test_of_equally_near_points_the_first_counts():
    clf = CertifiedKNeighborsClassifier(n_neighbors=1).fit([[1.0], [1.0], [-1.0]], [1, 0, 2])
    assert clf.predict([[1.0], [0.0]]).tolist() == [1, 1]


def test_any_linear_transformer_fitted_or_not(iris):
    X, y, X_test, y_test = iris
    nca = NeighborhoodComponentsAnalysis(random_state=0)
    unfitted = CertifiedKNeighborsClassifier(nca).fit(X, y)
    fitted = CertifiedKNeighborsClassifier(clone(nca).fit(X, y)).fit(X, y)
    np.testing.assert_array_equal(unfitted.predict(X_test), fitted.predict(X_test))
    assert not hasattr(nca, "components_")  # what was given is not touched
    learned = LMNN().fit(X, y)
    other = CertifiedKNeighborsClassifier(learned).fit(X[:40], y[:40])
    assert other.learner_ is learned
    assert other.score(X_test, y_test) > 0.5


def test_what_is_not_a_linear_learner_is_refused(iris):
    X, y, *_ = iris
    with pytest.raises(ValueError, match="linear transformer with components_"):
        CertifiedKNeighborsClassifier("lmnn").fit(X, y)
    with pytest.raises(ValueError, match=r"PCA.transform is not X @ components_.T"):
        CertifiedKNeighborsClassifier(PCA(2)).fit(X, y)
    with pytest.raises(ValueError, match="fitted on 4 features, but X has 3"):
        CertifiedKNeighborsClassifier(LMNN().fit(X, y)).fit(X[:, :3], y)
    with pytest.raises(ValueError, match=r"n_neighbors=9 is more than the training rows"):
        CertifiedKNeighborsClassifier(n_neighbors=9).fit(X[:5], y[:5])
    with pytest.raises(ValueError, match="n_neighbors must be an integer"):
        CertifiedKNeighborsClassifier(n_neighbors=0).fit(X, y)


def test_prototypes_are_the_learner_s_or_class_means(iris):
    X, y, X_test, y_test = iris
    means = CertifiedPrototypeClassifier().fit(X, y)
    np.testing.assert_allclose(means.reference_[1], X[y == 1].mean(axis=0))
    learner = ProxyNCA(n_proxies=2, random_state=0)  # made for rows of unit length
    proxies = CertifiedPrototypeClassifier(learner).fit(normalize(X), y)
    assert proxies.reference_.shape == (6, 4)
    assert proxies.score(normalize(X_test), y_test) > 0.9


@pytest.mark.parametrize("method", ["lower", "auto"])
@pytest.mark.parametrize("k", [1, 3, 4])
def test_where_all_are_equally_far_nothing_is_promised(k, method):
    """Under the zero metric no move changes a distance: every pair is a tie, and no attack can be shown."""
    rng = np.random.default_rng(k)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    model = CertifiedKNeighborsClassifier(FixedMetric(np.zeros((3, 3))), n_neighbors=k).fit(X, y)
    certificate = model.certify(X[:5] + 0.1, model.predict(X[:5] + 0.1), method=method)
    assert (certificate.radius == 0).all()
    assert np.isinf(certificate.upper).all()
    assert not certificate.exact.any()
