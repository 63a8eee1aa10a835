import numpy as np
import pytest
from sklearn.datasets import load_iris

from holdfast.learn import adversarial_margin
from holdfast.paper import adversarial_move, margins
from holdfast.paper.theory import nearest_triplets


@pytest.fixture
def data():
    X, y = load_iris(return_X_y=True)
    L = np.random.default_rng(0).normal(size=(3, 4))
    return L, X[1::2], y[1::2], (X[::2], y[::2])


def test_nearest_triplets_are_the_nearest(data):
    L, X, y, (points, labels) = data
    target, impostor = nearest_triplets(L, X, y, (points, labels))
    D = np.linalg.norm((X[:, None] - points[None]) @ L.T, axis=2)
    same = labels[None] == y[:, None]
    np.testing.assert_allclose(np.linalg.norm((X - target) @ L.T, axis=1), np.where(same, D, np.inf).min(1))
    np.testing.assert_allclose(np.linalg.norm((X - impostor) @ L.T, axis=1), np.where(same, np.inf, D).min(1))


def test_a_move_has_its_size_and_a_move_of_the_margin_arrives(data):
    L, X, y, reference = data
    margin = margins(L, X, y, reference)
    moved = adversarial_move(L, X, y, reference, 0.3)
    np.testing.assert_allclose(np.linalg.norm(moved - X, axis=1)[margin > 0], 0.3)
    np.testing.assert_array_equal(moved[margin <= 0], X[margin <= 0])
    target, impostor = nearest_triplets(L, X, y, reference)
    left = adversarial_margin(L.T @ L, moved, target, impostor)
    np.testing.assert_allclose(left, margin - 0.3 * (margin > 0), atol=1e-9)
    assert (margin <= 0).any()


def test_labels_the_reference_lacks_are_named(data):
    L, X, y, reference = data
    with pytest.raises(ValueError, match="label 7, but reference has no point of that class"):
        nearest_triplets(L, X, np.where(y == 2, 7, y), reference)
    one = reference[1] == 0
    with pytest.raises(ValueError, match="no point of any other class"):
        nearest_triplets(L, X[y == 0], y[y == 0], (reference[0][one], reference[1][one]))
