import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from holdfast import CertifiedKNeighborsClassifier, RobustClassifierCV, Threat, certify, load, save
from holdfast.selection import robust_classifier
from holdfast.selection.families import FAMILIES, Facts
from holdfast.selection.halving import WORK, Criterion, Trial, climb, run_trials, thinned

FAST = ["linear", "euclidean"]


@parametrize_with_checks([RobustClassifierCV(candidates=["linear"], cv=2, random_state=0)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(
        160, 6, n_informative=4, n_redundant=0, n_clusters_per_class=2, class_sep=1.2, flip_y=0.05, random_state=3
    )
    return X, y


@pytest.fixture(scope="module")
def search(rows):
    X, y = rows
    return RobustClassifierCV(0.3, n_draws=2, cv=3, random_state=0).fit(X[:110], y[:110])


def test_every_family_was_tried_to_the_end(search):
    results = search.cv_results_
    last = results["rung"] == results["rung"].max()
    assert set(results["family"]) == set(results["family"][last]) == set(FAMILIES)


def test_folds_are_repeated_where_rows_are_few(monkeypatch):
    monkeypatch.setattr(robust_classifier, "_REPEATS", 3)  # other tests make folds once
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1001, 2)), rng.integers(0, 2, 1001)
    search = RobustClassifierCV(candidates=["linear"], cv=3, random_state=0)
    assert [clone(search).fit(X[:n], y[:n]).n_splits_ for n in (1000, 1001)] == [9, 3]
    assert search.set_params(cv=StratifiedKFold(4)).fit(X[:100], y[:100]).n_splits_ == 4


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_progress_counts_every_trial(rows, backend):
    """Where tasks share our memory, their trials count as they end; otherwise a task counts when it is back."""
    X, y = rows
    seen = []
    with parallel_config(backend=backend):
        RobustClassifierCV(
            0.3, candidates=["linear"], n_draws=4, cv=2, n_jobs=2, random_state=0,
            progress=lambda done, total: seen.append((done, total)),
        ).fit(X, y)  # fmt: skip
    done = [each for each, _ in seen]
    assert done == sorted(done)
    assert seen[-1] == (300, 300)
    assert len(set(done)) > (6 if backend == "threading" else 2)


def test_the_best_is_what_the_tie_rule_says(search):
    results = search.cv_results_
    last = np.flatnonzero(results["rung"] == results["rung"].max())
    np.testing.assert_allclose(
        results["mean_test_score"], 0.7 * results["mean_certified"] + 0.3 * results["mean_accuracy"]
    )
    best = results["mean_test_score"][last].max()
    equal = last[results["mean_test_score"][last] >= best - 0.01 - 1e-9]
    assert search.best_index_ in equal
    assert results["mean_accuracy"][search.best_index_] == results["mean_accuracy"][equal].max()
    assert search.best_params_ == results["params"][search.best_index_]
    assert search.best_certified_ == results["mean_certified"][search.best_index_]
    assert repr(search.candidate(search.best_index_)) == repr(clone(search.best_estimator_))


@pytest.mark.parametrize("threat", [None, Threat(np.inf, frozen=[0]), Threat(lower=-2.5)], ids=["L2", "Linf", "box"])
def test_scores_are_those_of_the_refitted_candidate(rows, threat):
    """One pass serves all heads of a metric; a candidate made from scratch and certified alone must score the same."""
    X, y = rows[0][:110], rows[1][:110]
    train, test = np.arange(70), np.arange(70, 110)
    facts = Facts(70, 6, 0.3, 0.3, 1.0)
    names = FAMILIES if threat is None else ["euclidean", "lmnn"]
    for family in map(FAMILIES.__getitem__, names):
        recipe = family.draws(np.random.RandomState(0), facts, 1)[0]
        heads = list(range(len(recipe.heads)))[::4]
        ((verdicts, _),) = run_trials(
            [Trial(recipe, heads)], X, y, train, test, Criterion(1.0, 0.3, threat), len(heads)
        )
        for h, found in zip(heads, verdicts, strict=True):
            model = recipe.classifier(recipe.heads[h]).fit(X[train], y[train])
            own = certify(model, X[test], y[test], threat=threat, at=0.3, budget=WORK, witness=False)
            accuracy = np.mean(own.prediction == y[test])
            np.testing.assert_allclose(found, [own.certified_accuracy(), accuracy])


def test_heads_that_promise_little_keep_the_fast_bound(rows):
    X, y = rows[0][:110], rows[1][:110]
    train, test = np.arange(70), np.arange(70, 110)
    recipe = FAMILIES["euclidean"].draws(None, Facts(70, 6, 0.3, 0.3, 1.0), 1)[0]
    every = list(range(len(recipe.heads)))
    found = [
        np.array(run_trials([Trial(recipe, every)], X, y, train, test, Criterion(1.0, 0.3), n)[0][0])
        for n in (0, 3, len(every))
    ]
    assert (found[0] <= found[1]).all()
    assert (found[1] <= found[2]).all()
    assert 1 <= np.sum(found[1][:, 0] > found[0][:, 0]) <= 3 < np.sum(found[2][:, 0] > found[0][:, 0])
    for h, (certified, accuracy) in zip(every, found[0], strict=True):
        model = recipe.classifier(recipe.heads[h]).fit(X[train], y[train])
        own = certify(model, X[test], y[test], method="lower", witness=False)
        assert certified == pytest.approx(own.certified_accuracy(radii=0.3), abs=1e-9)
        assert accuracy == pytest.approx(own.certified_accuracy(radii=0.0))


def test_classes_can_count_alike(rows):
    X, y = rows
    rare = np.flatnonzero((y == 0) | (np.arange(len(y)) % 8 == 0))
    X, y = X[rare], y[rare]
    assert np.mean(y) < 0.2
    found = RobustClassifierCV(0.3, candidates=FAST, average="macro", random_state=0).fit(X, y)
    plain = RobustClassifierCV(0.3, candidates=FAST, random_state=0).fit(X, y)
    assert found.best_accuracy_ > 0.5  # a constant answer has one half
    recalls = [np.mean(model.predict(X)[y == 1] == 1) for model in (found, plain)]
    assert recalls[0] > recalls[1]
    assert "balanced" in str(found.cv_results_["params"])
    assert "balanced" not in str(plain.cv_results_["params"])


def test_it_certifies_more_than_neighbours_at_their_defaults(rows, search):
    X, y = rows
    ours = search.certify(X[110:], y[110:], witness=False).certified_accuracy(radii=0.3)
    plain = CertifiedKNeighborsClassifier().fit(X[:110], y[:110])
    assert ours > plain.certify(X[110:], y[110:], witness=False).certified_accuracy(radii=0.3)
    assert (search.predict(X[110:]) == search.best_estimator_.predict(X[110:])).all()


def test_the_result_depends_on_the_seed_alone(rows):
    X, y = rows
    fits = [
        RobustClassifierCV(0.3, candidates=["lmnn"], n_draws=1, cv=2, n_jobs=n, random_state=5).fit(X, y)
        for n in (None, 2)
    ]
    assert fits[0].best_params_ == fits[1].best_params_
    np.testing.assert_array_equal(fits[0].cv_results_["mean_certified"], fits[1].cv_results_["mean_certified"])


def test_objective_trades_certified_for_accuracy(rows):
    X, y = rows
    found = [
        RobustClassifierCV(0.8, candidates=FAST, objective=w, random_state=0).fit(X, y)
        for w in ("certified", "balanced", 0.0)
    ]
    assert found[0].best_certified_ >= found[2].best_certified_
    assert found[2].best_accuracy_ >= found[0].best_accuracy_
    assert found[1].best_score_ == pytest.approx(0.5 * found[1].best_certified_ + 0.5 * found[1].best_accuracy_)


def test_own_classifiers_threats_and_pipelines():
    X, y = load_iris(return_X_y=True)
    own = [LogisticRegression(C=C, max_iter=500) for C in (0.1, 10.0)]
    threat = Threat(np.inf)
    search = RobustClassifierCV(0.1, threat, own, cv=3, random_state=0)
    model = make_pipeline(StandardScaler(), search).fit(X[::2], y[::2])
    assert search.best_params_["family"] == "LogisticRegression"
    assert search.certify(StandardScaler().fit(X[::2]).transform(X[1::2])).norm == "linf"
    assert cross_val_score(model, X, y, cv=3).mean() > 0.85


def test_thinned_folds_keep_every_class():
    y = np.r_[np.zeros(900, int), np.ones(90, int), np.full(10, 2)]
    train, test = thinned((np.arange(0, 1000, 2), np.arange(1, 1000, 2)), 100, y)
    assert (len(train), len(test)) == (100, 50)
    assert set(y[train]) == set(y[test]) == {0, 1, 2}


def test_a_second_rung_on_more_rows_runs_again(monkeypatch):
    X, y = make_classification(300, 5, random_state=0)
    from holdfast.selection import halving as rungs

    monkeypatch.setattr(rungs, "RUNGS", (rungs.Rung(50, 2, overall=0.2), rungs.Rung(200)))
    splits = [(np.arange(0, 300, 2), np.arange(1, 300, 2)), (np.arange(1, 300, 2), np.arange(0, 300, 2))]
    recipes = FAMILIES["linear"].draws(None, Facts(150, 5, 0.1, 0.1, 1.0), 1)
    table = climb(recipes, X, y, splits, Criterion(1.0, 0.1), None, lambda *_: None)
    on_last = [c for c, rung in table.rung.items() if rung == 1]
    assert 2 <= len(on_last) < len(recipes)
    assert {len(v) for v in table.verdicts.values()} == {2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"radius": 0.0}, "radius"),
        ({"candidates": ["forest"]}, "linear, euclidean"),
        ({"candidates": []}, "candidates"),
        ({"objective": 2.0}, "objective"),
        ({"objective": "best"}, "objective"),
        ({"n_draws": 0}, "n_draws"),
        ({"average": "rare"}, "average"),
    ],
)
def test_wrong_parameters_are_named(rows, arguments, message):
    with pytest.raises(ValueError, match=message):
        RobustClassifierCV(**arguments).fit(*rows)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_chosen_can_be_stored(rows, family, tmp_path):
    X, y = rows
    recipes = FAMILIES[family].draws(np.random.RandomState(0), Facts(160, 6, 0.3, 0.3, 1.0), 1)
    for k, recipe in enumerate({recipes[0], recipes[-1]}):  # linear: a logistic regression and a support vector machine
        model = make_pipeline(StandardScaler(), recipe.classifier(recipe.heads[-1])).fit(X, y)
        again = load(save(model, tmp_path / f"{k}.holdfast"))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
