import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from holdfast.learn import adversarial_margin, closest_adversarial
from holdfast.learn.margins import slope_matrix

numbers = st.floats(-10, 10).map(lambda v: round(v, 3))
points = arrays(float, (3, 4), elements=numbers)


def squared(M, u, v):
    return np.einsum("tk,kq,tq->t", u - v, M, u - v)


def random_metric(seed, p=4):
    L = np.random.default_rng(seed).normal(size=(p, p))
    return L.T @ L


@given(points, st.integers(0, 5), st.sampled_from(["ball", "ellipsoid"]))
def test_the_closest_point_lies_on_the_boundary_at_the_margin(xjl, seed, kind):
    x, target, impostor = (row[None] for row in xjl)
    M = random_metric(seed)
    shape = None if kind == "ball" else random_metric(seed + 100) + np.eye(4)
    there = closest_adversarial(M, x, target, impostor, shape)
    margin = adversarial_margin(M, x, target, impostor, shape)
    if (target == impostor).all():
        assert margin == 0
        return
    scale = squared(M, there, target) + squared(M, target, impostor) + squared(M, x, target)
    assert squared(M, there, impostor) - squared(M, there, target) == pytest.approx(0, abs=1e-9 * (1 + scale[0]))
    move = (there - x)[0]
    size = np.sqrt(move @ (np.eye(4) if shape is None else shape) @ move)
    assert size == pytest.approx(abs(margin[0]), rel=1e-8, abs=1e-8)
    gap = squared(M, x, impostor) - squared(M, x, target)
    if abs(gap[0]) > 1e-6:
        assert np.sign(margin[0]) == np.sign(gap[0])


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("shaped", [False, True])
def test_no_nearer_point_exists(reduced, shaped):
    rng = np.random.default_rng(1)
    x, target, impostor = rng.normal(size=(3, 1, 6))
    D = rng.normal(size=(4, 6)) if reduced else None
    M = random_metric(2, 4 if reduced else 6)
    A0 = random_metric(3, 6) + np.eye(6) if shaped else None
    inside = [x, target, impostor] if D is None else [point @ D.T for point in (x, target, impostor)]
    margin = adversarial_margin(M, *inside, shape=A0, reduction=D)[0]
    there = closest_adversarial(M, x, target, impostor, shape=A0, reduction=D)[0]
    A = np.eye(6) if A0 is None else A0
    full = M if D is None else D.T @ M @ D

    def gap(v):
        return squared(full, v[None], impostor)[0] - squared(full, v[None], target)[0]

    found = minimize(
        lambda v: (v - x[0]) @ A @ (v - x[0]),
        x[0] + 0.1,
        constraints={"type": "eq", "fun": gap},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert np.sqrt(found.fun) == pytest.approx(abs(margin), rel=1e-5)
    np.testing.assert_allclose(found.x, there, atol=1e-4)


def test_large_squares_do_not_cancel():
    x = np.array([[1e8, 0.0]])
    target, impostor = x + np.array([1.0, 0.0]), x - np.array([1.0 + 2**-20, 0.0])
    margin = adversarial_margin(np.eye(2), x, target, impostor)
    assert margin[0] == pytest.approx(2**-21, rel=1e-6)


def test_coinciding_target_and_impostor_have_no_margin():
    x, both = np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]])
    assert adversarial_margin(np.eye(2), x, both, both) == 0
    np.testing.assert_array_equal(closest_adversarial(np.eye(2), x, both, both), x)
    # Neither does a metric that cannot see the difference.
    assert adversarial_margin(np.diag([1.0, 0.0]), x, [[1.0, 0.0]], [[1.0, 5.0]]) == 0


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([[1.0, 2.0], [0.0, 1.0]], "not symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "not positive definite"),
        ([[1.0, 0.0], [0.0, 0.0]], "not positive definite"),
        (np.eye(3), "2 × 2"),
        ([[np.nan, 0.0], [0.0, 1.0]], "NaN"),
    ],
)
def test_a_bad_shape_is_named(shape, message):
    with pytest.raises(ValueError, match=message):
        adversarial_margin(np.eye(2), [[0, 0]], [[1, 0]], [[0, 1]], shape=shape)


def test_bad_points_are_named():
    with pytest.raises(ValueError, match="target has 3 features, but M is 2 × 2"):
        adversarial_margin(np.eye(2), [[0, 0]], [[1, 0, 0]], [[0, 1]])
    with pytest.raises(ValueError, match="M must be square"):
        adversarial_margin(np.ones((2, 3)), [[0, 0]], [[1, 0]], [[0, 1]])
    with pytest.raises(ValueError, match="one row per reduced feature"):
        slope_matrix(2, reduction=np.ones((3, 4)))


def test_orthonormal_reduction_is_the_identity():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0][:3]
    assert slope_matrix(3, reduction=Q) is None
    assert slope_matrix(3) is None
    np.testing.assert_allclose(slope_matrix(2, shape=[2.0, 4.0]), np.diag([0.5, 0.25]))
