"""Lemma K2: every vote that one class wins lies in a piece of its kinds, and the search bounds it."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from holdfast.certificates import Budget, exact_knn
from holdfast.certificates.engines.neighbors import kinds_of
from tests.certificates.brute_force import exact_radius, make_problem, random_problem
from tests.certificates.lemmas.test_branch import elect


def in_a_piece(kinds, phi, labels, y, c, ties) -> bool:
    """Whether some choice of L, O and S has all its rows satisfied, by enumeration."""
    P, own = (np.flatnonzero(labels == label) for label in (y, c))
    third = np.flatnonzero((labels != y) & (labels != c))
    for kind in kinds:
        for L, O in product(combinations(own, kind["n_own"]), combinations(third, kind["n_other"])):
            tally = np.bincount(labels[list(O)], minlength=labels.max() + 1)
            most = np.where((np.arange(tally.size) < c) & (ties == "lowest"), kind["n_own"] - 1, kind["n_own"])
            top = phi[[*L, *O]].max()
            if (tally > most).any() or (phi[P] < top).sum() > kind["n_excused"]:
                continue
            level = [i for i in O if tally[labels[i]] == kind["n_own"]] if kind["leads"] >= 2 else []
            ahead_of = [*level, *(P if kind["leads"] % 2 else [])]
            if phi[list(L)].min() > phi[ahead_of].min(initial=np.inf):
                continue
            if top <= phi[np.setdiff1d(third, O)].min(initial=np.inf):
                return True
    return False


@pytest.mark.parametrize("ties", ["nearest", "lowest"])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
def test_k2_every_victory_lies_in_a_piece(k, ties):
    """Distances of 0 to 3, where nearly all are equal, and few."""
    rng = np.random.default_rng(k)
    seen = 0
    for _ in range(20):
        labels = rng.integers(4, size=k + 4)
        labels[:4] = np.arange(4)
        problem = make_problem(rng.normal(size=(len(labels), 2)), labels, np.eye(2), k, n_classes=4, ties=ties)
        phi = rng.integers(0, rng.choice([2, 4, 50]), len(labels)).astype(float)
        c = int(elect(phi, labels, k, ties)[0])
        for y in {0, 1, 2, 3} - {c}:
            assert in_a_piece(kinds_of(replace(problem, goal=c), y), phi, labels, y, c, ties)
            seen += 1
    assert seen == 60


@pytest.mark.parametrize(
    ("k", "ties", "norm"),
    [
        (2, "nearest", "l2"),
        (3, "lowest", "l2"),
        (3, "nearest", "ellipsoid"),
        (4, "lowest", "linf"),
        (5, "nearest", "l2"),
    ],
)
def test_k2_the_bounds_hold_and_nearly_always_meet(k, ties, norm):
    """Against every set of k nearest points, each with a program of another solver."""
    rng = np.random.default_rng(10 * k)
    exact = met = 0
    for case in range(2):
        box = {"lower": -2.0, "upper": 2.0} if case == 1 else {}
        problem, start, x, y = random_problem(rng, k, 3 + case % 2, norm=norm, ties=ties, d=2, **box)
        for goal in range(problem.n_classes):
            asked = replace(problem, goal=goal)
            at = np.flatnonzero(y != goal)
            if not at.size:
                continue
            found = exact_knn(asked, start[at], y[at], inputs=x[at], budget=Budget(3000))
            for i, t in enumerate(at):
                truth = exact_radius(asked, start[t], y[t], x[t])
                assert found.lower[i] <= truth * (1 + 1e-7) + 1e-9
                assert found.upper[i] >= truth * (1 - 1e-7) - 1e-9
                exact += 1
                met += found.lower[i] >= truth * (1 - 1e-6) or truth == np.inf == found.lower[i]
    assert met >= 0.8 * exact
