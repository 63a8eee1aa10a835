"""Certified and attacked accuracy as the radius grows."""

from holdfast.numerics.formatting import number, percent
from holdfast.report.figures.chart import Chart
from holdfast.report.summary_format import units_of


def accuracy_curve(summary: dict, width: float, height: float) -> Chart:
    """A band for each model, from certified to attacked accuracy.

    The lines fall exactly at the radii in ``falls`` (where several were merged, the lower line falls early and
    the upper one late), so the accuracy under the worst attack is always within the band.
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
