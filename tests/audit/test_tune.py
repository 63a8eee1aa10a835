"""One tuner: the search by certified accuracy, ties by accuracy, then by the first draw."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from holdfast import LMNN, CertifiedKNeighborsClassifier, Perturbation, certify
from holdfast.audit.tune import _ranges_around, tune_lmnn
from holdfast.certificates import CertifiedAccuracy
from holdfast.search import PerturbationSearchCV
from holdfast.search.draw import draw_candidates


def test_tuning_by_certificates_pays():
    X, y = make_classification(200, 10, n_informative=3, random_state=1)
    found = tune_lmnn(X, y, robust=True, radius=0.5, n_draws=4)
    assert 0.25 <= found["perturbation__tau"] <= 2.0
    assert tune_lmnn(X, y, robust=True, radius=0.5, n_draws=4, n_jobs=1) == found


def test_draws_are_those_of_version_0_1():
    drawn = draw_candidates(_ranges_around(0.4), 5, 3, 1.0, np.random.RandomState(7))
    rng = np.random.RandomState(7)
    for each in drawn:
        tau = 0.4 * float(np.exp(rng.uniform(np.log(0.5), np.log(4.0))))
        weight = float(np.exp(rng.uniform(np.log(0.3), np.log(10.0)))) / tau**2
        assert each == {"perturbation__tau": tau, "perturbation__weight": weight, "mu": rng.uniform(0.1, 0.9)}


def test_the_choice_agrees_with_a_loop_by_hand():
    """Certified accuracy, then accuracy, then the first draw; frozen features do not move."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::3, :6], y[::3]
    frozen = np.arange(6) >= 4
    found = tune_lmnn(X, y, robust=True, radius=0.5, frozen=frozen, n_draws=5, random_state=3)
    Z = StandardScaler().fit_transform(X)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=3).split(Z, y))
    drawn = draw_candidates(_ranges_around(0.5), 5, 6, 1.0, np.random.RandomState(3))
    scores = []
    for parameters in drawn:
        both = []
        for train, test in folds:
            learner = LMNN(perturbation=Perturbation()).set_params(**parameters)
            model = CertifiedKNeighborsClassifier(learner, 3).fit(Z[train], y[train])
            certificate = certify(model, Z[test], y[test], frozen=frozen, method="lower", witness=False)
            both.append(certificate.certified_accuracy(radii=[0.5, 0.0]))
        scores.append(tuple(np.mean(both, axis=0).round(12)))
    assert found == drawn[max(range(5), key=lambda k: (*scores[k], -k))]


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
