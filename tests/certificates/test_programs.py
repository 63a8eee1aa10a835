"""The shortest move into a polyhedron, against independent solvers; bounds from any weights."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from holdfast.certificates.norms import L1, L2, Ellipsoid, LInf
from holdfast.certificates.programs import Shortest, shortest, size_at_least

SHAPE = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 0.5]])
NORMS = {"l2": L2(), "l1": L1(), "linf": LInf(), "ellipsoid": Ellipsoid(SHAPE)}


def problem(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(int(rng.integers(1, 6)), 3))
    b = A @ rng.normal(size=3) - rng.random(len(A)) * 0.3
    room = np.where(rng.random((2, 3)) < 0.5, np.inf, 2.5 * rng.random((2, 3)))
    return A, b, room[0], room[1]


def truth(name, A, b, down, up):
    """By other means: smooth programs for L2 and the ellipsoid, another formulation of the linear ones."""
    bounds = list(zip(-down, up, strict=True))
    feasible = linprog(np.zeros(3), A_ub=-A, b_ub=-b, bounds=bounds)
    if feasible.status != 0:
        return np.inf
    if name in ("l2", "ellipsoid"):
        Q = np.eye(3) if name == "l2" else SHAPE
        rows = {"type": "ineq", "fun": lambda e: A @ e - b, "jac": lambda e: A}
        start = feasible.x
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # scipy 1.12 says when it clips a step to the bounds
            found = minimize(
                lambda e: e @ Q @ e, start, jac=lambda e: 2 * Q @ e, bounds=bounds, constraints=rows, method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 500},
            )  # fmt: skip
        return np.sqrt(found.fun)
    # t ≥ |e| by rows: Σ t, or one t for all
    count = 3 if name == "l1" else 1
    T = np.eye(3) if name == "l1" else np.ones((3, 1))
    matrix = np.block([[-A, np.zeros((len(A), count))], [np.eye(3), -T], [-np.eye(3), -T]])
    level = np.concatenate([-b, np.zeros(6)])
    found = linprog([0] * 3 + [1] * count, matrix, level, bounds=bounds + [(0, None)] * count)
    return found.fun


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("seed", range(15))
def test_shortest_moves_and_their_bounds(name, seed):
    A, b, down, up = problem(seed)
    norm, expected = NORMS[name], truth(name, A, b, down, up)
    found = shortest(norm, A, b, down, up)
    bound = size_at_least(norm, A, b, np.zeros(len(b)), found, down, up)
    if np.isinf(expected):
        assert found.move is None
        return
    assert found.move is not None
    assert (A @ found.move >= b - 1e-6).all()
    size = float(norm.lengths(found.move[None])[0])
    assert size == pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert expected * (1 - 1e-5) - 1e-7 <= bound <= expected * (1 + 1e-5) + 1e-7


@pytest.mark.parametrize("name", NORMS)
def test_any_weights_give_a_sound_bound(name):
    rng = np.random.default_rng(1)
    for seed in range(40):
        A, b, down, up = problem(seed)
        expected = truth(name, A, b, down, up)
        room = np.isfinite(np.stack([down, up]))
        sides = np.where(room[1], rng.random(3), 0.0) - np.where(room[0], rng.random(3), 0.0)
        sides = np.where((sides > 0) & room[1], sides, np.where((sides < 0) & room[0], sides, 0.0))
        given = Shortest(None, rng.exponential(size=len(b)) * (rng.random(len(b)) < 0.7), sides)
        assert size_at_least(NORMS[name], A, b, np.zeros(len(b)), given, down, up) <= expected * (1 + 1e-6) + 1e-7


def test_a_box_that_does_not_reach_is_proven_empty():
    A, b = np.array([[1.0, 1.0, 0.0]]), np.array([3.0])
    box = np.ones(3)
    for name in ("l2", "l1", "linf"):
        found = shortest(NORMS[name], A, b, box, box)
        assert found.move is None
        assert size_at_least(NORMS[name], A, b, np.zeros(1), found, box, box) == np.inf
