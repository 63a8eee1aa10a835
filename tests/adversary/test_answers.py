"""Rows that are nearer than what counterfactuals proves: none has the answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adversary import answers
from tests.adversary.families import small
from tests.adversary.setups import Setup


@small(3)
@given(answers.straight)
def test_straight_chains(asked):
    answers.attack(asked).check()


@small(3)
@given(answers.bent)
def test_bent_chains(asked):
    answers.attack(asked).check()


@pytest.mark.parametrize("steps", answers.BENT)
@small(1)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2))
def test_scores_behind_every_monotone_step(steps, seed, target):
    for slack in (0.0, 0.03):
        answers.attack(answers.Asked(Setup(seed, classifier="logistic"), steps, target, slack)).check()
