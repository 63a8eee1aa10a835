"""Searches that stop early, at a verdict or for want of work: what they certify holds all the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adversary import stops
from tests.adversary.families import small
from tests.adversary.setups import NORMS
from tests.adversary.stops import Stop

SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("k", range(1, 8))
@small(1)
@given(SEEDS, st.sampled_from(NORMS), st.sampled_from([1.001, 1.3, 2.0]))
def test_verdicts_of_every_k(k, seed, norm, part):
    tally = stops.attack(Stop(seed, f"holdfast {k}", norm=norm, part=part))
    tally.check()
    assert tally.tries > 100  # the opponent is not asleep


@pytest.mark.parametrize("threat", stops.THREATS)
@small(1)
@given(SEEDS, st.sampled_from(NORMS), st.sampled_from([0.9, 1.3, 5.0]))
def test_verdicts_of_every_threat(threat, seed, norm, part):
    stops.attack(Stop(seed, "holdfast 3", threat=threat, norm=norm, part=part)).check()


@small(2)
@given(stops.verdicts)
def test_verdicts(case):
    stops.attack(case).check()


@small(2)
@given(stops.budgets)
def test_budgets(case):
    stops.attack(case).check()
