"""Lemmas D1 to D3: votes that depend on distances themselves, against enumeration, rational numbers and search."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.certificates import Moves
from holdfast.certificates.engines.distances import _Query, _Reach, distance_ranges
from holdfast.certificates.norms import L1, L2, LInf
from holdfast.certificates.questions import DistanceProblem

NORMS = {"l2": L2(), "linf": LInf(), "l1": L1()}


def made(rng, p=2.0, k=3, weighted=True, n=14, r=2, d=2, **options) -> tuple[DistanceProblem, np.ndarray]:
    """A small problem and a query."""
    problem = DistanceProblem(
        rng.normal(size=(n, r)), rng.integers(0, 3, n), rng.normal(size=(r, d)), 3, k, p=p, weighted=weighted, **options
    )
    return problem, rng.normal(size=r)


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(0, 2), st.integers(0, 2)), min_size=5, max_size=6
    ),
    st.integers(1, 4),
    st.booleans(),
)  # fmt: skip
def test_d1_is_exact_for_two_classes_and_sound_for_three(points, k, weighted):
    """All ends of all ranges, in rational numbers: distances between them make no worse a vote."""
    least = np.array([a for a, _, _ in points], float)
    most = least + np.array([w for _, w, _ in points])
    labels = np.array([c for _, _, c in points])
    problem = DistanceProblem(np.zeros((len(points), 1)), labels, np.eye(1), 3, k, weighted=weighted)
    y = int(labels[0])
    sure = all(
        _surely([Fraction(int(d)) for d in ends], labels, k, y, weighted)
        for ends in product(*[sorted({a, b}) for a, b in zip(least, most, strict=True)])
    )
    held = problem.holds(least, most, y)
    assert sure or not held
    if len(set(labels)) == 2:
        assert held == sure


def _surely(distances, labels, k, y, weighted) -> bool:
    """Whether y has the largest sum, alone, in every set of k points none of which is farther than one outside."""
    for B in combinations(range(len(labels)), k):
        if max(distances[i] for i in B) > min((distances[i] for i in range(len(labels)) if i not in B), default=99):
            continue
        weight = {c: sum((1 / distances[i] if weighted else 1) for i in B if labels[i] == c) for c in set(labels)}
        if any(weight[c] >= weight.get(y, 0) for c in weight if c != y):
            return False
    return True


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, np.inf])
def test_d1_d2_d3_no_move_inside_the_bound_changes_the_vote(p, norm):
    rng = np.random.default_rng(int(7 * p) if np.isfinite(p) else 1)
    certified = 0
    for trial in range(12):
        k = (0, 1, 2, 3, 5)[trial % 5]
        problem, u = made(
            rng, p, k, weighted=trial % 2 == 0, within=1.5, outlier=1,
            moves=Moves(NORMS[norm], unit=np.array([1.0, 0.5])),
        )  # fmt: skip
        y = problem.vote(u[None])
        radius = distance_ranges(problem, u[None], y).lower[0]
        certified += radius > 0
        moves = rng.normal(size=(300, 2))
        moves[:20] = np.repeat(rng.normal(size=(4, 2)), 5, axis=0).round()
        size = min(radius, 10.0) * 0.999 * np.where(np.arange(300) % 3, 1.0, rng.random(300))
        moves *= (size / np.maximum(problem.moves.lengths(moves), 1e-300))[:, None]
        np.testing.assert_array_equal(problem.vote(u + moves @ problem.T.T), y[0])
    assert certified > 6


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, np.inf])
def test_d3_every_distance_stays_in_its_range_also_in_a_box(p):
    rng = np.random.default_rng(3)
    for norm in NORMS.values():
        problem, u = made(
            rng, p, d=3, moves=Moves(norm, lower=np.full(3, -0.2), only_up=np.array([True, False, False]))
        )
        x = np.zeros(3)
        down, up = problem.moves.room(x[None])
        row = _Query(problem, _Reach(problem), u, 0, x, down[0], up[0])
        for size in (0.01, 0.3, 2.0):
            least, most = row.ranges(size, True)
            delta = rng.normal(size=(200, 3))
            delta *= size / problem.moves.lengths(delta)[:, None]
            delta = np.clip(delta, -down, up)
            distances = np.array([problem.distances(u + problem.T @ move) for move in delta])
            assert (distances >= least).all()
            assert (distances <= most).all()


def test_d2_a_weighted_vote_that_one_near_point_decides():
    """k' = 1 cannot be left out: one point of another class, come near enough, outweighs two."""
    points = np.array([[-1.0], [-1.2], [0.9]])
    problem = DistanceProblem(points, np.array([0, 0, 1]), np.eye(1), 2, 3, weighted=True)
    radius = distance_ranges(problem, np.array([[-0.5]]), np.array([0])).lower[0]
    flips = np.linspace(0, 2, 20_001)
    first = flips[np.argmax(problem.vote(-0.5 + flips[:, None]) != 0)]
    assert 0.5 * first < radius <= first
