"""A metric as a square of coloured cells."""

from holdfast.numerics.formatting import percent
from holdfast.report.figures.chart import Chart

LEVELS = 8  # shades of either sign


def heat_map(features: list[str], matrix: list[list[float]], label: str) -> Chart:
    """Cells coloured by entry, rows named, columns numbered; shades grow with the root of the entry.

    All cells of one shade are one path, so that a large metric stays a small file.
    """
    n = len(features)
    largest = max(abs(value) for row in matrix for value in row)
    room, side = 158.0, 280.0
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
    chart.put("rect", "cells", x=room, y=top, w=n * size, h=n * size)
    for level in sorted(shades):
        sign = "plus" if level > 0 else "minus"
        place = f"translate({room:g} {top:g}) scale({size:.4f})"
        chart.put("path", f"cell {sign} s{abs(level)}", d=shades[level], transform=place)
    font = max(6.5, min(12.0, 0.86 * size))
    every = 1 if size >= 15 else 2 if size >= 9 else 5
    for f, feature in enumerate(features):
        middle = top + (f + 0.5) * size
        short = feature if len(feature) <= 19 else feature[:18] + "…"
        chart.text("feature", room - 23, middle + font / 3, short, "end", size=font)
        if f % every == 0:
            chart.text("index", room - 6, middle + font / 3, str(f + 1), "end", size=min(font, 10.0))
            chart.text("index", room + (f + 0.5) * size, top - 7, str(f + 1), size=min(font + 1, 10.0))
    chart.data = {"heat": "", "left": room, "top": top, "cell": round(size, 3)}
    return chart


def shade(value: float, largest: float) -> int:
    """The shade of an entry, from −8 to 8; 0 for one too small to see.

    Examples
    --------
    >>> shade(0.5, 0.5), shade(-0.125, 0.5), shade(0.0001, 0.5)
    (8, -4, 0)
    """
    if largest <= 0:
        return 0
    level = round(LEVELS * min(1.0, abs(value) / largest) ** 0.5)
    return level if value > 0 else -level
