"""Early stopping on held-out rows: what is held out, when a fit ends, and that it helps."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler, normalize

from holdfast import LMNN, SCML, CappedTraceLMNN, LogDetLMNN, Perturbation, SpectralNormLMNN
from holdfast.learn import Pull, Push, adversarial_margin, knn_triplets
from holdfast.learn.objective import Objective
from holdfast.learn.safeguards import Validation, held_out, split_for_validation
from holdfast.learn.solvers import ProjectedGradient

LEARNERS = [
    LMNN(mu=0.5, perturbation=None),
    LMNN(perturbation=Perturbation(0.2, 2.0)),
    LMNN(perturbation=None, solver=ProjectedGradient()),
    LogDetLMNN(weight=1e-4),
    CappedTraceLMNN(),
    SpectralNormLMNN(weight=1e-3),
    SCML(n_basis=40, eta=1e-5, random_state=0),
]


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True)
    X = normalize(StandardScaler().fit_transform(X))
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.mark.parametrize(("n", "fraction"), [(10, 0.2), (7, 0.5), (100, 0.05), (3, 0.9)])
def test_held_out_rows_are_evenly_spaced_whatever_the_order(n, fraction):
    X = np.random.default_rng(0).normal(size=(n, 2))
    mask, order = held_out(X, fraction), np.random.default_rng(1).permutation(n)
    assert abs(mask.sum() - fraction * n) <= 0.5
    np.testing.assert_array_equal(held_out(X[order], fraction), mask[order])


def test_no_triplet_of_the_fit_names_a_held_out_row(data):
    X, y, _, _ = data
    triplets = knn_triplets(X, y)
    terms = [(0.5, Pull()), (0.25, Push())]
    to_fit, to_validate = split_for_validation(X, triplets, 0.2)
    out, own = held_out(X, 0.2), to_validate.rows
    assert not out[to_fit.rows].any()
    assert out[own[:, 0]].all()
    assert not out[own[:, 1:]].any()
    with Validation(X, to_validate, terms, None, 1) as validation:
        assert validation(np.eye(X.shape[1]), np.zeros(1)) is False
    i, j, l = (X[own[:, k]] for k in range(3))
    hinge = np.maximum(0, 1 + ((i - j) ** 2).sum(axis=1) - ((i - l) ** 2).sum(axis=1))
    assert validation.losses == [pytest.approx(0.25 * hinge.mean())]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda l: f"{type(l).__name__}-{type(l.solver).__name__}")
def test_the_metric_of_the_lowest_loss_is_kept(learner, data):
    X, y, _, _ = data
    fitted = learner.set_params(validation_fraction=0.2).fit(X, y)
    losses = fitted.validation_loss_
    assert len(losses) == fitted.n_iter_ + 1
    best = int(np.argmin(losses))
    assert best == fitted.n_iter_ or fitted.n_iter_ - best <= 10
    own = split_for_validation(X, knn_triplets(X, y), 0.2)[1]
    terms = [(w, t) for w, t in learner.make_terms() if isinstance(t, Push)]
    if learner.perturbation is not None:
        terms.append((learner.perturbation.weight, learner.perturbation))
    with Objective(X, own, terms, None, 1) as objective:
        assert objective(fitted.get_mahalanobis_matrix())[0] == pytest.approx(losses[best], rel=1e-6)


def test_the_default_low_rank_fit_is_not_the_overfitted_minimum(data):
    X, y, others, their_y = data
    t = knn_triplets(others, their_y)

    def margin(learner):
        M = learner.fit(X, y).get_mahalanobis_matrix()
        return np.maximum(adversarial_margin(M, others[t.i], others[t.j], others[t.l]), 0).mean()

    minimum, default = margin(CappedTraceLMNN(validation_fraction=None)), margin(CappedTraceLMNN())
    assert default > 1.2 * minimum


def test_auto_leaves_a_chosen_solver_and_a_perturbation_loss_alone(data):
    X, y, _, _ = data
    assert CappedTraceLMNN().fit(X, y).validation_loss_ is not None
    assert CappedTraceLMNN(solver=ProjectedGradient(max_iter=60, tol=1.0)).fit(X, y).validation_loss_ is None
    assert CappedTraceLMNN(perturbation=Perturbation(0.2, 1.0)).fit(X, y).validation_loss_ is None
    assert CappedTraceLMNN().fit(X[:40], y[:40]).validation_loss_ is None  # too few rows


def test_what_cannot_be_held_out_is_refused(data):
    X, y, _, _ = data
    for bad in (0, 1.0, -0.1, np.nan, True):
        with pytest.raises(ValueError, match="LMNN: validation_fraction must be a number above 0 and below 1"):
            LMNN(validation_fraction=bad).fit(X, y)
    with pytest.raises(ValueError, match="must be None, 'auto' or a number; got 'some'"):
        LMNN(validation_fraction="some").fit(X, y)
    with pytest.raises(ValueError, match=r"validation_fraction=0\.99 of 285 rows leaves no triplets"):
        LMNN(validation_fraction=0.99).fit(X, y)
    with pytest.raises(ValueError, match="none to validate on; pass None, or more rows"):
        LMNN(validation_fraction=1e-4).fit(X, y)
