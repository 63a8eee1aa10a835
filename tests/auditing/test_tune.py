"""One tuner: RobustClassifierCV, for the model that is chosen and for plain LMNN."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.preprocessing import StandardScaler

from holdfast import LMNN, CertifiedKNeighborsClassifier, RobustClassifierCV, Threat
from holdfast.auditing.candidates import PlainLMNN, label, tuned, untuned, weighing
from holdfast.certificates import CertifiedAccuracy
from holdfast.paper import PerturbationSearchCV
from holdfast.selection.families import FAMILIES


@pytest.fixture(scope="module")
def rows():
    X, y = load_breast_cancer(return_X_y=True)
    return 100.0 * X[::5, :6], y[::5]


def test_the_choice_is_that_of_the_search(rows):
    """On standardised rows, frozen features left alone; threads change nothing."""
    X, y = rows
    threat = Threat(frozen=np.arange(6) >= 4)
    seen = []
    model, settings = tuned(
        X, y, families=["linear", "lmnn"], threat=threat, n_draws=2, random_state=3, n_jobs=2, stage="here",
        progress=lambda *told: seen.append(told),
    )  # fmt: skip
    search = RobustClassifierCV(
        0.5, threat, ["linear", "lmnn"], n_draws=2, objective="certified", random_state=3, refit=False
    )
    search.fit(StandardScaler().fit_transform(X), y)
    assert settings == search.best_params_
    assert repr(model) == repr(search.best_estimator_)
    assert seen[0] == ("here", 0, 1)
    assert seen[-1] == ("here", 300, 300)
    with pytest.raises(ValueError, match="refit=False"):
        search.predict(X)


def test_plain_lmnn_has_its_voters_and_no_loss(rows):
    X, y = rows
    model, settings = tuned(X, y, families=[PlainLMNN(5)], tune="accuracy")
    assert isinstance(model, CertifiedKNeighborsClassifier)
    assert (model.n_neighbors, model.prune, model.learner.perturbation) == (5, 0.0, None)
    assert settings["mu"] == model.learner.mu
    assert label(settings) == "lmnn without loss"


def test_untuned_models_have_fixed_values():
    model, settings = untuned(True, 0.5, 3)
    assert settings == {"mu": 0.5, "perturbation__tau": 1.0, "perturbation__weight": 1.0}
    assert model.learner.perturbation.tau == 1.0
    assert untuned(False, 0.5, 3)[0].learner.perturbation is None


def test_a_rare_class_counts_as_much_as_a_frequent_one():
    y = np.arange(100) % 10 == 0
    assert weighing(y, "auto") == "balanced"
    assert weighing(np.arange(100) % 2, "auto") is None
    assert weighing(y, None) is None
    with pytest.raises(ValueError, match="class_weight"):
        weighing(y, "rare")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_name_for_people(family):
    assert label({"family": family}) == FAMILIES[family].label != "model"


class Scorer:
    """Equal scores for all; the tie-break prefers large mu if asked to."""

    def __init__(self, sign):
        self.sign = sign

    def __call__(self, estimator, X, y):
        return 0.5

    def score_and_tie_break(self, estimator, X, y):
        return 0.5, self.sign * estimator.learner_.mu


@pytest.mark.parametrize(("sign", "mu"), [(1, 0.7), (-1, 0.3), (0, 0.5)])
def test_ties_are_broken_by_the_second_score_then_by_the_first_draw(sign, mu):
    X, y = make_classification(60, 4, random_state=0)
    done = []
    search = PerturbationSearchCV(
        LMNN(), space={"mu": [0.5, 0.3, 0.7]}, n_draws=3, cv=2, scoring=Scorer(sign), random_state=0,
        progress=lambda n, of: done.append((n, of)),
    ).fit(X, y)  # fmt: skip
    assert search.best_params_ == {"mu": mu}
    assert search.best_score_ == 0.5
    assert done[-1] == (6, 6)


def test_certified_accuracy_takes_what_may_move():
    X, y = make_classification(120, 4, random_state=0)
    model = CertifiedKNeighborsClassifier(n_neighbors=3).fit(X[:80], y[:80])
    rest = X[80:], y[80:]
    free, fixed = (CertifiedAccuracy(0.5, frozen=frozen)(model, *rest) for frozen in (None, [0, 1, 2]))
    boxed = CertifiedAccuracy(0.5, lower=X.min(axis=0), upper=X.max(axis=0))(model, *rest)
    assert free < fixed
    assert free <= boxed
    assert CertifiedAccuracy(0.5).score_and_tie_break(model, *rest) == (free, model.score(*rest))
