"""The paper's random search: ranges, reproducibility, the scikit-learn face."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

import holdfast
from holdfast import LMNN, SCML, CappedTraceLMNN, MarginLVQ, Perturbation, ProxyNCA, learn
from holdfast.certificates import CertifiedAccuracy
from holdfast.learn import adversarial_margin, knn_triplets
from holdfast.paper import SPACES, PerturbationSearchCV, default_ranges, g_mean


@pytest.fixture(scope="module")
def data():
    X, y = load_iris(return_X_y=True)
    X = normalize(StandardScaler().fit_transform(X))
    rows = np.random.default_rng(0).permutation(150)[:90]
    return X[rows], np.array(["setosa", "versicolor", "virginica"])[y[rows]]


def test_ranges_are_the_paper_s(data):
    X, y = data
    folds = [(np.arange(60), np.arange(60, 90))]
    found = PerturbationSearchCV(LMNN(perturbation=Perturbation()), cv=folds, random_state=0).fit(X, y)
    t = knn_triplets(X, y)
    margins = np.abs(adversarial_margin(np.eye(4), X[t.i], X[t.j], X[t.l]))
    assert found.tau_max_ == pytest.approx(np.percentile(margins, 90))
    assert len(found.cv_results_["params"]) == 50
    for drawn in found.cv_results_["params"]:
        assert 0.1 <= drawn["mu"] <= 0.9
        assert 0 < drawn["perturbation__tau"] <= found.tau_max_
        assert 0 < drawn["perturbation__weight"] <= 4 / drawn["perturbation__tau"] ** 2
    taus = [drawn["perturbation__tau"] for drawn in found.cv_results_["params"]]
    assert max(taus) > 0.8 * found.tau_max_
    assert min(taus) < 0.2 * found.tau_max_


def test_results_agree_with_fits_by_hand(data):
    X, y = data
    folds = [(np.arange(60), np.arange(60, 90))]  # a validation part
    found = PerturbationSearchCV(LMNN(), cv=folds).fit(X, y)
    assert [p["mu"] for p in found.cv_results_["params"]] == SPACES["LMNN"]["mu"]
    for k, parameters in enumerate(found.cv_results_["params"]):
        learner = LMNN(**parameters).fit(X[:60], y[:60])
        knn = KNeighborsClassifier(3).fit(learner.transform(X[:60]), y[:60])
        right = knn.predict(learner.transform(X[60:])) == y[60:]
        # Three neighbours of three classes are a tie, which scikit-learn gives to the first class.
        assert abs(found.cv_results_["mean_test_score"][k] - right.mean()) <= 2 / 30
    best = np.argmax(found.cv_results_["mean_test_score"])
    assert found.best_index_ == best
    assert found.best_score_ == found.cv_results_["mean_test_score"][best]
    assert found.cv_results_["rank_test_score"][best] == 1
    np.testing.assert_array_equal(found.best_estimator_.components_, LMNN(**found.best_params_).fit(X, y).components_)
    assert found.score(X, y) > 0.8
    assert found.transform(X).shape[0] == 90


def test_reproducible_on_any_number_of_processes(data):
    X, y = data
    one, two = (
        PerturbationSearchCV(
            SCML(n_basis=20, perturbation=Perturbation(), random_state=0),
            n_draws=4,
            cv=2,
            random_state=3,
            n_jobs=n_jobs,
        ).fit(X, y)
        for n_jobs in (1, 2)
    )
    assert one.best_params_ == two.best_params_
    np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # collapse, in the final fit
@pytest.mark.parametrize("name", sorted(SPACES))
def test_every_method_has_ranges_that_work(name, data):
    X, y = data
    base, _, loss = name.partition("-")
    learner = getattr(holdfast, base)()
    if loss or base in ("LMNN", "ProxyNCA"):
        learner.set_params(perturbation=Perturbation() if loss else None)
    if "random_state" in learner.get_params():
        learner.set_params(random_state=0)
    found = PerturbationSearchCV(learner, n_draws=3, cv=2, random_state=0).fit(X, y)
    assert found.best_score_ > 0.5
    assert ("perturbation__tau" in found.best_params_) == bool(loss)
    fitted = getattr(found.best_estimator_, "perturbation", None)
    assert (fitted is not None) == bool(loss)


def test_stages_build_on_each_other(data):
    X, y = data
    found = PerturbationSearchCV(CappedTraceLMNN(perturbation=Perturbation()), n_draws=20, cv=2, random_state=0).fit(
        X, y
    )
    rows = found.cv_results_["params"]
    first = [k for k, p in enumerate(rows) if p.get("perturbation", 0) is None]
    assert len(first) == 20  # 5 weights × 4 ranks
    best = rows[max(first, key=lambda k: found.cv_results_["mean_test_score"][k])]
    for k in set(range(len(rows))) - set(first):
        assert (rows[k]["weight"], rows[k]["rank"]) == (best["weight"], best["rank"])
    assert len(rows) == 30


def test_halving_keeps_a_quarter(data):
    X, y = data
    learner = LMNN(perturbation=Perturbation())
    found = PerturbationSearchCV(learner, n_draws=12, cv=2, random_state=0, halving=True).fit(X, y)
    assert sorted(found.cv_results_["n_iterations"].tolist()) == [0] * 3 + [5] * 6 + [15] * 3
    assert found.cv_results_["n_iterations"][found.best_index_] == 0
    whole = PerturbationSearchCV(learner, n_draws=12, cv=2, random_state=0).fit(X, y)
    assert found.best_score_ >= whole.best_score_ - 0.05


def test_scoring(data):
    X, y = data
    kept = {"n_draws": 2, "cv": 2, "random_state": 0, "space": {"mu": [0.3, 0.7]}}
    accuracy = PerturbationSearchCV(LMNN(), **kept).fit(X, y)
    named = PerturbationSearchCV(LMNN(), scoring="balanced_accuracy", **kept).fit(X, y)
    called = PerturbationSearchCV(LMNN(), scoring=lambda clf, X, y: clf.score(X, y), **kept).fit(X, y)
    geometric = PerturbationSearchCV(LMNN(), scoring="g_mean", **kept).fit(X, y)
    assert accuracy.best_score_ == pytest.approx(called.best_score_, abs=0.05)
    assert 0.5 < geometric.best_score_ <= 1
    assert 0.5 < named.best_score_ <= 1
    assert g_mean(["a", "a", "b"], ["a", "b", "b"]) == pytest.approx(np.sqrt(0.5))


@pytest.mark.parametrize("learner", [ProxyNCA(random_state=0), MarginLVQ(random_state=0)])
def test_prototypes_vote(data, learner):
    X, y = data
    found = PerturbationSearchCV(learner, n_draws=3, cv=2, random_state=0).fit(X, y)
    best = found.best_estimator_
    nearest = KNeighborsClassifier(1).fit(best.transform(best.prototypes_), best.prototype_labels_)
    np.testing.assert_array_equal(found.predict(X), nearest.predict(best.transform(X)))
    assert set(found.best_params_) == set(default_ranges(learner))


def test_it_is_a_scikit_learn_object(data, capsys):
    X, y = data
    inner = PerturbationSearchCV(LMNN(), space={"mu": [0.5]}, cv=2, verbose=1)
    assert clone(inner).get_params()["estimator__mu"] == LMNN().mu
    model = make_pipeline(StandardScaler(), inner).fit(X, y)
    assert model.score(X, y) > 0.8
    assert "2 of 2 fits" in capsys.readouterr().out
    with pytest.raises(AttributeError, match="refit=False"):
        clone(inner).set_params(refit=False).fit(X, y).predict(X)


def test_bad_input_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="tunes learners of holdfast"):
        PerturbationSearchCV(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="n_draws must be"):
        PerturbationSearchCV(LMNN(), n_draws=0).fit(X, y)
    with pytest.raises(ValueError, match="no default ranges for Reduced"):
        PerturbationSearchCV(learn.Reduced()).fit(X, y)


def test_selects_by_certified_accuracy():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = normalize(StandardScaler().fit_transform(X))[::3], y[::3]
    learner = LMNN(perturbation=Perturbation())
    settings = {"n_draws": 4, "cv": 2, "random_state": 0}
    certified = PerturbationSearchCV(learner, scoring=CertifiedAccuracy(0.2), **settings).fit(X, y)
    plain = PerturbationSearchCV(learner, **settings).fit(X, y)
    # The same candidates, on the same folds: being certified is being right, and more.
    assert (certified.cv_results_["mean_test_score"] <= plain.cv_results_["mean_test_score"] + 1e-12).all()
    certificate = certified.classifier_.certify(X[:20], y[:20], method="lower")
    assert (certificate.radius >= 0).all()
