"""The report as one HTML file: no other file, no network, no script but its own."""

import base64
import hashlib
import json

from holdfast.report.figures import accuracy_curve, heat_map, histograms, lines
from holdfast.report.numbers import number, percent
from holdfast.report.summary import FORMAT


def render_html(summary: dict) -> str:
    """The report of a summary, as made by ``summarise`` or read from ``report.json``.

    All text is escaped by the template engine. The summary is also embedded as JSON that cannot end its
    element, and a content security policy lets no script run but the report's own, known by its hash.
    """
    check_summary(summary)
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as missing:
        raise ImportError("An HTML report needs jinja2: pip install 'holdfast[report]'") from missing
    environment = Environment(
        loader=PackageLoader("holdfast.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, number=number)
    assert environment.loader is not None
    script = environment.loader.get_source(environment, "report.js")[0]
    return environment.get_template("report.html").render(
        s=summary,
        figures=_figures(summary),
        embedded=embedded(summary),
        style=environment.loader.get_source(environment, "report.css")[0],
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def check_summary(summary: dict) -> None:
    """Raise ``ValueError`` unless this is a summary this version can show."""
    if not isinstance(summary, dict) or summary.get("kind") != "holdfast audit":
        raise ValueError("This is not the summary of a holdfast audit: it is made by holdfast.report.summarise.")
    if summary.get("format") != FORMAT:
        raise ValueError(
            f"The summary has format {summary.get('format')!r}, but this version of holdfast reads {FORMAT}: "
            "use the version that wrote it, or run the audit again."
        )


def embedded(summary: dict) -> str:
    """JSON for a script element: nothing in it can end the element or begin a comment.

    Examples
    --------
    >>> embedded({"name": "</script><!--&"})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u003c!--\\\\u0026"}'
    """
    text = json.dumps(summary, allow_nan=False, separators=(",", ":"))  # ASCII only
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _figures(summary: dict) -> dict:
    """Every figure the summary has data for."""
    models = summary["models"]
    figures = {
        "curve": {"wide": accuracy_curve(summary, 912, 360), "narrow": accuracy_curve(summary, 400, 300)}
    }
    radii = summary["radii"]
    figures["radii"] = histograms(
        models,
        radii["edges"],
        {key: {**own, "counts": own["right"]} for key, own in radii["models"].items()},
        "certified radius, in standard deviations",
        "Histogram of certified radii.",
    )
    if margins := summary["margins"]:
        figures["margins"] = histograms(
            models,
            margins["edges"],
            margins["models"],
            "adversarial margin, in standard deviations",
            "Histogram of adversarial margins.",
        )
    if metric := summary["metric"]:
        figures |= _metric_figures(models, metric)
    trained = [(k, m, summary["training"].get(m["key"])) for k, m in enumerate(models)]
    traces = [
        (f"m{k}", trace["iteration"], [value / trace["objective"][0] for value in trace["objective"]])
        for k, _, trace in trained
        if trace and all(v is not None for v in trace["objective"]) and trace["objective"][0] > 0
    ]
    if traces:
        figures["training"] = lines(
            traces,
            "iteration",
            "Training objective relative to its start, falling: "
            + "; ".join(f"{m['method']} to {percent(y[-1])}" for (k, m, _), (_, _, y) in _pairs(trained, traces)),
            lambda value: f"{100 * value:.0f} %",
        )
    return figures


def _pairs(trained, traces):
    by_class = {cls: (cls, x, y) for cls, x, y in traces}
    return [(each, by_class[f"m{each[0]}"]) for each in trained if f"m{each[0]}" in by_class]


def _metric_figures(models: list[dict], metric: dict) -> dict:
    shown = [(k, m, metric["models"][m["key"]]) for k, m in enumerate(models) if m["key"] in metric["models"]]
    largest = max(abs(v) for _, _, own in shown for row in own["matrix"] for v in row)
    heat = {
        m["key"]: heat_map(metric["features"], own["matrix"], largest, f"Heat map of the metric of {m['method']}.")
        for _, m, own in shown
    }
    spectra = [(f"m{k}", list(range(1, len(own["spectrum"]) + 1)), own["spectrum"]) for k, _, own in shown]
    told = "; ".join(f"{m['method']}: strongest {percent(own['spectrum'][0])}" for _, m, own in shown)
    spectrum = lines(
        spectra,
        "direction, strongest first",
        f"Share of each direction in the metric, falling. {told}.",
        lambda value: f"{100 * value:.0f} %",
        dots=True,
    )
    return {"heat": heat, "spectrum": spectrum}
