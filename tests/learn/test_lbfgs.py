"""Quasi-Newton steps: the inverse Hessian against the update formula, descent on functions with and without kinks."""

import numpy as np
import pytest
from scipy.optimize import minimize

from holdfast.learn.solvers.lbfgs import InverseHessian, _descend


def update(H, s, y):
    """The BFGS formula, on a whole matrix."""
    V = np.eye(s.size) - np.outer(y, s) / (s @ y)
    return V.T @ H @ V + np.outer(s, s) / (s @ y)


@pytest.mark.parametrize("n_moves", [1, 3, 4, 9])
def test_is_the_update_formula_over_the_last_moves(n_moves):
    rng = np.random.default_rng(n_moves)
    A = rng.normal(size=(7, 7))
    A = A @ A.T + np.eye(7)
    H, moves = InverseHessian(4, 7), []
    assert H.apply(np.ones(7)) is None
    for _ in range(n_moves):
        s = rng.normal(size=7)
        moves.append((s, A @ s))
        H.add_pair(*moves[-1])
    s, y = moves[-1]
    explicit = (s @ y) / (y @ y) * np.eye(7)
    for s, y in moves[-4:]:
        explicit = update(explicit, s, y)
    g = rng.normal(size=7)
    np.testing.assert_allclose(H.apply(g), explicit @ g, rtol=1e-9)


def test_a_move_without_curvature_is_left_out():
    H = InverseHessian(3, 2)
    H.add_pair(np.array([1.0, 0.0]), np.array([-1.0, 0.0]))
    H.add_pair(np.array([1.0, 0.0]), np.array([0.0, 0.0]))
    assert H.apply(np.ones(2)) is None


def run(function, x, steps=500, memory=10):
    """Values after every step, and how often the function was asked."""
    values, asked = [], []

    def evaluate(x):
        asked.append(function(x))
        return asked[-1]

    def after():
        values.append(min(value for value, _ in asked))
        return len(values) >= steps

    _descend(evaluate, x, memory, after)
    return values, len(asked)


@pytest.mark.parametrize("memory", [5, 20])
def test_needs_about_the_evaluations_of_scipy(memory):
    A = np.diag(np.logspace(0, 3, 20))
    rng = np.random.default_rng(0)
    ours, theirs = 0, 0
    for _ in range(10):
        x = rng.normal(size=20)
        wanted = 1e-8 * 0.5 * x @ A @ x
        asked: list[float] = []

        def function(x, asked=asked):
            asked.append(0.5 * x @ A @ x)
            return asked[-1], A @ x

        def stop(_, asked=asked, wanted=wanted):
            if asked[-1] < wanted:
                raise StopIteration

        _descend(function, x, memory, lambda asked=asked, wanted=wanted: min(asked) < wanted)
        assert min(asked) < wanted
        ours += len(asked)
        asked.clear()
        options = {"maxcor": memory, "maxiter": 10_000, "ftol": 0.0, "gtol": 0.0}
        minimize(function, x, jac=True, method="L-BFGS-B", callback=stop, options=options)
        theirs += 1 + np.flatnonzero(np.array(asked) < wanted)[0]
    assert ours < 1.3 * theirs


def test_goes_on_past_kinks():
    """max_i c_i |x_i| is not differentiable where it is smallest, nor on the way there."""
    c = np.array([1.0, 3.0, 9.0, 27.0])

    def function(x):
        k = np.argmax(c * np.abs(x))
        g = np.zeros(4)
        g[k] = c[k] * np.sign(x[k])
        return c[k] * abs(x[k]), g

    start = np.array([3.0, -2.0, 1.0, 0.5])
    values, _ = run(function, start)
    assert values[-1] < 1e-3 * function(start)[0]


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_units_of_x_do_not_matter(scale):
    A = np.diag([1.0, 10.0, 100.0])
    plain, asked = run(lambda x: (0.5 * x @ A @ x, A @ x), np.ones(3), steps=15)
    scaled, asked_too = run(lambda x: (0.5 * x @ A @ x / scale**2, A @ x / scale**2), scale * np.ones(3), steps=15)
    np.testing.assert_allclose(scaled, plain, rtol=1e-4)
    assert asked == asked_too


def test_what_is_not_finite_is_stepped_back_from():
    """x − c log x has its minimum at c, hard by where it is infinite."""
    c = 1e-3
    met = []

    def function(x):
        met.append(x[0])
        if x[0] <= 0:
            return np.inf, np.full(1, np.nan)
        return x[0] - c * np.log(x[0]), 1.0 - c / x

    values, _ = run(function, np.array([1.0]), steps=20)
    assert min(met) <= 0
    assert values[-1] == pytest.approx(c - c * np.log(c), rel=1e-6)


def test_at_the_minimum_nothing_is_done():
    values, asked = run(lambda x: (0.0, np.zeros(3)), np.ones(3))
    assert values == []
    assert asked == 1
