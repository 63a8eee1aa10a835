"""The toy sets are those the paper describes."""

import numpy as np
import pytest

from holdfast.datasets import make_multicollinearity, make_separability


@pytest.mark.parametrize("make", [make_separability, make_multicollinearity])
def test_a_seed_gives_the_same_points_and_a_generator_new_ones(make):
    (X, y), (again, _) = make(random_state=3), make(random_state=3)
    np.testing.assert_array_equal(X, again)
    rng = np.random.default_rng(3)
    np.testing.assert_array_equal(make(random_state=rng)[0], X)
    assert not np.array_equal(make(random_state=rng)[0], X)
    assert X.shape[0] == y.size


def test_separability_lies_in_its_boxes():
    X, y = make_separability(random_state=0)
    assert np.bincount(y).tolist() == [120, 100]
    ones, below, beside = X[y == 1], X[y == 0][:100], X[y == 0][100:]
    for points, low, high in ((ones, [-3, 0], [0, 1]), (below, [-3, -0.6], [0, -0.5]), (beside, [0, 0], [0.1, 1])):
        assert (points >= low).all()
        assert (points <= high).all()
        assert (np.ptp(points, axis=0) > 0.7 * np.subtract(high, low)).all()


@pytest.mark.parametrize("noise", [0.0, 0.01, 1.0])
def test_multicollinearity_is_a_plane_but_for_the_noise(noise):
    X, y = make_multicollinearity(noise, random_state=0)
    off = X[:, 2] - X[:, 0] - X[:, 1]
    assert np.std(off) == pytest.approx(noise, rel=0.2, abs=1e-12)
    assert np.bincount(y).tolist() == [100, 100]
    for label, centre in ((1, 0.45), (0, -0.45)):
        first = X[y == label, :2]
        assert first.sum(axis=1).mean() == pytest.approx(2 * centre, abs=0.2)  # its spread is √0.2 / 10
        assert np.corrcoef(first.T)[0, 1] == pytest.approx(-0.9, abs=0.06)


def test_negative_noise_is_refused():
    with pytest.raises(ValueError, match="noise must be a number at least 0"):
        make_multicollinearity(-1.0)
