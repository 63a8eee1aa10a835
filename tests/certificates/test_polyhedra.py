"""L1, L∞, boxes and relations: radii and verdicts against mixed-integer programs and against enumeration."""

import os
from dataclasses import replace

import numpy as np
import pytest

from holdfast.certificates import Budget, choose, exact_knn
from tests.certificates.brute_force import NORMS, exact_radius, random_problem, votes
from tests.certificates.mixed_integer import FAR, milp_loses, milp_radius
from tests.sizes import FULL

ROUNDS = int(os.environ.get("HOLDFAST_PROGRAMS", "1"))  # of 140 problems
BUDGET = Budget(20_000)
LIMITS = ("none", "box", "one-sided", "relations", "box and relations")


def limited(rng, limits: str, x: np.ndarray) -> dict:
    """Limits of moves that every row of x keeps."""
    d, options = x.shape[1], {}
    if "box" in limits:
        options |= {"lower": x.min(axis=0) - 0.3, "upper": x.max(axis=0) + 0.4}
    if limits == "one-sided":
        options |= {"only_up": [0], "only_down": [1]}
    if "relations" in limits:
        A = rng.normal(size=(2, d))
        options["relations"] = (A, (x @ A.T).max(axis=0) + 0.1)
    return options


def problem_with(seed, k, C, norm, limits, ties, n, d=3):
    """A problem, its queries, inputs and predictions."""
    x = random_problem(np.random.default_rng(seed), k, C, "random", norm, n=n, d=d)[2]
    options = limited(np.random.default_rng([*seed, 1]), limits, x)
    problem, queries, x, prediction = random_problem(
        np.random.default_rng(seed), k, C, "random", norm, n=n, d=d, ties=ties, **options
    )
    return problem, queries, x, prediction


def check_milp(seed, k, C, norm, limits, ties):
    """The two bounds meet the program; the verdicts a little below and above it are right."""
    problem, queries, x, prediction = problem_with(seed, k, C, norm, limits, ties, n=k + 7)
    u, row, y = queries[:1], x[:1], prediction[:1]
    exact = milp_radius(problem, u[0], int(y[0]), row[0])
    found = exact_knn(problem, u, y, inputs=row, n_jobs=1, budget=BUDGET)
    if exact == np.inf or exact > 0.9 * FAR:
        assert found.upper[0] > 0.8 * FAR
        return
    assert found.lower[0] <= exact * (1 + 1e-9) + 1e-11
    np.testing.assert_allclose([found.lower[0], found.upper[0]], exact, rtol=1e-5, atol=1e-7)
    for share in (0.5, 0.99, 1.01, 1.5):
        verdict = exact_knn(problem, u, y, inputs=row, n_jobs=1, budget=replace(BUDGET, at=share * exact))
        if share < 1:
            assert verdict.lower[0] > share * exact
        else:
            assert verdict.upper[0] <= share * exact
            assert verdict.lower[0] <= exact * (1 + 1e-9)


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("norm", ["linf", "l1"])
@pytest.mark.parametrize("k", [2, 5])
def test_radii_and_verdicts_are_those_of_mixed_integer_programs(k, norm, limits):
    number = LIMITS.index(limits)
    check_milp([k, number], k, 2 + (k + number) % 2, norm, limits, "lowest" if (k + number) % 3 else "nearest")


@pytest.mark.parametrize("norm", ["linf", "l1"])
@pytest.mark.parametrize("k", range(1, 8))
def test_verdicts_are_those_of_mixed_integer_programs(k, norm):
    """Two and three classes in turn, every kind of limit, both tie rules: 70 problems of two sizes each, or more."""
    for round_ in range(ROUNDS):
        for number, limits in enumerate(LIMITS):
            for C in (2, 3) if FULL or ROUNDS > 1 else (2 + (k + number) % 2,):
                ties = "lowest" if (k + number + C) % 2 else "nearest"
                problem, queries, x, prediction = problem_with(
                    [round_, k, C, number], k, C, norm, limits, ties, n=k + 3, d=2
                )
                u, row, y = queries[:1], x[:1], prediction[:1]
                found = exact_knn(problem, u, y, inputs=row, n_jobs=1, budget=BUDGET)
                if found.upper[0] > 0.9 * FAR:
                    assert not milp_loses(problem, u[0], int(y[0]), row[0], 0.9 * min(found.lower[0], FAR))
                    continue
                np.testing.assert_allclose(found.lower, found.upper, rtol=1e-5, atol=1e-7)
                for share, lost in ((0.98, False), (1.02, True)):
                    at = share * float(found.upper[0])
                    assert milp_loses(problem, u[0], int(y[0]), row[0], at) == lost
                    verdict = exact_knn(problem, u, y, inputs=row, n_jobs=1, budget=replace(BUDGET, at=at))
                    assert (verdict.upper[0] <= at, verdict.lower[0] > at) == (lost, not lost)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("k", "C"), [(1, 3), (2, 2), (3, 3)])
def test_relations_in_every_norm_against_enumeration(norm, k, C):
    for seed in range(2):
        for limits in ("relations", "box and relations"):
            problem, queries, x, prediction = problem_with([seed, k], k, C, norm, limits, "nearest", n=k + 5)
            exact = np.array([exact_radius(problem, u, y, r) for u, y, r in zip(queries, prediction, x, strict=True)])
            found = choose(problem)(problem, queries, prediction, inputs=x, n_jobs=1, budget=BUDGET)
            near = exact < 10
            np.testing.assert_allclose(found.lower[near], exact[near], rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(found.upper[near], exact[near], rtol=1e-5, atol=1e-8)
            A, b = problem.moves.relations
            moved = (x + found.delta)[np.isfinite(found.upper)]
            assert (moved @ A.T <= b + 1e-8).all()
            assert (votes(problem, moved @ problem.T.T) != prediction[np.isfinite(found.upper)]).all()


@pytest.mark.parametrize("norm", NORMS)
def test_more_moves_never_have_a_larger_radius(norm):
    for seed in range(4):
        radii = []
        for limits in ("none", "relations", "box and relations"):
            problem, queries, x, prediction = problem_with([seed, 9], 3, 3, norm, limits, "nearest", n=12)
            radii.append(choose(problem)(problem, queries, prediction, inputs=x, n_jobs=1, budget=BUDGET).lower)
        assert (radii[0] <= radii[1] * (1 + 1e-6)).all()
        assert (radii[0] <= radii[2] * (1 + 1e-6)).all()


def test_the_norms_keep_their_order():
    """``‖δ‖∞ ≤ ‖δ‖₂ ≤ ‖δ‖₁ ≤ √d ‖δ‖₂``, so the radii do, too."""
    for seed in range(6):
        radius = {}
        for norm in ("linf", "l2", "l1"):
            problem, queries, x, prediction = random_problem(np.random.default_rng(seed), 5, 3, "random", norm, n=30)
            radius[norm] = exact_knn(problem, queries, prediction, n_jobs=1, budget=BUDGET)
        assert (radius["linf"].lower <= radius["l2"].upper).all()
        assert (radius["l2"].lower <= radius["l1"].upper).all()
        assert (radius["l1"].lower <= np.sqrt(3) * radius["l2"].upper).all()
        assert (radius["l2"].lower <= np.sqrt(3) * radius["linf"].upper).all()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("work", [0, 1, 5, 30])
def test_a_verdict_that_is_cut_short_is_sound(norm, work):
    problem, queries, x, prediction = random_problem(np.random.default_rng(2), 5, 3, "random", norm, n=40)
    full = exact_knn(problem, queries, prediction, n_jobs=1, budget=BUDGET)
    for at in (0.3, 0.9, 1.1):
        sizes = at * full.upper
        for t in range(len(queries)):
            budget = Budget(work, at=float(sizes[t]))
            found = exact_knn(problem, queries[t : t + 1], prediction[t : t + 1], n_jobs=1, budget=budget)
            assert found.lower[0] <= full.upper[t]
            assert found.upper[0] >= full.lower[t]
            assert found.lower[0] <= sizes[t] * (1 + 1e-8)  # it need not say more than was asked
