"""Contract of every learner exported by holdfast.learn and holdfast.paper: a new one is tested before it has a test."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import holdfast
from holdfast import learn, paper
from holdfast.learn import MetricLearner

LEARNERS = [
    value
    for _, value in sorted((vars(learn) | vars(paper)).items())
    if inspect.isclass(value) and issubclass(value, MetricLearner) and not inspect.isabstract(value)
]
every_learner = pytest.mark.parametrize("Learner", LEARNERS)


@pytest.fixture(scope="module")
def data():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@parametrize_with_checks([Learner() for Learner in LEARNERS])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # checks cut max_iter short
@pytest.mark.filterwarnings("ignore:n_neighbors=3 targets:UserWarning")  # checks fit tiny classes
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@every_learner
def test_is_exported_at_the_root(Learner):
    assert getattr(holdfast, Learner.__name__) is Learner
    assert Learner.__name__ in holdfast.__all__


@every_learner
def test_transform_is_the_metric(Learner, data):
    X, y = data
    learner = Learner().fit(X, y)
    M = learner.get_mahalanobis_matrix()
    pairs = np.stack([X[:50], X[50:100]], axis=1)
    expected = np.sqrt(np.einsum("np,pq,nq->n", X[:50] - X[50:100], M, X[:50] - X[50:100]))
    np.testing.assert_allclose(learner.pair_distance(pairs), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(learner.pair_score(pairs), -learner.pair_distance(pairs))
    between = np.linalg.norm(learner.transform(X[:50]) - learner.transform(X[50:100]), axis=1)
    np.testing.assert_allclose(between, expected, rtol=1e-9, atol=1e-12)
    metric = learner.get_metric()
    assert metric(X[0], X[50]) == pytest.approx(expected[0])
    assert metric(X[0], X[50], squared=True) == pytest.approx(expected[0] ** 2)
    assert np.linalg.eigvalsh(M)[0] >= -1e-12 * np.linalg.eigvalsh(M)[-1]
    np.testing.assert_allclose(learner.components_.T @ learner.components_, M)


@every_learner
def test_pandas_in_and_out(Learner, data):
    X, y = data
    frame = pd.DataFrame(X, columns=["sl", "sw", "pl", "pw"])
    learner = Learner().set_output(transform="pandas").fit(frame, y)
    out = learner.transform(frame)
    assert list(learner.feature_names_in_) == list(frame.columns)
    assert list(out.columns) == list(learner.get_feature_names_out())
    np.testing.assert_allclose(out.to_numpy(), X @ learner.components_.T)


@every_learner
def test_same_result_again_cloned_pickled_and_threaded(Learner, data):
    X, y = data
    learner = Learner()
    if "n_jobs" in learner.get_params():
        learner.set_params(n_jobs=1)
    if "random_state" in learner.get_params():
        learner.set_params(random_state=0)
    first = learner.fit(X, y).components_
    np.testing.assert_array_equal(clone(learner).fit(X, y).components_, first)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(learner)).components_, first)
    if "n_jobs" in learner.get_params():
        np.testing.assert_array_equal(clone(learner).set_params(n_jobs=2).fit(X, y).components_, first)


@every_learner
def test_tiny_and_odd_input_types(Learner, data):
    X, y = data
    reference = Learner().fit(X, y)
    fortran = np.asfortranarray(X)
    frozen = X.copy()
    frozen.setflags(write=False)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    for points, labels in ((fortran, y), (frozen, y), (X, names), (X.tolist(), y.tolist())):
        learner = Learner()
        if "random_state" in learner.get_params():
            learner.set_params(random_state=0)
            reference.set_params(random_state=0).fit(X, y)
        np.testing.assert_allclose(
            learner.fit(points, labels).get_mahalanobis_matrix(), reference.get_mahalanobis_matrix()
        )
    for points in (X.astype(np.float32), np.round(4 * X).astype(int), X > 0):
        out = Learner().fit(points, y).transform(points)
        assert out.dtype == np.float64
        assert np.isfinite(out).all()


@every_learner
def test_constant_columns_and_duplicates_train(Learner, data):
    X, y = data
    rows = np.r_[0:30, 50:80, 100:130]
    X = np.column_stack([X, np.ones(len(X))])[rows]
    X = np.vstack([X, X[:5], X[:5]])  # duplicates within, and across, classes
    y = np.concatenate([y[rows], y[rows][:5], 1 + y[rows][:5]])
    learner = Learner().fit(X, y)
    assert np.isfinite(learner.components_).all()
    assert np.abs(learner.get_mahalanobis_matrix()[:4, :4]).max() > 1e-3


@every_learner
def test_more_features_than_samples(Learner):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 30)), np.repeat([0, 1, 2], 4)
    assert np.isfinite(Learner().fit(X, y).transform(X)).all()


@every_learner
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(Learner, data, bad):
    X, y = data
    X = X.copy()
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        Learner().fit(X, y)


@every_learner
def test_wrong_number_of_columns_is_refused(Learner, data):
    X, y = data
    learner = Learner().fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features"):
        learner.transform(X[:, :3])
    with pytest.raises(ValueError, match=r"shape \(n_pairs, 2, 4\)"):
        learner.pair_distance(X[:4])


@every_learner
def test_in_a_pipeline_and_a_grid_search(Learner, data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), Learner(), KNeighborsClassifier(3))
    grid = {"kneighborsclassifier__n_neighbors": [1, 3]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.85


@every_learner
def test_what_is_precomputed_changes_nothing(Learner, data):
    X, y = data
    learner = Learner()
    if "random_state" in learner.get_params():
        learner.set_params(random_state=0)
    expected = clone(learner).fit(X, y).components_
    found = learner.precompute(X, y).fit(clone(learner), X, y).components_
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)  # given bases are scaled to unit norm again


@every_learner
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_is_a_set_of_parameters(Learner, data):
    X, y = data
    learner = Learner().fit(X, y)
    again = clone(learner).set_params(**learner.warm_start()).fit(X, y)
    if "init" in learner.warm_start() and "triplets" in learner.precompute(X, y).arguments:
        assert again.objective_[0] <= learner.objective_[0] * (1 + 1e-9)


def test_abstract_learners_cannot_be_made():
    for abstract in (MetricLearner, learn.TripletLearner, learn.TermLearner):
        with pytest.raises(TypeError, match="abstract"):
            abstract()


def test_a_subclass_inherits_the_ranges():
    class Mine(holdfast.LMNN):
        """LMNN by another name."""

    assert set(paper.default_ranges(Mine(perturbation=holdfast.Perturbation()))) == {
        "mu",
        "perturbation__tau",
        "perturbation__weight",
    }
