"""One histogram for each model, above one another on a common axis."""

from holdfast.numerics.formatting import number
from holdfast.report.figures.chart import Chart, ticks


def histograms(models: list[dict], edges: list[float], by_model: dict, x_label: str, label: str) -> Chart:
    """One panel for each model, with a line at its median.

    Parameters
    ----------
    models : list of dict
        ``key`` and ``method``.
    edges : list of float
    by_model : dict
        By key: ``counts``, ``median``, and optionally ``wrong``, counts drawn on top in grey.
    x_label, label : str
        Name of the axis; description of the figure.
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
