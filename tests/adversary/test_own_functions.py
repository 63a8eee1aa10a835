"""No function of one's own around a known model breaks a radius: it is refused, or asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adversary.families import small
from tests.adversary.own_functions import CLASSIFIERS, PLACES, Case, attack


@pytest.mark.parametrize("classifier", sorted(CLASSIFIERS))
@pytest.mark.parametrize("place", sorted(PLACES))
@small(1)
@given(st.integers(0, 2**32 - 1))
def test_every_place(place, classifier, seed):
    tally = attack(Case(seed, place, classifier, "l2", 0.8))
    tally.check()
    assert tally.refused == (place != "the class itself")
