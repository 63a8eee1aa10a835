"""Lemmas F1 to F4: the budget, the radius that it leaves, and engines under errors large enough to see."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.certificates import choose
from holdfast.certificates.norms import Ellipsoid
from tests.certificates.brute_force import engines, random_problem
from tests.certificates.lemmas.code import Rounding, error_units, kappa, query_rounding, safe_radius
from tests.certificates.lemmas.oracles import dot, fractions, radius_with_slack

UNIT = 2.0**-53
ONCE, SHARED, SEPARATE = 33, 3, 7  # units of Lemma F2: once; a step if reference points are shared; if they are not


def units(n_steps: int, rank: int, per_step: int) -> float:
    """The units of Lemma F2 that a chain of affine steps uses."""
    return ONCE + np.sqrt(rank) + per_step * n_steps


def max_affine_steps(rank: int, per_step: int) -> int:
    """How many steps the constant 64 covers."""
    return int((64 - ONCE - np.sqrt(rank)) // per_step)


def test_f2_how_many_steps_the_constant_covers():
    assert kappa(3, 5) == 64 * (5 + 8) * UNIT
    assert [max_affine_steps(rank, SEPARATE) for rank in (9, 100, 289)] == [4, 3, 2]
    assert [max_affine_steps(rank, SHARED) for rank in (16, 100, 400, 784)] == [9, 7, 3, 1]
    assert units(4, 9, SEPARATE) <= 64 < units(5, 9, SEPARATE)


def test_f2_the_code_counts_steps():
    """Longer chains have a wider budget: at least the units of the lemma, and a ball tree's for scikit-learn."""
    for n_steps in range(1, 30):
        for rank in (1, 9, 100, 784):
            assert error_units(rank, n_steps, True) >= max(64, units(n_steps, rank, SHARED))
            assert error_units(rank, n_steps, False) >= max(64, units(n_steps, rank, SEPARATE) + 8)
    assert kappa(3, 5, n_steps=20) > kappa(3, 5)


positive = st.floats(1e-60, 1e60)


@given(
    c=positive, a=st.one_of(st.just(0.0), positive), S=st.floats(1e-30, 1e30), g=st.one_of(st.just(0.0), positive),
    k=st.sampled_from([64 * 9 * UNIT, 64 * 1000 * UNIT, 1e-6]), w=st.one_of(st.just(0.0), positive),
)  # fmt: skip
def test_f3_the_root_in_rational_arithmetic(c, a, S, g, k, w):
    """``(a + w) R + ½κ(S + gR)² ≤ c`` holds for the radius as computed, but for one rounding of ``½κS²`` and c."""
    R = safe_radius(c, a, Rounding(k, S, g, w))
    assert R >= 0
    if R == 0 or np.isinf(R):
        assert R == 0 or (a == 0 and (g == 0 or k * S * g == 0) and w == 0)
        return
    c, a, S, g, k, w, R = (Fraction(v) for v in (c, a, S, g, k, w, R))
    off = 4 * Fraction(UNIT) * (c + k * S * S / 2)  # of the difference C, and of the κSg, w that are themselves bounds
    assert (a + w * (1 - 4 * Fraction(UNIT))) * R + k * (S + g * R) ** 2 / 2 * (1 - 8 * Fraction(UNIT)) <= c + off


def chain(rng, d, r, n_steps, offset):
    """Affine steps (W, w): the first takes away an offset, as scalers do; the last is a metric."""
    steps = [(np.diag(rng.uniform(0.5, 2, d)), None)]
    steps[0] = (steps[0][0], -steps[0][0] @ np.full(d, offset))
    steps += [(rng.normal(size=(d, d)), rng.normal(size=d)) for _ in range(n_steps - 2)]
    return [*steps, (rng.normal(size=(r, d)), np.zeros(r))][-n_steps:]


def through(steps, rows):
    for W, w in steps:
        rows = rows @ W.T + w
    return rows


def distances(u, points, how):
    if how == "expanded":
        return (u @ u - 2 * points @ u) + np.einsum("ij,ij->i", points, points)
    return ((points - u) ** 2).sum(axis=1)


@pytest.mark.parametrize("how", ["expanded", "direct"])
@pytest.mark.parametrize("n_steps", [1, 2, 3, 4])
def test_f2_a_comparison_errs_by_no_more_than_the_units(n_steps, how):
    """``f`` of the model at the moved row, in floats, against ``2c − 2a·δ`` of ours, the difference taken exactly."""
    d, r, worst = 4, 3, 0.0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        offset = rng.choice([0.0, 1e3, 1e8])
        steps = chain(rng, d, r, n_steps, offset)
        at = offset if n_steps > 1 else 0.0
        X, x = at + rng.normal(size=(2, d)), at + rng.normal(size=d)
        moved = x + 10.0 ** rng.uniform(-6, 1) * rng.normal(size=d)
        # The model goes step by step; ours is one folded map.
        W, w0, size = np.eye(d), np.zeros(d), np.maximum(np.abs(X).max(axis=0), np.abs(x))
        growth = np.eye(d)
        for V, v in steps:
            W, w0, size, growth = V @ W, V @ w0 + v, np.abs(V) @ size + np.abs(v), np.abs(V) @ growth
        U, u = X @ W.T + w0, W @ x + w0
        a, c = (U[0] - U[1]) @ W, 0.5 * (U[0] - U[1]) @ ((U[0] - u) + (U[1] - u))
        D = distances(through(steps, moved), through(steps, X), how)
        delta = [p - q for p, q in zip(fractions(moved), fractions(x), strict=True)]
        theirs, ours = Fraction(D[0]) - Fraction(D[1]), 2 * Fraction(c) - 2 * dot(fractions(a), delta)
        S = max(np.linalg.norm(U, axis=1).max(), np.linalg.norm(u)) + np.linalg.norm(size)
        R = np.linalg.norm(np.array([float(v) for v in delta]))
        unit = (d + 8) * UNIT * (S + np.linalg.norm(growth) * R) ** 2
        worst = max(worst, float(abs(theirs - ours)) / unit)
    assert worst <= units(n_steps, r, SEPARATE) <= 64
    assert worst > 1e-4  # errors were there to be bounded


def visible(problem, queries, x, size):
    """The problem with so large a scale that ``κS²`` is ``size``: rounding as large as the data."""
    per_square = query_rounding(problem, queries, x).kappa
    return replace(problem, scale=float(np.sqrt(size / per_square)))


@pytest.mark.parametrize("box", [False, True])
@pytest.mark.parametrize("norm", ["l2", "linf", "l1"])
@pytest.mark.parametrize(("name", "k"), [("knn_lower", 1), ("knn_lower", 2), ("knn_lower", 3), ("exact", 1)])
def test_f4_engines_leave_room_for_errors_large_enough_to_see(name, k, norm, box):
    """No comparison that errs by ``½κS²`` loses the vote inside the radius, by enumeration of all lost votes."""
    seen = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, k])
        limits = {"lower": -1.5, "upper": 1.5} if box else {}
        problem, queries, x, y = random_problem(rng, k, 3, norm=norm, d=2, n=k + 4, **limits)
        problem = visible(problem, queries, x, 10.0 ** rng.uniform(-3, 0))
        engine = choose(problem) if name == "exact" else engines[name]
        lower = engine(problem, queries, y, inputs=x, n_jobs=1).lower
        rounding = query_rounding(problem, queries, x)
        for t in np.flatnonzero((lower > 0) & np.isfinite(lower)):
            slack = 0.5 * rounding.kappa * rounding.size[t] ** 2
            assert lower[t] <= radius_with_slack(problem, queries[t], y[t], slack, x[t]) * (1 + 1e-8) + 1e-9
            seen += 1
    assert seen > 5


@pytest.mark.parametrize("box", [False, True])
@pytest.mark.parametrize("norm", ["l2", "ellipsoid"])
@pytest.mark.parametrize(("k", "ties"), [(1, "lowest"), (3, "lowest"), (3, "nearest"), (4, "lowest")])
def test_t5_the_horizon_leaves_room_for_rounding(k, ties, norm, box):
    """A point that a comparison with errors may still ask is not left out of the search."""
    for seed in range(10):
        rng = np.random.default_rng([seed, k])
        limits = {"lower": -1.5, "upper": 1.5} if box else {}
        problem, queries, x, y = random_problem(rng, k, 4, norm=norm, d=2, n=k + 5, ties=ties, **limits)
        problem = visible(problem, queries, x, 10.0 ** rng.uniform(-3, 0.3))
        lower = engines["exact_knn"](problem, queries, y, inputs=x, n_jobs=1).lower
        rounding = query_rounding(problem, queries, x)
        for t in np.flatnonzero((lower > 0) & np.isfinite(lower)):
            slack = 0.5 * rounding.kappa * rounding.size[t] ** 2
            assert lower[t] <= radius_with_slack(problem, queries[t], y[t], slack, x[t]) * (1 + 1e-8) + 1e-9


@pytest.mark.parametrize("decades", [4, 8, 11])
def test_t5_and_n1_the_reach_of_an_ellipsoid_includes_the_error_of_its_factor(decades):
    """``t² = T A_0⁻¹ Tᵀ`` for one row T, in rational arithmetic: the t of the code is never below it."""
    rng = np.random.default_rng(decades)
    for _ in range(40):
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        A0 = axes @ np.diag(10.0 ** np.linspace(0, -decades, 3)) @ axes.T
        A0, T = 0.5 * (A0 + A0.T), rng.normal(size=(1, 3))
        (a, b, c), (_, d, e), (*_, f) = ([Fraction(v) for v in row] for row in A0.tolist())
        adjugate = [
            [d * f - e * e, c * e - b * f, b * e - c * d],
            [c * e - b * f, a * f - c * c, b * c - a * e],
            [b * e - c * d, b * c - a * e, a * d - b * b],
        ]
        row = [Fraction(v) for v in T[0].tolist()]
        determinant = sum(x * y for x, y in zip((a, b, c), adjugate[0], strict=True))
        square = sum(u * v * adjugate[i][j] for i, u in enumerate(row) for j, v in enumerate(row)) / determinant
        assert Fraction(Ellipsoid(A0).coordinates(T, np.abs(T), reduce=True).lipschitz) ** 2 >= square


def test_f1_the_longest_sum_sets_the_unit():
    assert kappa(3, 4, n_terms=1000) == kappa(3, 1000)
    assert kappa(3, 4, n_terms=2) == kappa(3, 4)
