"""Lemma N1: within the horizon no vote asks a point that was left out, though comparisons err."""

from fractions import Fraction
from types import SimpleNamespace

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.certificates.lemmas.code import Rounding, horizon


@given(
    kth=st.floats(0.0, 10.0),
    more=st.floats(1e-6, 10.0),
    stretch=st.floats(0.01, 100.0),
    growth=st.floats(1.0, 10.0),
    kappa=st.sampled_from([1e-14, 1e-6, 1e-3, 0.05]),
    S=st.floats(1.0, 20.0),
)
def test_n1_a_point_left_out_stays_farther_than_the_kth_by_more_than_rounding(kth, more, stretch, growth, kappa, S):
    """κ is made large, so that a missing term would be seen; the distances are as near as a move can make them."""
    rho = kth + more
    growth = growth * stretch  # ‖ |T| |δ| ‖ grows at least as fast as ‖Tδ‖
    coordinates = SimpleNamespace(lipschitz=stretch, growth=growth)
    kept_as = rho**2 + 2 * kappa * S**2  # the square as rounded, with all of its own allowance
    H = horizon(SimpleNamespace(coordinates=coordinates), kth, kept_as, Rounding(kappa, S, growth, 0.0))
    assume(H > 0)
    R, t, d, far = (Fraction(v) for v in (H, stretch, kth, rho))
    left = (far - t * R) ** 2 - (d + t * R) ** 2
    assert far - t * R > 0
    assert left >= Fraction(kappa) * (Fraction(S) + Fraction(growth) * R) ** 2
