"""Lemmas U1 and U2: rounding sums to few digits, and how often two orders still differ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.certificates.lemmas.code import round_to_bits


@given(
    x=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6),
    digits=st.integers(4, 40),
    exponent=st.integers(-200, 200),
)
def test_u1_the_nearest_multiple_of_the_unit(x, digits, exponent):
    x = np.ldexp(np.array(x), exponent)
    got = round_to_bits(x, digits)
    largest = np.abs(x).max()
    if largest == 0:
        assert (got == 0).all()
        return
    unit = 2.0 ** max(int(np.frexp(largest)[1]) - digits, -1000)
    assert largest * 2.0**-digits <= unit or unit == 2.0**-1000
    np.testing.assert_array_equal(got, np.round(x / unit) * unit)  # half to even, both


def test_u2_numbers_differ_as_often_as_a_boundary_lies_between_them():
    """Uniform numbers and errors of order η: the share that rounds differently is ``E|Δ| / unit``."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=1_000_000)
    x[0] = 0.99  # the largest: the unit is 2⁻²⁴
    noise = 3e-10 * rng.normal(size=x.size)
    noise[0] = 0.0
    share = np.mean(round_to_bits(x) != round_to_bits(x + noise))
    assert share == pytest.approx(np.abs(noise).mean() * 2.0**24, rel=0.05)


def test_u2_sums_in_two_orders():
    """Sums of 500 products in two orders: at 40 digits often enough to count, and by the same law at 24."""
    rng = np.random.default_rng(1)
    p, trials, digits = 60, 40, 40
    upper = np.triu_indices(p)
    differ = expected = count = 0
    for _ in range(trials):
        X, w = rng.normal(size=(500, p)), rng.normal(size=500)
        order = rng.permutation(500)
        G, H = X.T @ (w[:, None] * X), X[order].T @ (w[order, None] * X[order])
        unit = 2.0 ** (int(np.frexp(np.abs(G).max())[1]) - digits)
        differ += np.sum((round_to_bits(G, digits) != round_to_bits(H, digits))[upper])
        expected += np.abs(G - H)[upper].sum() / unit
        count += len(upper[0])
    assert expected / 3 < differ < expected * 3
    at_24 = expected / count * 2.0 ** (24 - digits)
    assert 1e-10 < at_24 < 1e-8  # an entry in a billion: the number that the guide states
