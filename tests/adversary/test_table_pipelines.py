"""Pipelines of tables: no move shorter than a radius changes an answer, whatever the columns hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adversary import tables
from tests.adversary.families import small
from tests.adversary.tables import TableCase

SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("steps", sorted(tables.STEPS))
@small(1)
@given(SEEDS, st.sampled_from(["brute 1", "logistic"]), st.sampled_from(tables.NORMS))
def test_every_step(steps, seed, classifier, norm):
    tally = tables.attack(TableCase(seed, steps, classifier, "normal", "frame", norm, "free"))
    tally.check()
    assert not tally.refused


@pytest.mark.parametrize("threat", tables.THREATS)
@small(1)
@given(SEEDS, st.sampled_from(["one-hot", "ordinal", "log1p"]), st.sampled_from(tables.NORMS), st.booleans())
def test_every_threat(threat, seed, steps, norm, verdict):
    tally = tables.attack(TableCase(seed, steps, "holdfast 3", "normal", "frame", norm, threat, verdict))
    tally.check()
    assert not tally.refused
    assert tally.tries > 200  # the opponent is not asleep


@pytest.mark.parametrize("dress", sorted(tables.DRESSES))
@small(1)
@given(SEEDS, st.sampled_from(["one-hot", "indicators", "power"]))
def test_every_dress(dress, seed, steps):
    tables.attack(TableCase(seed, steps, "brute 1", "lattice", dress, "l2", "frozen")).check()


@small(4)
@given(st.one_of(tables.straight, tables.bent))
def test_anything(case):
    tables.attack(case).check()
