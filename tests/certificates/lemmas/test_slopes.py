"""Lemmas M1, M3 and M4: slopes and roundings of monotone maps, against 400 digits."""

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtri
from sklearn.datasets import load_wine
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
)

from holdfast.certificates.maps import FUNCTIONS, MONOTONE, ColumnMap, _trusted

WINE = load_wine().data[:, :4]
PLACES = {
    "as they are": (0, 1), "years": (1990, 12), "hPa": (1013, 8), "hPa, steady": (1013, 1), "kelvin": (288, 9),
    "below zero": (-30, 4), "far below zero": (-1000, 20), "prices": (1e5, 8e3), "tiny": (0, 1e-6),
    "tiny, shifted": (1e-3, 1e-5), "huge": (0, 1e6),
}  # fmt: skip


def column(place: str) -> np.ndarray:
    """Columns of wine somewhere else, in other units."""
    shift, scale = PLACES[place]
    return (WINE - WINE.mean(axis=0)) / WINE.std(axis=0) * scale + shift


def maps(step, width: int) -> list[ColumnMap]:
    return _trusted([MONOTONE[type(step)](step, i, width) for i in range(width)])


def power_of(step: PowerTransformer, i: int, x: float) -> Decimal:
    """g(x), exactly for the numbers that were fitted."""
    value, power = Decimal(float(x)), Decimal(float(step.lambdas_[i]))
    if step.method == "box-cox":
        base, exponent, sign = value, power, 1
    elif value >= 0:
        base, exponent, sign = value + 1, power, 1
    else:
        base, exponent, sign = 1 - value, 2 - power, -1
    raw = sign * (base.ln() if exponent == 0 else ((exponent * base.ln()).exp() - 1) / exponent)
    if step.standardize:
        raw = (raw - Decimal(float(step._scaler.mean_[i]))) / Decimal(float(step._scaler.scale_[i]))
    return raw


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("method", ["yeo-johnson", "box-cox"])
@pytest.mark.parametrize("standardize", [True, False])
def test_m4_slopes_of_powers_are_lipschitz_constants(place, method, standardize):
    X = column(place)
    if method == "box-cox" and X.min() <= 0:
        return  # it takes positive numbers only
    with np.errstate(all="ignore"):
        step = PowerTransformer(method=method, standardize=standardize).fit(X)
        found = maps(step, X.shape[1])
    rng, finite = np.random.default_rng(0), 0
    with localcontext() as context:
        context.prec = 400
        for i, map_ in enumerate(found):
            for width in X[:, i].std() * 10.0 ** np.array([-4.0, -1.0, 0.3]):
                middle = rng.choice(X[:, i])
                x = middle + width * np.array([-1.0, -0.4, 0.1, 0.7, 1.0])
                x = x[x > 0] if method == "box-cox" else x
                slope = map_.slope(float(x[0]), float(x[-1]))
                assert slope > 0
                if not np.isfinite(slope):
                    continue
                exact = [power_of(step, i, each) for each in x]
                for a, b, c, d in zip(x[:-1], x[1:], exact[:-1], exact[1:], strict=True):
                    assert d - c <= Decimal(slope) * (Decimal(float(b)) - Decimal(float(a)))
                for t, value in zip(map_(x), exact, strict=True):  # and 2η is at least twice the error of g
                    assert not np.isfinite(t) or 2 * abs(Decimal(float(t)) - value) <= Decimal(map_.error(t, t))
                finite += 1
    assert finite > 0 or not np.isfinite(step.lambdas_).all() or np.abs(step.lambdas_).max() > 50


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("distribution", ["uniform", "normal"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_m4_and_m1_slopes_and_rounding_of_quantiles(place, distribution, dtype):
    X = column(place).astype(dtype)
    step = QuantileTransformer(n_quantiles=40, output_distribution=distribution).fit(X)
    rng = np.random.default_rng(1)
    for i, map_ in enumerate(maps(step, X.shape[1])):
        q = np.unique(step.quantiles_[:, i].astype(np.float64))
        inside = np.sort(np.concatenate([q[2:-2], rng.uniform(q[2], q[-3], size=40)]))
        images = map_(inside)
        for a, b, c, d in zip(inside[:-1], inside[1:], images[:-1], images[1:], strict=True):
            assert d - c <= map_.slope(a, b) * (b - a) + map_.error(c, d)
        if distribution == "normal":  # near the ends one rounding of the level is far more than one of t
            near = q[-2] + (q[-1] - q[-2]) * (1 - 10.0 ** rng.uniform(-5, -0.1, size=40))
            near = near[near < q[-1] - 2e-7]
            top = float(step.references_[-1] - step.references_[-2])
            if len(q) == len(step.quantiles_):
                for x, t in zip(near, map_(near), strict=True):
                    rest = Fraction(top) * (Fraction(q[-1]) - Fraction(x)) / (Fraction(q[-1]) - Fraction(q[-2]))
                    exact = -float(ndtri(float(rest)))
                    assert 2 * abs(t - exact) <= map_.error(t, t)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_m4_slopes_of_functions(function):
    step = FunctionTransformer(function)
    (map_,) = maps(step, 1)
    rng = np.random.default_rng(2)
    for _ in range(200):
        x = np.sort(10.0 ** rng.uniform(-8, 2.5) * (1 + 10.0 ** rng.uniform(-6, 0) * rng.uniform(size=2)))
        a, b = x if function not in (np.exp, np.expm1, np.log1p) or rng.random() < 0.5 else -x[::-1] / 400
        with np.errstate(over="ignore"):
            exact = function(np.longdouble(b)) - function(np.longdouble(a))
        slope = map_.slope(float(a), float(b))
        assert not np.isfinite(slope) or exact <= slope * (np.longdouble(b) - np.longdouble(a)) * (1 + 1e-9) + 1e-18


@pytest.mark.parametrize("step", [MinMaxScaler(clip=True), MaxAbsScaler(clip=True)], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("place", PLACES)
def test_m4_slopes_of_clipped_scalers(step, place):
    X = column(place)
    step = step.fit(X)
    for i, map_ in enumerate(maps(step, X.shape[1])):
        x = np.sort(np.concatenate([X[:30, i], X[:, i].mean() + X[:, i].std() * np.linspace(-9, 9, 30)]))
        images = map_(x)
        for a, b, c, d in zip(x[:-1], x[1:], images[:-1], images[1:], strict=True):
            assert np.isfinite(map_.slope(a, b))
            assert d - c <= map_.slope(a, b) * (b - a) + map_.error(c, d)


def test_m4_a_slope_that_the_step_contradicts_is_not_used():
    step = PowerTransformer().fit(WINE)
    right = [MONOTONE[PowerTransformer](step, i, 4) for i in range(4)]
    wrong = [
        right[0],
        replace(right[1], slope=lambda low, high: 0.3 * right[1].slope(low, high)),
        replace(right[2], slope=lambda low, high: 0.0),
        replace(right[3], slope=lambda low, high: np.nan),
    ]
    slopes = [map_.slope(13.0, 14.0) for map_ in _trusted(wrong)]
    assert np.isfinite(slopes[0])
    assert slopes[1:] == [np.inf, np.inf, np.inf]


def test_m3_functions_give_the_same_digits_alone_strided_and_in_a_batch():
    """The interval of M3 is a point only if a function of one number depends on nothing but the number."""
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(0.01, 50, size=2_001), 10.0 ** rng.uniform(-12, 2, size=2_000)])
    table = np.column_stack([x, rng.normal(size=x.size), x])
    steps = [
        *(FunctionTransformer(function) for function in FUNCTIONS),
        PowerTransformer(),
        PowerTransformer("box-cox"),
    ]
    steps += [QuantileTransformer(n_quantiles=50, output_distribution=name) for name in ("uniform", "normal")]
    for step in steps:
        step.fit(x[:, None])
        whole = step.transform(x[:, None]).ravel()
        some = rng.choice(x.size, size=60, replace=False)
        np.testing.assert_array_equal(whole[some], [step.transform(x[t : t + 1, None])[0, 0] for t in some])
        for rows in (table[:, 2:], table[:, :1], np.asfortranarray(table)[:, :1], table[::-1, :1][::-1]):
            np.testing.assert_array_equal(step.transform(rows).ravel(), whole)
        np.testing.assert_array_equal(step.transform(x[1::3, None]).ravel(), whole[1::3])
