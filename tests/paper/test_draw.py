"""Candidates: grids in full, grids that depend on what was drawn before, random draws."""

import numpy as np

from holdfast.paper import Uniform
from holdfast.paper.search import draw_parameters


def drawn(ranges, n_draws, seed=0):
    return draw_parameters(ranges, n_draws, n_features=4, tau_max=2.0, rng=np.random.RandomState(seed))


def test_a_small_grid_is_tried_in_full_and_in_order():
    ranges = {"a": [1, 2], "b": lambda known: range(known.n_features)}
    assert drawn(ranges, 8) == [{"a": a, "b": b} for a in (1, 2) for b in range(4)]


def test_of_a_large_grid_some_are_drawn():
    found = drawn({"a": list(range(100))}, 7)
    assert len(found) == 7
    assert sorted(c["a"] for c in found) == [c["a"] for c in found]


def test_a_list_may_depend_on_what_was_drawn():
    ranges = {"a": [1, 2], "b": lambda known: [10 * known.drawn["a"]]}
    assert drawn(ranges, 5) == [{"a": 1, "b": 10}, {"a": 2, "b": 20}]


def test_a_distribution_is_drawn_from_and_may_depend_on_what_was_drawn():
    ranges = {
        "a": [1.0, 2.0],
        "tau": lambda known: Uniform(0.0, known.tau_max),
        "b": lambda known: Uniform(0.0, 1.0 / known.drawn["tau"]),
    }
    found = drawn(ranges, 50)
    assert len(found) == 50
    assert found == drawn(ranges, 50)
    for c in found:
        assert 0 < c["tau"] <= 2
        assert 0 < c["b"] <= 1 / c["tau"]


def test_no_ranges_are_one_candidate():
    assert drawn({}, 5) == [{}]
