"""Columns far from 1, float32 bins and sums of many terms: certified soundly, or refused."""

import pytest
from hypothesis import given

from tests.adversary import precision
from tests.adversary.families import small


@pytest.mark.parametrize("column", ["years of birth", "hPa", "below zero"])
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_slopes_of_columns_far_from_one(column, norm):
    tally = precision.attack_shifted(precision.PrecisionCase(1, column, "yeo-johnson", "logistic", norm))
    tally.check()
    assert tally.tries > 1000


@small(2)
@given(precision.shifted)
def test_monotone_steps_of_columns_far_from_one(case):
    precision.attack_shifted(case).check()


@small(3)
@given(precision.binned)
def test_bins_in_single_precision(case):
    precision.attack_binned(case).check()


def test_a_linear_svc_with_many_support_vectors():
    tally = precision.attack_long_sum(0, vectors=40_000)
    tally.check()
    assert tally.tries > 1000
