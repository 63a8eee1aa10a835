"""MarginLVQ: what it certifies compared with logistic regression, units, degenerate rows, and what it refuses."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import Normalizer, StandardScaler

from holdfast import CertifiedPrototypeClassifier, MarginLVQ, certify
from holdfast.learn.margin_lvq import _SmoothedErrors
from holdfast.learn.margins import PrototypeMargins
from holdfast.learn.solvers import LBFGS, AcceleratedProximalGradient, StochasticLBFGS


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def certified(model, X, y, radius, **options) -> float:
    return float(certify(model, X, y, at=radius, **options).certified_accuracy(radii=radius))


@pytest.mark.parametrize("norm", [2, np.inf, 1])
def test_objective_by_finite_differences(norm):
    rng = np.random.default_rng(0)
    X, codes, A = rng.normal(size=(30, 2)), rng.integers(0, 2, 30), rng.normal(size=(4, 2))
    loss = _SmoothedErrors(PrototypeMargins(X, codes, np.array([0, 0, 1, 1]), norm), 0.3, 0.5, 0.7)
    numeric = approx_fprime(A.ravel(), lambda a: loss(a.reshape(A.shape))[0], 1e-7)
    np.testing.assert_allclose(loss(A)[1].ravel(), numeric, rtol=1e-4, atol=1e-5)


def test_the_objective_falls_and_stays_between_0_and_1(iris):
    trace = MarginLVQ(random_state=0).fit(*iris).objective_
    assert trace[-1] < 0.8 * trace[0]
    assert 0 <= trace[-1] <= 1


def test_certifies_more_than_logistic_regression_of_any_strength():
    X, y = load_breast_cancer(return_X_y=True)
    X = Normalizer().fit_transform(StandardScaler().fit_transform(X))
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
    radius = 0.3
    ours = CertifiedPrototypeClassifier(MarginLVQ(2, radius=radius, random_state=0)).fit(X, y)
    others = [LogisticRegression(C=C, max_iter=1000).fit(X, y) for C in (0.01, 0.1, 1.0, 10.0, 100.0)]
    assert certified(ours, X_test, y_test, radius) > max(certified(o, X_test, y_test, radius) for o in others)
    assert ours.score(X_test, y_test) > 0.9


def test_certifies_most_in_the_norm_it_was_trained_for():
    X, y = load_breast_cancer(return_X_y=True)
    X = Normalizer().fit_transform(StandardScaler().fit_transform(X))
    of = {
        norm: CertifiedPrototypeClassifier(MarginLVQ(2, radius=r, norm=norm, random_state=0)).fit(X, y)
        for norm, r in ((2, 0.3), (np.inf, 0.08))
    }
    assert certified(of[np.inf], X, y, 0.08, norm=np.inf) > certified(of[2], X, y, 0.08, norm=np.inf)
    assert certified(of[2], X, y, 0.3) > certified(of[np.inf], X, y, 0.3)


@pytest.mark.parametrize("scale", [1e-150, 1e-3, 1e150])
def test_units_and_offsets_do_not_matter(iris, scale):
    X, y = iris
    plain = MarginLVQ(2, random_state=0).fit(X, y)
    other = MarginLVQ(2, random_state=0).fit(scale * (X + 10), y)
    np.testing.assert_allclose(other.prototypes_ / scale - 10, plain.prototypes_, rtol=1e-3, atol=1e-3)
    assert other.radius_ == pytest.approx(scale * plain.radius_, rel=1e-3)


@pytest.mark.parametrize("scale", [1e-310, 1e300])
def test_absurd_scales_leave_finite_prototypes(iris, scale):
    X, y = iris
    fitted = MarginLVQ(2, random_state=0).fit(scale * X, y)
    assert np.isfinite(fitted.prototypes_).all()
    assert fitted.objective_[-1] < fitted.objective_[0]


def test_memory_and_time_with_many_features():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2000)), np.arange(50) % 2
    X[:, 0] += 3 * y
    clf = CertifiedPrototypeClassifier(MarginLVQ(2, random_state=0)).fit(X, y)
    assert clf.score(X, y) > 0.9


def test_weight_chooses_between_certified_and_right(iris):
    X, y = iris
    of = {
        w: CertifiedPrototypeClassifier(MarginLVQ(1, radius=0.6, certified_weight=w, random_state=0)).fit(X, y)
        for w in (0.0, 1.0)
    }
    assert of[0.0].score(X, y) >= of[1.0].score(X, y)
    assert certified(of[1.0], X, y, 0.6) > certified(of[0.0], X, y, 0.6)


def test_labels_are_those_of_y_and_small_classes_have_fewer_prototypes(iris):
    X, y = iris
    names = np.array(["a", "b", "c"])[y]
    keep = np.r_[0:52, 100:150]  # two rows of b
    fitted = MarginLVQ(4, random_state=0).fit(X[keep], names[keep])
    assert sorted(fitted.prototype_labels_) == ["a"] * 4 + ["b"] * 2 + ["c"] * 4


def test_rows_that_are_all_the_same_warn():
    with pytest.warns(ConvergenceWarning, match="all rows are the same"):
        MarginLVQ(1).fit(np.ones((6, 2)), [0, 1] * 3)


@pytest.mark.parametrize("norm", [2, np.inf, 1])
@pytest.mark.parametrize("n_proxies", [1, 4])
def test_one_row_per_class(norm, n_proxies):
    fitted = MarginLVQ(n_proxies, norm=norm, random_state=0).fit(np.eye(3), ["a", "b", "c"])
    clf = CertifiedPrototypeClassifier(fitted).fit(np.eye(3), ["a", "b", "c"])
    assert clf.score(np.eye(3), ["a", "b", "c"]) == 1


@pytest.mark.parametrize("norm", [2, np.inf, 1])
@pytest.mark.parametrize("radius", [None, 0.1])
def test_the_same_rows_in_two_classes(iris, norm, radius):
    """The prototypes of the two classes start at the same point, where lengths and so gradients are degenerate."""
    X = np.vstack([iris[0][:20]] * 2)
    for n_proxies in (1, 4):
        fitted = MarginLVQ(n_proxies, radius, norm=norm, random_state=0).fit(X, np.repeat([0, 1], 20))
        assert np.isfinite(fitted.prototypes_).all()
        assert fitted.objective_[-1] < fitted.objective_[0]
        assert fitted.radius_ > 0


def test_classes_with_the_same_centre_warn():
    X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    with pytest.warns(ConvergenceWarning, match="Raise n_proxies"):
        fitted = MarginLVQ(1, random_state=0).fit(X, y)
    assert fitted.radius_ == pytest.approx(np.sqrt(0.5) / 4)  # of the mean length: no row has a margin
    clf = CertifiedPrototypeClassifier(MarginLVQ(2, random_state=0)).fit(X, y)
    assert clf.score(X, y) == 1


@pytest.mark.parametrize("solver", [AcceleratedProximalGradient(), StochasticLBFGS()])
def test_other_solvers_find_a_minimum_as_low(iris, solver):
    expected = MarginLVQ(2, random_state=0).fit(*iris).objective_[-1]
    assert MarginLVQ(2, solver=solver, random_state=0).fit(*iris).objective_[-1] < 1.02 * expected


def test_no_convergence_warns(iris):
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        MarginLVQ(solver=LBFGS(max_iter=1), random_state=0).fit(*iris)


def test_verbose_prints_how_the_fit_ended(iris, capsys):
    MarginLVQ(verbose=1, random_state=0).fit(*iris)
    assert capsys.readouterr().out.startswith("[MarginLVQ] the objective fell by less than")


@pytest.mark.parametrize(
    ("scale", "options"),
    [(1e-310, {"radius": 0.1}), (1e300, {"radius": 0.1}), (1.0, {"radius": 1e300}), (1.0, {"temperature": 1e300})],
)
def test_a_radius_out_of_proportion_is_refused(iris, scale, options):
    with pytest.raises(ValueError, match="too far from the scale of the rows"):
        MarginLVQ(random_state=0, **options).fit(scale * iris[0], iris[1])


@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce:RuntimeWarning")  # scikit-learn's check of X
def test_prototypes_that_would_overflow_are_refused():
    X = np.random.default_rng(0).choice([-1.7e308, 1.7e308], size=(20, 200))
    with pytest.raises(ValueError, match="too long for floating point"):
        MarginLVQ(random_state=0).fit(X, np.arange(20) % 2)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("n_proxies", 0),
        ("radius", 0.0),
        ("radius", np.nan),
        ("temperature", 0),
        ("certified_weight", 1.1),
        ("norm", 3),
        ("norm", True),
        ("norm", np.array([1, 2])),
    ],
)
def test_bad_parameters_are_refused_by_name(iris, name, bad):
    with pytest.raises(ValueError, match=f"MarginLVQ: {name} must be"):
        MarginLVQ(**{name: bad}).fit(*iris)


def test_one_class_is_refused(iris):
    with pytest.raises(ValueError, match="only one class"):
        MarginLVQ().fit(iris[0], np.zeros(150))
