"""ColumnMap maps of single columns: quantiles, powers, clips, bins, functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
)

from holdfast.base.affine import AffineMap, NotAffine
from holdfast.certificates.columns import Kinds, Table

_DIGITS = 1e-12  # relative error of an image: some thousand roundings
_LEVEL = 32.0 * 2.0**-53  # twice the error of a level of a QuantileTransformer, 7 roundings, and of what is made of it
_EDGE = 1e-6  # a QuantileTransformer jumps within 1e-7 of its least and largest quantile
_SURE = 1.0 + 1e-6  # factor on slopes, for the rounding of their formulas
_LARGEST_POWER = 1e6  # up to this, a slope has less rounding than that
_SMALLEST_SLOPE = 1e-290  # and above this, no underflow
_GRID = np.array([-1e3, -30.0, -1.0, -0.1, 0.0, 0.1, 1.0, 30.0, 1e3])  # every slope is compared there

Slope = Callable[[float, float], float]  # a Lipschitz constant on an interval; infinite at a jump
Rounding = Callable[[float, float], float]


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """One column of a fitted step that maps every column by itself, by a monotone function g.

    Attributes
    ----------
    step : fitted step
    column, width : int
        The column of the step's input, and how many columns that has.
    slope : callable
        ``(low, high) -> s`` with ``|g(a) − g(b)| ≤ s|a − b|`` between low and high (Lemma M4).
    error : callable
        ``(low, high) -> 2η``, η the rounding of values of g between these.
    grid : ndarray
        Values of the column among which the slope is compared with g itself.
    """

    step: Any
    column: int
    width: int
    slope: Slope
    error: Rounding
    grid: np.ndarray

    def images(self, probe: np.ndarray) -> np.ndarray:
        """The step's own ``transform`` of rows (m, width); NaN where it has none."""
        if not len(probe):
            return probe
        positive = getattr(self.step, "method", None) == "box-cox"  # which refuses other rows
        probe = np.where(np.isfinite(probe) & (probe > 0 if positive else True), probe, np.nan)
        names = getattr(self.step, "feature_names_in_", None)
        if names is not None:
            from pandas import DataFrame  # installed: the names came from a data frame

            probe = DataFrame(probe, columns=names)
        with np.errstate(all="ignore"):
            try:
                return np.asarray(self.step.transform(probe), dtype=np.float64)
            except ValueError:  # a power that overflows somewhere
                if len(probe) == 1:
                    return np.full(probe.shape, np.nan)
        return np.vstack([self.images(row[None]) for row in np.asarray(probe)])

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """``g`` of some values."""
        probe = np.ones((len(values), self.width))
        probe[:, self.column] = values
        return self.images(probe)[:, self.column]

    def outwards(self, low: float, high: float) -> tuple[float, float]:
        """An interval of values as computed, widened by their rounding (Lemma M1)."""
        with np.errstate(invalid="ignore"):  # beyond float64
            return low - self.error(low, low), high + self.error(high, high)

    def contradicted(self, values: np.ndarray, images: np.ndarray) -> bool:
        """Whether a slope is below a difference quotient of neighbouring values by more than rounding."""
        seen = np.isfinite(images)
        x, t = values[seen], images[seen]
        return any(
            not abs(d - c) <= self.slope(float(a), float(b)) * (b - a) + self.error(float(c), float(d))
            for a, b, c, d in zip(x[:-1], x[1:], t[:-1], t[1:], strict=True)
            if a < b
        )


@dataclass(frozen=True, eq=False)
class Warp:
    """A coordinate ``t = g(weight · x + offset)`` of one column x.

    Attributes
    ----------
    source : int
        The column.
    weight, offset : float
        The affine steps before g.
    filled : float or None
        The input of g where x has a gap; None if nothing was filled in: then t is 0 there.
    map : ColumnMap
        g.
    gap : int or None
        The coordinate of an encoded row that is 1 where x has a gap.
    """

    source: int
    weight: float
    offset: float
    filled: float | None
    map: ColumnMap
    gap: int | None = None

    def same_as(self, other: "Warp") -> bool:
        """True for the same column of the same step."""
        mine, theirs = self.map, other.map
        same = (self.source, self.weight, self.offset) == (other.source, other.weight, other.offset)
        return same and mine.step == theirs.step and mine.column == theirs.column

    def inner(self, x):
        """The input of g."""
        return self.weight * x + self.offset


def _relative(constant: float, digits: float = _DIGITS) -> Rounding:
    """A part of the value and of the terms that cancel in it."""
    return lambda low, high: digits * (max(abs(low), abs(high)) + constant)


def _trusted(maps: Sequence[ColumnMap]) -> list[ColumnMap]:
    """The maps of a step; those whose slopes do not agree with the step's own ``transform`` have none any more.

    A slope that is infinite is sound: L2 and L1 then take the radius of L∞.
    """
    if not maps:
        return []
    longest = max(map_.grid.size for map_ in maps)
    # Shorter grids are filled up with their last value, which adds no difference.
    probe = np.array([np.append(m.grid, np.full(longest - m.grid.size, m.grid[-1])) for m in maps]).T
    images = maps[0].images(probe).T
    return [
        replace(map_, slope=lambda low, high: np.inf) if map_.contradicted(values, image) else map_
        for map_, values, image in zip(maps, probe.T, images, strict=True)
    ]


def bend(step, table: Table, kinds: Kinds) -> Table:
    """A monotone step: each column becomes a coordinate of its own, ``t = g(a x + b)`` of one feature x."""
    table = table.numbers(step)
    maps = _trusted([MONOTONE[type(step)](step, i, table.width) for i in range(table.width)])
    return _bent(step, table, kinds, list(enumerate(maps)))


def cut(step: KBinsDiscretizer, table: Table, kinds: Kinds) -> Table:
    """Bins: a coordinate ``[x ≥ edge]`` for each inner edge, of which numbers and indicators of bins are sums.

    With edges ``e_1 ≤ … ≤ e_m`` and ``c_b = [x ≥ e_b]`` the number of the bin is ``Σ c_b`` and the indicator of bin b
    is ``c_b − c_{b+1}`` (``c_0 = 1``, ``c_{m+1} = 0``).
    """
    if step.dtype is not None and np.dtype(step.dtype) != np.float64:
        raise ValueError(
            f"KBinsDiscretizer(dtype={np.dtype(step.dtype)}) rounds X before it is binned, which a certificate does "
            "not allow for: fit it with dtype=None or numpy.float64."
        )
    table = table.numbers(step)
    edges = [np.asarray(all_edges, dtype=np.float64)[1:-1] for all_edges in step.bin_edges_]
    maps = [(i, _threshold(float(edge))) for i, column in enumerate(edges) for edge in column]
    bent = _bent(step, table, kinds, maps)
    rows, constants, first = [], [], 0
    for column in edges:
        above = np.zeros((len(column) + 2, len(maps)))
        above[1:-1, first : first + len(column)] = np.eye(len(column))
        first += len(column)
        if step.encode == "ordinal":
            rows.append(above.sum(axis=0)[None])
            constants.append([0.0])
        else:
            rows.append(above[:-1] - above[1:])
            constants.append([1.0] + [0.0] * len(column))
    return bent.then(AffineMap.step(np.vstack(rows), np.concatenate(constants)))


def _bent(step, table: Table, kinds: Kinds, maps: list[tuple[int, "ColumnMap"]]) -> Table:
    """Coordinates that are monotone maps, each of one column of the table."""
    encoding, n = table.encoding, table.encoding.n_columns
    made, again = [], False
    for i, map_ in maps:
        row, offset = table.map.W[i], float(table.map.w0[i])
        at = np.flatnonzero(row[:n])
        allowed = {int(j) for j in at} | {encoding.gap(int(j)) for j in at if int(j) in encoding.gaps}
        if at.size != 1 or not set(np.flatnonzero(row).tolist()) <= allowed or int(at[0]) in encoding.categories:
            raise NotAffine(
                step, "it must come first on its columns, each of them one feature of X, perhaps filled in and scaled"
            )
        source = int(at[0])
        filled = None if table.gap[i] is not None else offset
        if filled is not None and source in encoding.gaps:
            filled += float(row[encoding.gap(source)])
        warp = Warp(source, float(row[source]), offset, filled, map_)
        known = [w for w in kinds.warps if w.same_as(warp)]
        if not known:
            kinds.warps.append(warp)
            again = True
        else:
            made.append(kinds.warps.index(known[0]))
    if again or max(made, default=-1) >= table.size - encoding.size:
        raise AgainWithWarps
    return table.bent(made, [table.gap[i] for i, _ in maps])


class AgainWithWarps(Exception):
    """A step has a new monotone map: the steps must be read again, with a coordinate for it."""


def _quantile(step: QuantileTransformer, i: int, width: int) -> ColumnMap:
    q, levels = np.asarray(step.quantiles_[:, i], dtype=np.float64), step.references_
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(np.diff(q) > 0, np.diff(levels) / np.diff(q), np.inf)
    is_normal = step.output_distribution == "normal"
    reach = 5.2 if is_normal else 1.0  # scikit-learn cuts there

    def steepness(t: float) -> float:
        """``dt/dp`` at most, for a level p and values up to t."""
        return float(np.sqrt(2.0 * np.pi) * np.exp(0.5 * min(t, reach) ** 2)) if is_normal else 1.0

    def slope(low: float, high: float) -> float:
        if not (low > q[0] + _EDGE and high < q[-1] - _EDGE):
            return np.inf
        first, last = np.searchsorted(q, low, side="left") - 1, np.searchsorted(q, high, side="right")
        steepest = float(slopes[max(first, 0) : max(last, 1)].max())
        return steepest * steepness(np.abs(ndtri(np.interp([low, high], q, levels))).max()) * _SURE

    def error(low: float, high: float) -> float:
        largest = max(abs(low), abs(high))
        return _DIGITS * (largest + reach) + _LEVEL * steepness(largest)

    return ColumnMap(step, i, width, slope, error, np.unique(q[:: max(1, q.size // 20)]))


def _power(step: PowerTransformer, i: int, width: int) -> ColumnMap:
    power, positive = float(step.lambdas_[i]), step.method == "box-cox"
    scale, mean = 1.0, 0.0
    if step.standardize:
        scale, mean = float(step._scaler.scale_[i]), float(step._scaler.mean_[i])

    def slope(low: float, high: float) -> float:
        x = np.array([low, high, 0.0] if low < 0.0 < high else [low, high])
        with np.errstate(all="ignore"):
            above = x >= 0.0
            base = x if positive else np.abs(x) + 1.0
            steepest = (base ** np.where(above | positive, power - 1.0, 1.0 - power)).max() / scale * _SURE
        usable = abs(power) <= _LARGEST_POWER and steepest > _SMALLEST_SLOPE  # False for NaN
        return float(steepest) if usable else np.inf

    size = abs(power) + 2.0
    least = max(min(abs(power), abs(power if positive else 2.0 - power)), 2e-16)  # below, it is a logarithm

    def error(low: float, high: float) -> float:
        terms = scale * max(abs(low), abs(high)) + abs(mean)  # before the mean is subtracted
        units = 30.0 + 10.0 * np.log1p(size * terms) + size
        return float(units * 2.0**-52 * (terms + 1.0 / least) / scale)

    with np.errstate(all="ignore"):  # where g is −3 … 3
        z = mean + scale * np.linspace(-3.0, 3.0, 13)
        exponent = np.where((z >= 0.0) | positive, power, 2.0 - power)
        z_size = z if positive else np.abs(z)
        grown = np.where(exponent == 0.0, z_size, np.log1p(exponent * z_size) / exponent)
        own = np.exp(grown) if positive else np.sign(z) * np.expm1(grown)
    return ColumnMap(step, i, width, slope, error, np.unique([*_GRID, *own[np.isfinite(own)]]))


def _clipped(step, i: int, width: int) -> ColumnMap:
    if not getattr(step, "clip", False):
        raise NotAffine(step, "clip is False")
    if isinstance(step, MinMaxScaler):
        scale, shift = abs(float(step.scale_[i])), abs(float(step.min_[i]))
        low, high = float(step.data_min_[i]), float(step.data_max_[i])
    else:
        scale, shift = 1.0 / float(step.scale_[i]), 0.0
        low, high = -float(step.scale_[i]), float(step.scale_[i])
    grid = np.unique([*_GRID, *np.linspace(low, high, 9)])
    return ColumnMap(step, i, width, lambda low, high: scale * _SURE, _relative(shift + 1.0), grid)


@dataclass(frozen=True)
class Threshold:
    """``[x ≥ edge]``, as a step of one column.

    Attributes
    ----------
    edge : float
    """

    edge: float

    def transform(self, X: np.ndarray) -> np.ndarray:
        """1 from the edge on, 0 below it; NaN stays."""
        return np.where(np.isnan(X), np.nan, self.edge <= X)


def _threshold(edge: float) -> ColumnMap:
    jump = lambda low, high: np.inf if low < edge <= high else 0.0  # noqa: E731
    return ColumnMap(Threshold(edge), 0, 1, jump, _relative(1.0), np.array([edge]))


# Increasing functions, each with its derivative, which is largest at one end of an interval.
FUNCTIONS: dict[Any, Callable[[float], float]] = {
    np.log1p: lambda x: 1.0 / (1.0 + x) if x > -1 else np.inf,
    np.log: lambda x: 1.0 / x if x > 0 else np.inf,
    np.log2: lambda x: 1.0 / (x * np.log(2.0)) if x > 0 else np.inf,
    np.log10: lambda x: 1.0 / (x * np.log(10.0)) if x > 0 else np.inf,
    np.sqrt: lambda x: 0.5 / np.sqrt(x) if x > 0 else np.inf,
    np.exp: lambda x: float(np.exp(min(x, 700.0))) if x < 700 else np.inf,
    np.expm1: lambda x: float(np.exp(min(x, 700.0))) if x < 700 else np.inf,
}


def _function(step: FunctionTransformer, i: int, width: int) -> ColumnMap:
    if step.func not in FUNCTIONS or step.kw_args:
        known = ", ".join(f"np.{function.__name__}" for function in FUNCTIONS)
        raise NotAffine(step, f"func={step.func!r}; known are {known}")
    slope = FUNCTIONS[step.func]
    return ColumnMap(step, i, width, lambda low, high: max(slope(low), slope(high)) * _SURE, _relative(1.0), _GRID)


# Exact type -> (step, column, width) -> the map of that column.
MONOTONE: dict[type, Callable[[Any, int, int], ColumnMap]] = {
    QuantileTransformer: _quantile,
    PowerTransformer: _power,
    MinMaxScaler: _clipped,
    MaxAbsScaler: _clipped,
    FunctionTransformer: _function,
}
