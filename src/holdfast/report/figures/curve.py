"""Certified and attacked accuracy as the radius grows."""

from holdfast.report.figures.chart import Chart
from holdfast.report.numbers import number, percent


def accuracy_curve(summary: dict, width: float, height: float) -> Chart:
    """A band for each model, from what is certified to what no attack was seen to break.

    Between two radii of the grid the lower line is drawn at the value of the farther one and the upper line
    at that of the nearer one, so that the band always holds the truth.
    """
    curve, radii = summary["curve"], summary["curve"]["radii"]
    at = curve["at"]
    told = "; ".join(
        f"{model['method']}: {percent(curve['models'][model['key']]['certified'][0])} at radius 0, "
        f"{percent(curve['models'][model['key']]['certified'][at])} certified at {number(radii[at])}"
        for model in summary["models"]
    )
    chart = Chart(width, height, f"Accuracy against radius, falling from left to right. {told}.", top=16)
    chart.spans((0.0, radii[-1]), (0.0, 1.0))
    chart.axes("radius, in standard deviations", "", y_format=lambda v: f"{100 * v:.0f} %", about=6)
    for k, model in enumerate(summary["models"]):
        low = _steps(radii, curve["models"][model["key"]]["certified"], early=True)
        high = _steps(radii, curve["models"][model["key"]]["attacked"], early=False)
        chart.path(f"band m{k}", low + high[::-1], close=True)
        chart.path(f"curve m{k}", low)
        chart.path(f"curve thin m{k}", high)
    floor = height - chart.bottom
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


def _steps(x: list[float], y: list[float], early: bool) -> list[tuple[float, float]]:
    """The corners of a falling staircase, that falls at the start of each interval or at its end."""
    corners = [(x[0], y[0])]
    for i in range(1, len(x)):
        if y[i] != y[i - 1]:
            where = x[i - 1] if early else x[i]
            corners += [(where, y[i - 1]), (where, y[i])]
    return [*corners, (x[-1], y[-1])]
