"""Directed probes inside certified radii of stock pipelines: a shorter move that changes the answer is a break."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adversary.families import small
from tests.adversary.setups import CLASSIFIERS, DATA, NORMS, STEPS, THREATS, Setup, attack_setup, setups


@small(4)
@given(setups)
def test_no_probe_breaks_a_radius(setup):
    attack_setup(setup).check()


@pytest.mark.parametrize("classifier", sorted(CLASSIFIERS))
@small(1)
@given(st.integers(0, 2**32 - 1), st.sampled_from(DATA), st.sampled_from(["standard", "pca", "none"]))
def test_every_classifier(classifier, seed, data, steps):
    tally = attack_setup(Setup(seed, steps, classifier, data, exponent=4, norm="l2", threat="all", witness=False))
    tally.check()
    assert not tally.refused


@pytest.mark.parametrize("steps", sorted(STEPS))
@small(1)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["holdfast 1", "brute 1", "kd_tree 1", "ball_tree 1"]))
def test_every_step(steps, seed, classifier):
    tally = attack_setup(Setup(seed, steps, classifier, "offset", exponent=5, witness=False))
    tally.check()
    assert not tally.refused


@pytest.mark.parametrize("norm", NORMS)
@small(2)
@given(st.sampled_from(THREATS))
def test_every_norm(norm, threat):
    tally = attack_setup(
        Setup(3, "standard", "holdfast 3", "normal", norm=norm, threat=threat, budget=20, witness=False)
    )
    tally.check()
    assert tally.tries > 500  # the opponent is not asleep
