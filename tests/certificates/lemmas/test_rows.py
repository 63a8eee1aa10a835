"""Lemmas R1 to R5: a vote as halfspaces, and the distance to one."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.certificates import L1, L2, Ellipsoid, LInf, choose, knn_lower
from tests.certificates.brute_force import make_problem, random_problem, votes
from tests.certificates.lemmas.code import DUAL, box_distance
from tests.certificates.lemmas.oracles import dot, fractions, least_move

small = st.integers(-20, 20)


def vectors(n):
    return st.lists(small, min_size=n, max_size=n)


@given(u=vectors(2), l=vectors(2), j=vectors(2), delta=vectors(3), T=st.lists(vectors(3), min_size=2, max_size=2))
def test_r1_a_move_changes_f_by_exactly_twice_its_row(u, l, j, delta, T):
    def f(at):
        return sum((a - b) ** 2 for a, b in zip(at, l, strict=True)) - sum(
            (a - b) ** 2 for a, b in zip(at, j, strict=True)
        )

    a = [sum((l[r] - j[r]) * T[r][i] for r in range(2)) for i in range(3)]
    moved = [u[r] + sum(T[r][i] * delta[i] for i in range(3)) for r in range(2)]
    assert f(moved) == f(u) - 2 * sum(x * y for x, y in zip(a, delta, strict=True))
    assert f(u) == sum((l[r] - j[r]) * (l[r] + j[r] - 2 * u[r]) for r in range(2))


@pytest.mark.parametrize("norm", ["l2", "linf", "l1"])
def test_r2_a_linear_classifier_is_one_row_a_class(norm):
    dual = {"l2": 2, "linf": 1, "l1": np.inf}[norm]
    for seed in range(10):
        rng = np.random.default_rng(seed)
        W, b, x = rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=3)
        s = W @ x + b
        y = int(np.argmax(s))
        rows = [(W[c] - W[y], s[y] - s[c]) for c in range(4) if c != y]
        closed = min(level / np.linalg.norm(row, dual) for row, level in rows)
        assert closed == pytest.approx(min(least_move(row, level, norm) for row, level in rows), rel=1e-7)
        steps = rng.normal(size=(3000, 3))
        steps *= closed / np.linalg.norm(steps, {"l2": 2, "linf": np.inf, "l1": 1}[norm], axis=1)[:, None]
        assert (np.argmax((x + (1 - 1e-9) * steps) @ W.T + b, axis=1) == y).all()


def test_r3_two_points_are_as_far_as_the_dual_norm_says():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(3, 3))
    A0 = B @ B.T + 0.1 * np.eye(3)
    for norm, dual in [
        (L2(), np.linalg.norm),
        (LInf(), lambda a: np.abs(a).sum()),
        (L1(), lambda a: np.abs(a).max()),
        (Ellipsoid(A0), lambda a: np.sqrt(a @ np.linalg.solve(A0, a))),
    ]:
        for _ in range(5):
            T, U, u = rng.normal(size=(2, 3)), rng.normal(size=(2, 2)), rng.normal(size=(1, 2))
            problem = make_problem(U, [0, 1], T, norm=norm)
            y = votes(problem, u)
            l, j = (1, 0) if y[0] == 0 else (0, 1)
            c = 0.5 * (U[l] - U[j]) @ (U[l] + U[j] - 2 * u[0])
            assert choose(problem)(problem, u, y, n_jobs=1).lower[0] == pytest.approx(
                c / dual((U[l] - U[j]) @ T), rel=1e-9
            )


@pytest.mark.parametrize("norm", [L2(), LInf(), L1()])
def test_r3_units_are_columns(norm):
    """``‖δ / unit‖`` of a move δ is the plain norm of a move of the columns times their units."""
    rng = np.random.default_rng(1)
    unit = np.array([10.0, 0.1, 3.0])
    T, U, labels = rng.normal(size=(3, 3)), rng.normal(size=(12, 3)), rng.integers(2, size=12)
    in_units = make_problem(U, labels, T * unit, norm=norm)
    x = rng.normal(size=(4, 3))
    y = votes(in_units, x @ T.T)
    lower, upper, delta = choose(in_units)(in_units, x @ T.T, y, n_jobs=1)
    moved = x + delta * unit
    assert (votes(in_units, moved @ T.T) != y).all()
    np.testing.assert_allclose(norm.lengths((moved - x) / unit), upper, rtol=1e-9)
    np.testing.assert_allclose(lower, upper, rtol=1e-6)


rooms = st.one_of(st.just(0.0), st.just(np.inf), st.floats(0.01, 3.0))


@pytest.mark.parametrize("norm", ["l2", "linf", "l1"])
@given(
    a=st.lists(st.one_of(st.just(0.0), st.floats(-2.0, 2.0).filter(lambda v: abs(v) > 1e-3)), min_size=4, max_size=4),
    c=st.floats(0.01, 6.0),
    down=st.lists(rooms, min_size=4, max_size=4),
    up=st.lists(rooms, min_size=4, max_size=4),
)
def test_r4_distance_within_a_box_equals_a_program(norm, a, c, down, up):
    """Rooms of 0 are frozen features and moves in one direction only."""
    a, down, up = np.array(a), np.array(down), np.array(up)
    most = sum(abs(s) * (b if s > 0 else d) for s, d, b in zip(a, down, up, strict=True) if s != 0)
    got = box_distance(a, c, DUAL[norm], down, up)
    if c > most * (1 + 1e-9):
        assert np.isinf(got)
    elif c < most * (1 - 1e-9):
        expected = least_move(a, c, norm, down, up)
        assert got == pytest.approx(expected, rel=1e-6)
        assert got <= expected * (1 + 1e-8)


def exact_box_distance(a, c, norm, down, up):
    """The same in rational numbers, for L1 and L∞."""
    pairs = [(abs(s), u if s > 0 else d) for s, d, u in zip(a, down, up, strict=True) if s != 0]
    if norm == "l1":
        spent = Fraction(0)
        for slope, room in sorted(pairs, reverse=True):
            if slope * room >= c:
                return spent + c / slope
            spent, c = spent + room, c - slope * room
        return None
    for level in sorted({room for _, room in pairs}):
        if sum(s * min(level, room) for s, room in pairs) >= c:
            full = sum(s * room for s, room in pairs if room < level)
            return (c - full) / sum(s for s, room in pairs if room >= level)
    return None


@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_r4_what_is_computed_is_the_distance_of_a_level_equal_to_rounding(norm):
    """Slopes of very different size: the error is that of a level c off by (d + 8) roundings, no more."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        d = 8
        a, room = 10.0 ** rng.uniform(-8, 8, d) * rng.choice([-1, 1], d), 10.0 ** rng.uniform(-3, 3, d)
        A, rooms_ = fractions(a), fractions(room)
        most = dot([abs(v) for v in A], rooms_)
        c = float(most) * rng.choice([rng.random(), 1 - 1e-9, 1 - 1e-14])
        got = box_distance(a, c, DUAL[norm], room, room)
        above = exact_box_distance(A, Fraction(c) * (1 + Fraction(2 * (d + 8), 2**53)), norm, rooms_, rooms_)
        assert above is None or Fraction(got) <= above


@pytest.mark.parametrize("norm", ["l2", "linf", "l1"])
@pytest.mark.parametrize("k", [1, 3])
def test_r5_taking_moves_away_never_shortens_a_radius(norm, k):
    for seed in range(6):
        problem, queries, x, y = random_problem(np.random.default_rng(seed), k, 3, norm=norm)
        engine = choose(problem) if k == 1 else knn_lower
        free = engine(problem, queries, y, inputs=x, n_jobs=1).lower
        boxed, *_ = random_problem(np.random.default_rng(seed), k, 3, norm=norm, lower=x.min(0) - 0.1, upper=x.max(0))
        frozen, *_ = random_problem(np.random.default_rng(seed), k, 3, norm=norm, frozen=[True, False, False])
        for harder in (boxed, frozen):
            assert (engine(harder, queries, y, inputs=x, n_jobs=1).lower >= free * (1 - 1e-9)).all()


def test_r4_a_box_that_just_reaches():
    """Where the box reaches c up to rounding only, the distance is a length and no multiplier."""
    a, room = np.r_[1.0, np.full(60, 1e-16)], np.ones(61)
    total = sum(Fraction(v) for v in a.tolist())
    c = float(total) if Fraction(float(total)) <= total else np.nextafter(float(total), 0)
    assert box_distance(a, c, 0, room, room) <= np.linalg.norm(room)
