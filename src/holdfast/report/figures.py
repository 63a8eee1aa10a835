"""Figures of a report as lists of marks, which a template turns into SVG."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from holdfast.base.text import number, percent
from holdfast.report.markdown import units_of


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from low to high, about ``about`` of them.

    >>> ticks(0, 1), ticks(0, 2.3, 4)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 0.5, 1.0, 1.5, 2.0])
    """
    if not high > low:
        return [low]
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((1, 2, 5, 10), key=lambda each: abs(each * power - raw)) * power
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]


@dataclass
class Chart:
    """Marks in a box of ``width × height`` with margins for axes, all in pixels."""

    width: float
    height: float
    label: str  # description for screen readers
    left: float = 46
    right: float = 12
    top: float = 14
    bottom: float = 42
    marks: list[dict] = field(default_factory=list)  # kind: path, rect, line or text; cls: CSS classes; tip: tooltip
    data: dict = field(default_factory=dict)  # written as data attributes, for the script

    def spans(self, x: tuple[float, float], y: tuple[float, float]) -> "Chart":
        """Set the ranges of values on the two axes."""
        self._x, self._y = x, y
        return self

    def x(self, value: float) -> float:
        """Pixels from the left edge to a value."""
        low, high = self._x
        return self.left + (value - low) / ((high - low) or 1.0) * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        """Pixels from the top edge to a value."""
        low, high = self._y
        inside = self.height - self.top - self.bottom
        return self.height - self.bottom - (value - low) / ((high - low) or 1.0) * inside

    def put(self, kind: str, cls: str, **attributes) -> None:
        """Add a mark; numbers are rounded to a tenth of a pixel."""
        attributes = {k: round(v, 1) if isinstance(v, float) else v for k, v in attributes.items()}
        self.marks.append({"kind": kind, "cls": cls, **attributes})

    def path(self, cls: str, points, close: bool = False, **attributes) -> None:
        """Add a line through points, given as values on the axes."""
        d, before = "", ("", "")
        for x, y in points:
            here = (f"{self.x(x):.1f}", f"{self.y(y):.1f}")
            if not d:
                d = f"M{here[0]} {here[1]}"
            elif here[1] == before[1]:
                d += f"H{here[0]}" if here[0] != before[0] else ""
            elif here[0] == before[0]:
                d += f"V{here[1]}"
            else:
                d += f"L{here[0]} {here[1]}"
            before = here
        self.put("path", cls, d=d + ("Z" if close else ""), **attributes)

    def text(self, cls: str, x: float, y: float, text: str, anchor: str = "middle", **more) -> None:
        """Add text, placed in pixels."""
        self.put("text", cls, x=float(x), y=float(y), text=text, anchor=anchor, **more)

    def axes(self, x_label: str, y_label: str, x_format=None, y_format=None, about: int = 5) -> None:
        """Add grid lines, numbers and names of the two axes."""
        x_format = x_format or (lambda value: f"{value:g}")
        y_format = y_format or x_format
        floor = self.height - self.bottom
        for value in ticks(*self._y, about=4):
            self.put("line", "grid", x1=self.left, x2=self.width - self.right, y1=self.y(value), y2=self.y(value))
            self.text("tick", self.left - 8, self.y(value) + 4, y_format(value), "end")
        for value in ticks(*self._x, about=about):
            self.put("line", "axis", x1=self.x(value), x2=self.x(value), y1=floor, y2=floor + 4)
            self.text("tick", self.x(value), floor + 17, x_format(value))
        self.put("line", "axis", x1=self.left, x2=self.width - self.right, y1=floor, y2=floor)
        self.text("name", (self.left + self.width - self.right) / 2, self.height - 5, x_label)
        if y_label:
            self.text("name", self.left - 8, self.top - 3 if self.top < 14 else self.top - 12, y_label, "end")


def accuracy_chart(summary: dict, width: float, height: float) -> Chart:
    """A band for each model, from certified to attacked accuracy. The lines fall exactly at the radii in ``falls``
    (where several were merged, the lower line early, the upper one late), so the accuracy under the worst attack lies
    within the band.
    """
    curve, radii = summary["curve"], summary["curve"]["radii"]
    at = curve["at"]
    ends = "; ".join(
        f"{model['method']}: {percent(curve['models'][model['key']]['certified'][0])} at radius 0, "
        f"{percent(curve['models'][model['key']]['certified'][at])} certified at {number(radii[at])}"
        for model in summary["models"]
    )
    chart = Chart(width, height, f"Accuracy against radius, falling from left to right. {ends}.", top=16)
    chart.spans((0.0, radii[-1]), (0.0, 1.0))
    chart.axes(f"radius, in {units_of(summary)}", "", y_format=lambda v: f"{100 * v:.0f} %", about=6)
    for k, model in enumerate(summary["models"]):
        own = curve["models"][model["key"]]
        low, high = (_stairs(own[kind][0], own["falls"][kind], radii[-1]) for kind in ("certified", "attacked"))
        chart.path(f"band m{k}", low + high[::-1], close=True)
        chart.path(f"curve m{k}", low)
        chart.path(f"curve thin m{k}", high)
    floor = height - chart.bottom
    constant = chart.y(summary["majority"]["accuracy"])
    chart.put("line", "constant", x1=chart.left, x2=width - chart.right, y1=constant, y2=constant)
    chart.put("line", "cursor", x1=chart.x(radii[at]), x2=chart.x(radii[at]), y1=chart.top, y2=floor)
    for k, model in enumerate(summary["models"]):
        value = curve["models"][model["key"]]["certified"][at]
        chart.put("dot", f"dot m{k}", x=chart.x(radii[at]), y=chart.y(value))
    chart.data = {
        "curve": "",
        "left": chart.left,
        "right": width - chart.right,
        "top": chart.top,
        "bottom": floor,
        "reach": radii[-1],
    }
    return chart


def _stairs(start: float, falls: dict, end: float) -> list[tuple[float, float]]:
    """The corners of a falling staircase."""
    corners, level = [(0.0, start)], start
    for where, after in zip(falls["radius"], falls["share"], strict=True):
        if where > end:
            break
        corners += [(where, level), (where, after)]
        level = after
    return [*corners, (end, level)]


LEVELS = 8  # shades of either sign


def heat_map(features: list[str], matrix: list[list[float]], label: str) -> Chart:
    """Cells coloured by entry, rows named, columns numbered; shades grow with the root of the entry. All cells of one
    shade are one path, so that a large metric stays a small file.
    """
    n = len(features)
    largest = max(abs(value) for row in matrix for value in row)
    margin, side = 158.0, 280.0
    size = min(side / n, 40.0)
    top = 22.0
    strongest = sorted(range(n), key=lambda f: -matrix[f][f])[:3]
    largest_weights = ", ".join(f"{features[f]} {percent(matrix[f][f], 0)}" for f in strongest)
    chart = Chart(440, top + n * size + 4, f"{label} Largest weights: {largest_weights}.")
    shades: dict[int, str] = {}
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            level = shade(value, largest)
            if level:
                shades[level] = shades.get(level, "") + f"M{j} {i}h1v1h-1z"
    chart.put("rect", "cells", x=margin, y=top, w=n * size, h=n * size)
    for level in sorted(shades):
        sign = "plus" if level > 0 else "minus"
        place = f"translate({margin:g} {top:g}) scale({size:.4f})"
        chart.put("path", f"cell {sign} s{abs(level)}", d=shades[level], transform=place)
    font = max(6.5, min(12.0, 0.86 * size))
    every = 1 if size >= 15 else 2 if size >= 9 else 5
    for f, feature in enumerate(features):
        middle = top + (f + 0.5) * size
        short = feature if len(feature) <= 19 else feature[:18] + "…"
        chart.text("feature", margin - 23, middle + font / 3, short, "end", size=font)
        if f % every == 0:
            chart.text("index", margin - 6, middle + font / 3, str(f + 1), "end", size=min(font, 10.0))
            chart.text("index", margin + (f + 0.5) * size, top - 7, str(f + 1), size=min(font + 1, 10.0))
    chart.data = {"heat": "", "left": margin, "top": top, "cell": round(size, 3)}
    return chart


def shade(value: float, largest: float) -> int:
    """The shade of an entry, from −8 to 8; 0 for one too small to see.

    >>> shade(0.5, 0.5), shade(-0.125, 0.5), shade(0.0001, 0.5)
    (8, -4, 0)
    """
    if largest <= 0:
        return 0
    level = round(LEVELS * min(1.0, abs(value) / largest) ** 0.5)
    return level if value > 0 else -level


def histograms(models: list[dict], edges: list[float], by_model: dict, x_label: str, label: str) -> Chart:
    """One panel for each model (``key``, ``method``), with a line at its median. ``by_model[key]`` has ``counts``,
    ``median``, and optionally ``wrong``, counts drawn on top in grey.
    """
    panel, gap, top, bottom = 112.0, 30.0, 24.0, 42.0
    shown = [(k, model) for k, model in enumerate(models) if model["key"] in by_model]
    height = top + len(shown) * (panel + gap) - gap + bottom
    medians = "; ".join(f"{m['method']}: {_median(by_model[m['key']], edges[-1])}" for _, m in shown)
    chart = Chart(440, height, f"{label} {medians}.", left=40, top=top)
    chart.spans((edges[0], edges[-1]), (0, 1))
    most = max(1, *(c + w for _, m in shown for c, w in zip(*_parts(by_model[m["key"]]), strict=True)))
    for value in ticks(edges[0], edges[-1], 6):
        chart.put("line", "axis", x1=chart.x(value), x2=chart.x(value), y1=height - bottom, y2=height - bottom + 4)
        chart.text("tick", chart.x(value), height - bottom + 17, f"{value:g}")
    chart.text("name", (chart.left + chart.width - chart.right) / 2, height - 5, x_label)
    for place, (k, model) in enumerate(shown):
        floor = top + place * (panel + gap) + panel
        histogram = by_model[model["key"]]
        for value in [v for v in ticks(0, most, 2) if v == int(v)]:
            level = floor - value / most * panel
            chart.put("line", "grid", x1=chart.left, x2=chart.width - chart.right, y1=level, y2=level)
            chart.text("tick", chart.left - 7, level + 4, f"{value:g}", "end")
        for low, high, count, wrong in zip(edges, edges[1:], *_parts(histogram), strict=False):
            tip = f"{number(low)} to {number(high)}: {count + wrong} rows" + (f", {wrong} wrong" if wrong else "")
            left, width = chart.x(low) + 0.5, chart.x(high) - chart.x(low) - 1
            base = floor
            for n, cls in ((wrong, "bar wrong"), (count, f"bar m{k}")):
                if n:
                    size = n / most * panel
                    chart.put("rect", cls, x=left, y=base - size, w=width, h=size, tip=tip)
                    base -= size
        chart.put("line", "axis", x1=chart.left, x2=chart.width - chart.right, y1=floor, y2=floor)
        chart.text(f"series m{k}", chart.left, floor - panel - 8, model["method"], "start")
        chart.text("tick", chart.width - chart.right, floor - panel - 8, _median(histogram, edges[-1]), "end")
        if histogram["median"] is not None and edges[0] <= histogram["median"] <= edges[-1]:
            at = chart.x(histogram["median"])
            chart.put("line", f"median m{k}", x1=at, x2=at, y1=floor - panel, y2=floor)
    return chart


def _median(histogram: dict, end: float) -> str:
    inside = histogram["median"] is not None and histogram["median"] <= end
    return f"median {number(histogram['median'])}" if inside else "median beyond the axis"


def _parts(histogram: dict) -> tuple[list[int], list[int]]:
    return histogram["counts"], histogram.get("wrong") or [0] * len(histogram["counts"])


def lines(
    series: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    x_label: str,
    label: str,
    y_format: Callable[[float], str],
    dots: bool = False,
    about: int = 6,
) -> Chart:
    """Lines through ``(class, x, y)``, from 0 upwards; with dots if the values are few."""
    chart = Chart(440, 236, label, left=52, top=12)
    right = max(1.0, *(max(x) for _, x, _ in series))
    left = min(min(x) for _, x, _ in series)
    low = min(0.0, *(min(y) for _, _, y in series))
    high = max(max(y) for _, _, y in series)
    chart.spans((left, right), (low, high if high > low else low + 1.0))
    chart.axes(x_label, "", lambda v: f"{v:g}" if v == int(v) else "", y_format, about)
    for cls, x, y in series:
        chart.path(f"curve {cls}", zip(x, y, strict=True))
        if dots:
            for a, b in zip(x, y, strict=True):
                chart.put("dot", f"dot {cls}", x=chart.x(a), y=chart.y(b), tip=f"{a:g}: {y_format(b)}")
    return chart
