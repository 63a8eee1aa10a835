"""A line chart with one line for each model."""

from collections.abc import Callable, Sequence

from holdfast.report.figures.chart import Chart


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
