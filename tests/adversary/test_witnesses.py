"""Witnesses hold for the row alone as well as in the batch, and respect what may move."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.adversary import witnesses
from tests.adversary.families import small
from tests.adversary.setups import NORMS, THREATS, Setup, setups


@small(3)
@given(witnesses.offsets)
def test_behind_large_offsets(setup):
    witnesses.attack(setup).check()


# A single witness among the rows: to a matrix product it was no batch.
@example(Setup(34961005, "pca, normalizer", "brute 2", "offset", 4, "l1", "all", 200))
@small(2)
@given(setups)
def test_of_stock_pipelines(setup):
    witnesses.attack(setup).check()


@pytest.mark.parametrize("threat", THREATS)
@small(1)
@given(st.sampled_from(NORMS), st.integers(0, 2**32 - 1), st.sampled_from(["holdfast 1", "brute 3", "logistic"]))
def test_every_threat(threat, norm, seed, classifier):
    tally = witnesses.attack(Setup(seed, "standard", classifier, norm=norm, threat=threat, budget=20))
    tally.check()
    assert tally.tries > 5
