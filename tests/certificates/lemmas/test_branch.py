"""Lemmas T1 to T4: the pieces hold every lost vote, and a node's bound holds for all below it."""

from itertools import combinations

import numpy as np
import pytest
import quadprog
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.certificates import Budget, exact_knn
from tests.certificates.brute_force import exact_radius, random_problem
from tests.certificates.lemmas.code import Rounding, along_after_one_row, empty_active_set, length_of_two


def elect(phi, labels, k, ties):
    """The winner, and the k nearest; of equally near points the first counts as nearer."""
    nearest = sorted(range(len(phi)), key=lambda i: (phi[i], i))[:k]
    tally = {c: sum(labels[i] == c for i in nearest) for c in set(labels)}
    tied = [c for c in tally if tally[c] == max(tally.values())]
    winner = min(tied) if ties == "lowest" else next(labels[i] for i in nearest if labels[i] in tied)
    return winner, nearest


def kinds(k, y, classes, ties):
    """(class, q, members of it, other members, how many of these are of it at most, whether one leads)."""
    others = [c for c in classes if c != y]
    for q in range(k // 2 + 1):
        if len(others) == 1 and q < (k - 1) // 2:
            continue
        if q == 0:
            yield None, 0, 0, k, 2 if k > 2 else k, False
            continue
        for c in others:
            if k - 2 * q - 1 >= 0:
                yield c, q, q + 1, k - 2 * q - 1, 1, False
            if (ties == "nearest" or c < y) and not (len(others) == 1 and k % 2):
                yield c, q, q, k - 2 * q, 0, ties == "nearest"


def in_a_piece(phi, labels, k, y, ties) -> bool:
    """Whether some choice of L, O and S has all its rows satisfied, by enumeration."""
    P = [i for i, label in enumerate(labels) if label == y]
    N = [i for i, label in enumerate(labels) if label != y]
    for c, q, n_own, n_other, again, leads in kinds(k, y, set(labels), ties):
        own = [i for i in N if labels[i] == c]
        for L in combinations(own, n_own):
            for O in combinations([i for i in N if i not in L], n_other):
                if max((sum(labels[i] == e for i in O) for e in ({c} if L else set(labels))), default=0) > again:
                    continue
                top = max(phi[i] for i in (*L, *O))
                if sum(phi[j] < top for j in P) > q:  # more violated targets than can be excused
                    continue
                if leads and min(phi[i] for i in L) > min((phi[j] for j in P), default=np.inf):
                    continue
                outside = [i for i in N if labels[i] != c and i not in O]
                if c is not None and L and outside and max(phi[i] for i in L) > min(phi[i] for i in outside):
                    continue
                return True
    return False


votes_ = st.integers(4, 7).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n), st.lists(st.integers(0, 2), min_size=n, max_size=n)
    )
)


@pytest.mark.parametrize("ties", ["nearest", "lowest"])
@given(vote=votes_, k=st.integers(1, 6))
def test_t1_every_lost_vote_lies_in_a_piece(ties, vote, k):
    """Distances 0 to 4, so that most votes have equals."""
    phi, labels = vote
    assume(k <= len(phi))
    winner, _ = elect(phi, labels, k, ties)
    for y in set(labels) - {winner}:
        assert in_a_piece(phi, labels, k, y, ties)


@pytest.mark.parametrize("ties", ["nearest", "lowest"])
@given(vote=votes_, k=st.integers(1, 6), seed=st.integers(0, 999))
def test_t2_without_equals_a_piece_is_a_lost_vote(ties, vote, k, seed):
    phi, labels = vote
    assume(k <= len(phi))
    phi = np.random.default_rng(seed).permutation(len(phi)).tolist()
    winner, _ = elect(phi, labels, k, ties)
    if len(set(labels)) > 1:
        assert not in_a_piece(phi, labels, k, winner, ties)


vector = st.lists(st.integers(-9, 9), min_size=3, max_size=3).filter(any).map(lambda v: np.array(v, float))


@given(e=vector, a=vector, along=st.integers(1, 40), c=st.integers(-40, 40), seed=st.integers(0, 99))
def test_t3_two_rows(e, a, along, c, seed):
    """No w with ``w · ẑ ≥ along`` and ``a · w ≥ c`` is shorter; and the bound is the minimum itself."""
    e, along = e / np.linalg.norm(e), along / 10
    bound = length_of_two(along, float(a @ e), float(np.linalg.norm(a)), float(c))
    rows, levels = np.array([e, a]), np.array([along, float(c)])
    if np.linalg.norm(np.cross(e, a)) > 1e-6:
        shortest = np.sqrt(2 * quadprog.solve_qp(np.eye(3), np.zeros(3), rows.T.copy(), levels)[1])
        assert bound <= shortest * (1 + 1e-10)
        assert max(bound, along) >= shortest * (1 - 1e-9)
    w = np.random.default_rng(seed).normal(size=(200, 3)) * 10
    kept = (w @ rows.T >= levels).all(axis=1)
    assert (np.linalg.norm(w[kept], axis=1) >= bound).all()


@pytest.mark.parametrize("ties", ["nearest", "lowest"])
@pytest.mark.parametrize(("k", "C"), [(2, 3), (3, 2), (4, 3), (5, 3)])
def test_t4_bounds_hold_whenever_the_search_stops(k, C, ties):
    for seed in range(3):
        problem, queries, _, y = random_problem(np.random.default_rng([seed, k]), k, C, d=2, ties=ties)
        exact = np.array([exact_radius(problem, u, label) for u, label in zip(queries, y, strict=True)])
        before = np.zeros(len(queries))
        for work in (0, 1, 2, 3, 5, 9, 17, 65, 100_000):
            lower, upper, _ = exact_knn(problem, queries, y, n_jobs=1, budget=Budget(work))
            assert (lower <= exact * (1 + 1e-9) + 1e-12).all()
            assert (upper >= exact * (1 - 1e-9)).all()
            assert (lower >= before * (1 - 1e-12)).all()  # more work never costs a bound
            before = lower
        close = np.isfinite(exact) & (exact < 30)
        np.testing.assert_allclose(before[close], exact[close], rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("norm", ["l2", "linf", "l1"])
@pytest.mark.parametrize(("k", "C"), [(2, 3), (3, 2), (3, 3), (5, 3)])
def test_t4_bounds_hold_where_a_verdict_stopped_the_search(k, C, norm):
    """A change seen at the size asked for ends the search, however far from the closest change it is."""
    for seed in range(3):
        problem, queries, x, y = random_problem(np.random.default_rng([seed, k, C]), k, C, "random", norm, d=2)
        whole = exact_knn(problem, queries, y, inputs=x, n_jobs=1, budget=Budget(100_000))
        for times in (1.001, 1.3, 2.0, 5.0):
            for t in np.flatnonzero(np.isfinite(whole.upper)):
                at, one = times * float(whole.upper[t]), slice(t, t + 1)
                found = exact_knn(problem, queries[one], y[one], inputs=x[one], n_jobs=1, budget=Budget(10_000, at=at))
                assert found.upper[0] <= at
                assert found.lower[0] <= whole.upper[t] * (1 + 1e-9) + 1e-12


def test_t3_an_error_of_the_rows_counts_for_the_whole_move():
    """The row (1, 0) · z ≥ 1 is off by w = 0.1: it may be (1, 0.1), and (0.2, 8) meets it, shorter than 10."""
    rounding = Rounding(0.0, 1.0, 1.0, 0.1)
    assert along_after_one_row(np.array([1.0, 0.0]), 1.0, empty_active_set(2), rounding, 10.0) <= 0.2
