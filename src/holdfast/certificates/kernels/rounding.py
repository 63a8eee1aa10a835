"""The radius that rounding leaves of a halfspace (Lemma F3); :mod:`holdfast.certificates.rounding` has the budget."""

from typing import NamedTuple

import numpy as np

from holdfast.numerics.compile import entry, inner


class Rounding(NamedTuple):
    """Error of a comparison of two squared distances after a move of size R: at most ``kappa (size + growth R)²``.

    Attributes
    ----------
    kappa : float
        Relative error of a comparison.
    size : float
        S, the magnitude of the numbers behind a query.
    growth : float
        g, how fast these numbers grow with the size of a move.
    map_error : float
        w, error of the slope of a halfspace beyond ordinary rounding.
    """

    kappa: float
    size: float
    growth: float
    map_error: float


@entry
def slack(rounding, reach):
    """``½ κ (S + g R)²``: a bound on the error of a level ``c`` after a move of size ``reach``."""
    far = rounding.size + rounding.growth * reach
    return 0.5 * rounding.kappa * far * far


@inner
def slack_within(rounding, reach):
    """:func:`slack` and ``w R``: for a level at moves up to ``reach``, whatever their direction (Lemma T3)."""
    return slack(rounding, reach) + rounding.map_error * reach


@inner
def product_error(rounding):
    """``κ S g``: a bound on the error of an inner product, for each unit of a move."""
    return rounding.kappa * rounding.size * rounding.growth


@entry
def slope_error(rounding):
    """``κ S g + w``: a bound on the error of the dual norm of a slope."""
    return product_error(rounding) + rounding.map_error


@entry
def safe_radius(c, a, rounding):
    """The largest R with ``a R ≤ c − ½κ(S + gR)²``: below it no rounding reaches the halfspace (Lemma F3).

    Parameters
    ----------
    c, a : float
        The halfspace ``a · δ ≥ c``, as ``c`` and the dual norm of a.
    rounding : Rounding

    Returns
    -------
    float
        0 where c is not clearly positive, infinity where nothing can move (a = g = 0).
    """
    C = c - slack(rounding, 0.0)
    if not C > 0.0:
        return 0.0
    A = 0.5 * rounding.kappa * rounding.growth * rounding.growth
    # 1e-14 and 1e-15 cover the few roundings of this function itself (Lemma F3).
    B = a * (1.0 + 1e-14) + slope_error(rounding)
    below = B + np.sqrt(B * B + 4.0 * A * C)
    if below == 0.0:
        return np.inf
    return 2.0 * C / below * (1.0 - 1e-15)
