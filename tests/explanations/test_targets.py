"""A class that is asked for, against programs of other solvers; slack, few features, several answers."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    StandardScaler,
)

from holdfast import CertifiedKNeighborsClassifier, Euclidean, Threat, certify, counterfactuals

X, y = load_iris(return_X_y=True)
TRAIN, ROWS = (X[::2], y[::2]), X[1::10]


def linf_distance(A, b):
    """``min max|δ| : A δ ≥ b``."""
    d = A.shape[1]
    eye, one = np.eye(d), np.ones((d, 1))
    matrix = np.block([[-A, np.zeros((len(A), 1))], [eye, -one], [-eye, -one]])
    found = linprog(
        [0] * d + [1], matrix, np.concatenate([-b, np.zeros(2 * d)]), bounds=[(None, None)] * d + [(0, None)]
    )
    return found.fun if found.status == 0 else np.inf


def test_a_class_of_several_for_one_neighbour_is_exact():
    """All points of the class, all points of the others: one program each."""
    model = CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=1).fit(*TRAIN)
    rows = ROWS[::3]
    for target in range(3):
        found = counterfactuals(model, rows, target, threat=Threat(np.inf), near_data=False, rounding=0.0, n_jobs=1)
        own, others = X[::2][y[::2] == target], X[::2][y[::2] != target]
        for t in np.flatnonzero(found.prediction != target):
            truth = np.inf
            for near in own:
                A = near - others
                truth = min(
                    truth, linf_distance(A, 0.5 * ((near - others) * (near + others - 2 * rows[t])).sum(axis=1))
                )
            assert found.lower_bound[t] <= truth * (1 + 1e-9)
            assert found.size[t] == pytest.approx(truth, rel=1e-3)
            assert found.closest[t]


def test_a_class_of_several_for_several_neighbours_is_proven_closest():
    """Lemma K2; the bound of any change would be far below."""
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(3)).fit(*TRAIN)
    rows = ROWS[:4]
    found = counterfactuals(model, rows, 2, reference=TRAIN, near_data=False)
    any_change = certify(model, rows, reference=TRAIN).radius
    assert (model.predict(found.points) == 2).all()
    assert found.closest.all()
    assert (found.lower_bound > 1.2 * any_change).all()


def test_a_class_of_several_for_a_linear_model_is_exact():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(*TRAIN)
    scale, mean = model[0].scale_, model[0].mean_
    W = model[1].coef_ / scale
    b = model[1].intercept_ - W @ mean
    for target in range(3):
        found = counterfactuals(model, ROWS, target, threat=Threat(np.inf), rounding=0.0)
        for t in np.flatnonzero(found.prediction != target):
            score = W @ ROWS[t] + b
            others = [c for c in range(3) if c != target]
            truth = linf_distance(W[target] - W[others], score[others] - score[target])
            assert found.lower_bound[t] <= truth * (1 + 1e-9)
            assert found.size[t] == pytest.approx(truth, rel=1e-4)
            assert found.closest[t]


def test_targets_for_each_row_and_rows_that_have_it():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(*TRAIN)
    targets = np.arange(len(ROWS)) % 3
    found = counterfactuals(model, ROWS, targets)
    assert (model.predict(found.points) == targets).all()
    has = found.prediction == targets
    assert (found.status[has] == "already").all()
    assert (found.points[has] == ROWS[has]).all()
    assert found.closest[has].all()


def test_slack_holds_and_the_linear_bound_meets_it():
    """Lemma K1: an answer that holds within r is at least r farther than the nearest change."""
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(*TRAIN)
    plain = counterfactuals(model, ROWS, rounding=0.0)
    found = counterfactuals(model, ROWS, slack=0.2, rounding=0.0)
    assert found.valid.all()
    assert found.closest.all()
    assert (certify(model, found.points).radius >= 0.2).all()
    assert (found.lower_bound >= plain.lower_bound + 0.2 - 1e-9).all()
    assert (found.size >= plain.lower_bound + 0.2 - 1e-9).all()


def test_slack_for_neighbours():
    model = CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=3).fit(*TRAIN)
    found = counterfactuals(model, ROWS, slack=0.1, near_data=False)
    assert found.valid.mean() > 0.8
    assert (certify(model, found.points[found.valid]).radius >= 0.1).all()
    assert (found.size >= found.lower_bound).all()
    plain = counterfactuals(model, ROWS, near_data=False)
    assert (found.size >= plain.lower_bound + 0.1 - 1e-9).all()


def test_few_features_are_the_best_of_all_sets():
    """Against each pair of features on its own."""
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(3)).fit(*TRAIN)
    rows = ROWS[:6]
    found = counterfactuals(model, rows, reference=TRAIN, near_data=False, max_features=2, rounding=0.0)
    assert ((found.points != rows).sum(axis=1) <= 2).all()
    best = np.full(len(rows), np.inf)
    for pair in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)):
        frozen = [i for i in range(4) if i not in pair]
        best = np.minimum(best, certify(model, rows, threat=Threat(frozen=frozen), reference=TRAIN).upper)
    np.testing.assert_allclose(found.size, best, rtol=1e-3)
    assert found.closest.all()


def test_few_of_many_features_by_elimination():
    data, labels = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(data, labels)
    threat = Threat(unit=data.std(axis=0))
    found = counterfactuals(model, data[:8], threat=threat, max_features=6)
    free = counterfactuals(model, data[:8], threat=threat)
    assert found.valid.all()
    assert ((found.points != data[:8]).sum(axis=1) <= 6).all()
    assert (found.size >= free.lower_bound).all()
    assert np.median(found.size / free.size) < 1.6


def test_further_answers_differ():
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(1)).fit(*TRAIN)
    unit = X.std(axis=0)
    found = counterfactuals(model, ROWS[:5], reference=TRAIN, threat=Threat(unit=unit), n=3)
    moved = np.abs(found.values - ROWS[:5][found.row]) / unit
    for row in range(5):
        own = moved[(found.row == row) & found.valid]
        for earlier, later in pairwise(own):
            assert later[earlier.argmax()] == 0
    towards = counterfactuals(model, ROWS[:5], reference=TRAIN, threat=Threat(unit=unit), n=2, diverse="points")
    second = towards.valid[1::2]
    assert second.any()
    assert (towards.size[1::2][second] >= towards.lower_bound[::2][second]).all()
    assert (towards.points[::2][second] != towards.points[1::2][second]).any(axis=1).all()


def test_near_data():
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(3)).fit(*TRAIN)
    found = counterfactuals(model, ROWS, reference=TRAIN, near_data=True)
    places, known = model[0].transform(found.points[found.valid]), model[0].transform(TRAIN[0])
    nearest = np.linalg.norm(places[:, None] - known, axis=2).min(axis=1)
    between = np.linalg.norm(known[:, None] - known, axis=2) + np.diag(np.full(len(known), np.inf))
    assert (nearest <= np.quantile(between.min(axis=1), 0.95) + 1e-12).all()
    assert ((found.points >= TRAIN[0].min(axis=0)) & (found.points <= TRAIN[0].max(axis=0)))[found.valid].all()
    assert found.valid.mean() > 0.8


def test_rows_without_an_answer_say_why():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(*TRAIN)
    with pytest.warns(UserWarning, match="lets nothing move"):
        found = counterfactuals(model, ROWS[:3], threat=Threat(frozen=[0, 1, 2, 3]))
    assert (found.status == "impossible").all()
    assert np.isinf(found.lower_bound).all()
    assert found.sentences()[0] == "to be anything but 0: no possible change does it, which is proven"
    far = counterfactuals(model, ROWS[:3], 2, threat=Threat(lower=ROWS.min() - 1.0, upper=ROWS[:3].max(axis=0)))
    assert set(far.status) <= {"impossible", "found"}


def test_what_cannot_be_asked_is_refused():
    model = LogisticRegression(max_iter=500).fit(*TRAIN)
    for options, words in (
        ({"target": 7}, "none of the model's classes: 0, 1, 2"),
        ({"target": [0, 1]}, "one for each of the 8 rows"),
        ({"n": 0}, "n must be an integer of at least 1"),
        ({"slack": -1.0}, "slack must be a number at least 0"),
        ({"max_features": 0}, "max_features must be an integer"),
        ({"diverse": "colours"}, "diverse must be 'features' or 'points'"),
        ({"near_data": True}, "near_data=True needs the data"),
        ({"rounding": 1.0}, "rounding must be a number"),
    ):
        with pytest.raises(ValueError, match=words):
            counterfactuals(model, ROWS[:8], **options)


@pytest.mark.parametrize(
    "chain", [PowerTransformer(), MinMaxScaler((0, 0.5), clip=True), KBinsDiscretizer(4, strategy="uniform")]
)
@pytest.mark.parametrize("options", [{"target": 2}, {"slack": 0.05}], ids=str)
def test_behind_a_monotone_step_the_bound_is_that_of_any_change(chain, options):
    """Lemma K3: rows of an affine map of the features would call answers impossible that are there."""
    model = make_pipeline(chain, LogisticRegression(max_iter=500)).fit(X, y)
    found = counterfactuals(model, ROWS, reference=(X, y), near_data=False, **options)
    radius, slack = certify(model, ROWS).radius, options.get("slack", 0.0)
    already = found.status == "already"
    assert (found.lower_bound <= np.minimum(radius + slack, found.size) * (1 + 1e-12))[~already].all()
    assert (found.lower_bound >= np.minimum(radius, found.size))[~already].all()
    assert found.valid.mean() > 0.9


def test_a_place_with_another_class_bounds_no_third_class():
    """A word that changes reaches class 1 at once, where it does not hold; class 2 is held nearer."""
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0] * 3, "w": ["p"] * 6 + ["q"] * 6})
    model = make_pipeline(
        ColumnTransformer([("w", OneHotEncoder(), ["w"]), ("n", "passthrough", ["a"])]), LogisticRegression()
    )
    model.fit(frame, [0, 1, 2] * 4)
    model[-1].coef_ = np.array([[9.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.3, 2.0]])  # scores of p, q, a
    model[-1].intercept_ = np.array([0.0, 0.0, -0.5])
    row = pd.DataFrame({"a": [0.1], "w": ["p"]})
    threat = Threat(np.inf, free={"w": ["p", "q"]})
    found = counterfactuals(model, row, threat=threat, slack=0.5, near_data=False, rounding=0.0)
    assert found.lower_bound[0] <= 0.6  # a = 0.7 and q: class 2 from a = 0.2 on
    assert found.size[0] >= found.lower_bound[0]


def test_a_vote_by_distance_that_nothing_changes_is_answered():
    """One feature, three classes, and no change in sight: the nearest point of another class says where to walk."""
    points, labels = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [9.0]]), [2, 2, 2, 0, 0, 1]
    model = KNeighborsClassifier(3, weights="distance").fit(points, labels)
    threat = Threat(lower=-0.1, upper=2.6)
    found = counterfactuals(model, points[:2], threat=threat, reference=(points, labels), near_data=False)
    assert (found.lower_bound <= found.size).all()


def test_arrays_behind_a_function():
    model = make_pipeline(FunctionTransformer(np.log1p), LogisticRegression(max_iter=500)).fit(X, y)
    found = counterfactuals(model, ROWS, 2, reference=(X, y))
    assert found.points.dtype == np.float64
    assert (model.predict(found.points[found.valid]) == 2).all()
    listed = counterfactuals(model, ROWS.tolist(), 2, reference=(X, y))
    np.testing.assert_array_equal(listed.points, found.points)


def test_gaps_of_the_reference_are_no_zeros():
    """Values stay within the range of the data, and a gap is no value: class 0 would be reached far below it."""
    data = X + 5.0
    data[::7, 2] = np.nan
    model = make_pipeline(SimpleImputer(), LogisticRegression(max_iter=500)).fit(data, y)
    row, least = np.array([[11.0, 8.0, 9.5, 6.5]]), np.nanmin(data[:, 2])
    found = counterfactuals(model, row, 0, threat=Threat(frozen=[0, 1, 3]), reference=(data, y))
    assert not found.valid.any() or found.points[0, 2] >= least
    model[-1].intercept_ = model[-1].intercept_ - [8.0, 0.0, 0.0]  # now only below the range
    found = counterfactuals(model, row, 0, threat=Threat(frozen=[0, 1, 3]), reference=(data, y))
    assert not found.valid.any()
