"""Radii, witnesses and ``exact`` against enumeration; tolerated labels against flips."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adversary import subsets
from tests.adversary.families import small
from tests.adversary.setups import NORMS


@small(6)
@given(subsets.cases)
def test_enumeration_of_subsets(case):
    subsets.attack(case).check()


@pytest.mark.parametrize("ties", ["nearest", "lowest"])
@pytest.mark.parametrize("norm", NORMS)
@small(1)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.sampled_from(["normal", "lattice", "duplicates"]))
def test_every_norm_and_tie_rule(norm, ties, seed, k, data):
    tally = subsets.attack(subsets.Small(seed, k, 3, norm, ties, data, "free"))
    tally.check()
    assert tally.tries >= 6


@small(20)
@given(subsets.label_cases)
def test_tolerated_labels(case):
    subsets.attack_labels(case).check()
