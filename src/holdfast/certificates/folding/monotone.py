"""Monotone maps of single features: an interval of a feature goes to an interval (Lemmas M1 and M2)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm as normal
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
)

from holdfast.affine import Affine, NotAffine
from holdfast.certificates.folding.kinds import Kinds
from holdfast.certificates.folding.table import Table
from holdfast.certificates.folding.warp import Warp

_DIGITS = 1e-12  # relative error of an image: some thousand roundings
_EDGE = 1e-6  # a QuantileTransformer jumps within 1e-7 of its least and largest quantile
_SURE = 1.0 + 1e-6  # factor on slopes, for the rounding of their formulas

Slope = Callable[[float, float], float]  # a Lipschitz constant on an interval; infinite at a jump


@dataclass(frozen=True, eq=False)
class Monotone:
    """One column of a fitted step that maps every column by itself, by a monotone function g.

    Attributes
    ----------
    step : fitted step
    column, width : int
        The column of the step's input, and how many columns that has.
    slope : callable
        ``(low, high) -> t`` with ``|g(a) − g(b)| ≤ t|a − b|`` between low and high.
    constant : float
        Magnitude of the terms that cancel in g.
    """

    step: Any
    column: int
    width: int
    slope: Slope
    constant: float

    def images(self, probe: np.ndarray) -> np.ndarray:
        """The step's own ``transform`` of rows (m, width); NaN where it has none."""
        positive = getattr(self.step, "method", None) == "box-cox"  # which refuses other rows
        probe = np.where(np.isfinite(probe) & (probe > 0 if positive else True), probe, np.nan)
        names = getattr(self.step, "feature_names_in_", None)
        if names is not None:
            from pandas import DataFrame  # installed: the names came from a data frame

            probe = DataFrame(probe, columns=names)
        with np.errstate(all="ignore"):
            return np.asarray(self.step.transform(probe), dtype=np.float64)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """``g`` of some values."""
        probe = np.ones((len(values), self.width))
        probe[:, self.column] = values
        return self.images(probe)[:, self.column]

    def error(self, low: float, high: float) -> float:
        """The rounding of values between these."""
        return _DIGITS * (max(abs(low), abs(high)) + self.constant)


def bend(step, table: Table, kinds: Kinds) -> Table:
    """A monotone step: each column becomes a coordinate of its own, ``t = g(a x + b)`` of one feature x."""
    table = table.numbers(step)
    return _bent(step, table, kinds, [(i, MONOTONE[type(step)](step, i, table.width)) for i in range(table.width)])


def cut(step: KBinsDiscretizer, table: Table, kinds: Kinds) -> Table:
    """Bins: a coordinate ``[x ≥ edge]`` for each inner edge, of which numbers and indicators of bins are sums.

    With edges ``e_1 ≤ … ≤ e_m`` and ``c_b = [x ≥ e_b]`` the number of the bin is ``Σ c_b`` and the indicator of bin b
    is ``c_b − c_{b+1}`` (``c_0 = 1``, ``c_{m+1} = 0``).
    """
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
    return bent.then(Affine.step(np.vstack(rows), np.concatenate(constants)))


def _bent(step, table: Table, kinds: Kinds, maps: list[tuple[int, "Monotone"]]) -> Table:
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
            made.append(encoding.warps.index(known[0]) if known[0] in encoding.warps else -1)
    if again or -1 in made:
        raise AgainWithWarps
    return table.bent(made, [table.gap[i] for i, _ in maps])


class AgainWithWarps(Exception):
    """A step has a new monotone map: the steps must be read again, with a coordinate for it."""


def _quantile(step: QuantileTransformer, i: int, width: int) -> Monotone:
    q, levels = step.quantiles_[:, i], step.references_
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(np.diff(q) > 0, np.diff(levels) / np.diff(q), np.inf)
    reach = 5.3 if step.output_distribution == "normal" else 1.0  # scikit-learn cuts at 5.2

    def slope(low: float, high: float) -> float:
        if low <= q[0] + _EDGE or high >= q[-1] - _EDGE:
            return np.inf
        first, last = np.searchsorted(q, low, side="left") - 1, np.searchsorted(q, high, side="right")
        steepest = float(slopes[max(first, 0) : max(last, 1)].max())
        if step.output_distribution == "uniform":
            return steepest * _SURE
        ends = normal.ppf(np.interp([low, high], q, levels))
        return steepest / float(normal.pdf(min(np.abs(ends).max(), reach))) * _SURE

    return Monotone(step, i, width, slope, reach)


def _power(step: PowerTransformer, i: int, width: int) -> Monotone:
    power, positive = float(step.lambdas_[i]), step.method == "box-cox"

    def derivative(x: float) -> float:
        if positive:
            return x ** (power - 1.0) if x > 0 else np.inf
        return (x + 1.0) ** (power - 1.0) if x >= 0 else (1.0 - x) ** (1.0 - power)

    def raw(x: float) -> float:
        base, exponent = (x, power) if positive else (x + 1.0, power)
        return float(np.log(base)) if abs(exponent) < 1e-12 else (base**exponent - 1.0) / exponent

    bare = Monotone(step, i, width, lambda low, high: np.inf, 0.0)
    a, b = bare(np.array([1.0, 2.0]))
    scale = (b - a) / (raw(2.0) - raw(1.0))  # 1 over the standard deviation it divides by
    least = max(min(abs(power), abs(2.0 - power)), 1e-3)

    def slope(low: float, high: float) -> float:
        inner = [0.0] if low < 0 < high else []
        with np.errstate(all="ignore"):
            return float(max(derivative(x) for x in (low, high, *inner))) * scale * _SURE

    return Monotone(step, i, width, slope, scale / least + abs(float(a)))


def _clipped(step, i: int, width: int) -> Monotone:
    if not getattr(step, "clip", False):
        raise NotAffine(step, "clip is False")
    scale = step.scale_[i] if isinstance(step, MinMaxScaler) else 1.0 / step.scale_[i]
    shift = abs(float(step.min_[i])) if isinstance(step, MinMaxScaler) else 0.0
    return Monotone(step, i, width, lambda low, high: abs(float(scale)) * _SURE, shift + 1.0)


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


def _threshold(edge: float) -> Monotone:
    return Monotone(Threshold(edge), 0, 1, lambda low, high: np.inf if low < edge <= high else 0.0, 1.0)


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


def _function(step: FunctionTransformer, i: int, width: int) -> Monotone:
    if step.func not in FUNCTIONS or step.kw_args:
        known = ", ".join(f"np.{function.__name__}" for function in FUNCTIONS)
        raise NotAffine(step, f"func={step.func!r}; known are {known}")
    slope = FUNCTIONS[step.func]
    return Monotone(step, i, width, lambda low, high: max(slope(low), slope(high)) * _SURE, 1.0)


# Exact type -> (step, column, width) -> the map of that column.
MONOTONE: dict[type, Callable[[Any, int, int], Monotone]] = {
    QuantileTransformer: _quantile,
    PowerTransformer: _power,
    MinMaxScaler: _clipped,
    MaxAbsScaler: _clipped,
    FunctionTransformer: _function,
}
