"""Margins of nearest prototypes: against the definition, finite differences, and certificates."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist

from holdfast import CertifiedPrototypeClassifier
from holdfast.learn import MetricLearner
from holdfast.learn.margins import PrototypeMargins, _distances

NORMS = {2: 2, np.inf: 1, 1: np.inf}  # of moves, and the dual


def problem(seed: int, n: int = 40, p: int = 3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.integers(0, 3, n), rng.normal(size=(7, p)), np.array([0, 0, 1, 1, 1, 2, 2])


class Given(MetricLearner):
    """Prototypes as they are."""

    def __init__(self, prototypes=None, labels=None):
        self.prototypes = prototypes
        self.labels = labels

    def fit(self, X, y=None):
        self.components_, self.n_features_in_ = np.eye(np.shape(X)[1]), np.shape(X)[1]
        self.prototypes_, self.prototype_labels_ = self.prototypes, self.labels
        return self


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(5))
def test_margins_are_as_defined(norm, seed):
    X, codes, A, labels = problem(seed)
    found = PrototypeMargins(X, codes, labels, norm).measure(A)
    for x, code, m in zip(X, codes, found, strict=True):
        borders = [
            max(
                (np.sum((x - a) ** 2) - np.sum((x - b) ** 2)) / (2 * np.linalg.norm(a - b, ord=NORMS[norm]))
                for b in A[labels == code]
            )
            for a in A[labels != code]
        ]
        assert m == pytest.approx(min(borders), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("apart", [1.0, 1e-3, 2e-4, 1e-4, 1e-5, 1e-8, 1e-12, 0.0])
def test_distances_of_prototypes_where_products_cancel(apart):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 4))
    A = np.vstack([A, A + apart * rng.normal(size=A.shape)])
    np.testing.assert_allclose(_distances(A), cdist(A, A), rtol=1e-7, atol=0)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(3))
def test_gradient_by_finite_differences(norm, seed):
    X, codes, A, labels = problem(seed)
    weights = np.random.default_rng(seed).normal(size=len(X))
    margins = PrototypeMargins(X, codes, labels, norm)
    numeric = approx_fprime(A.ravel(), lambda a: weights @ margins.measure(a.reshape(A.shape)), 1e-7)
    margins.measure(A)
    np.testing.assert_allclose(margins.pull_back(weights).ravel(), numeric, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("per_class", [1, 3])
def test_margins_bound_the_exact_radius_from_below(norm, per_class):
    rng = np.random.default_rng(per_class)
    X, codes = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    A, labels = rng.normal(size=(2 * per_class, 2)), np.repeat([0, 1], per_class)
    clf = CertifiedPrototypeClassifier(Given(A, labels)).fit(X, codes)
    certificate = clf.certify(X, norm=norm)
    m = PrototypeMargins(X, codes, labels, norm).measure(A)
    right = certificate.prediction == codes
    np.testing.assert_array_equal(right, m > 0)
    assert (m[right] <= certificate.upper[right] * (1 + 1e-9)).all()
    if per_class == 1:  # one border: the margin is the radius
        np.testing.assert_allclose(m[right], certificate.radius[right], rtol=1e-6)


def test_coinciding_prototypes_of_two_classes():
    X, codes = np.array([[0.0], [1.0]]), np.array([0, 1])
    margins = PrototypeMargins(X, codes, codes)
    assert (margins.measure(np.array([[0.5], [0.5]])) == 0).all()
    assert np.isfinite(margins.pull_back(np.full(2, 1e6))).all()
