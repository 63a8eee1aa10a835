"""The report as a page of HTML; reports are written whole or not at all."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Protocol

from holdfast.base.disk import written_atomically
from holdfast.base.text import number, percent
from holdfast.explanations.result import as_given
from holdfast.report.figures import accuracy_chart, heat_map, histograms, lines
from holdfast.report.markdown import check_summary, render_markdown, units_of

PARTS = ("report", "counterfactuals")  # the page and a section of it: templates with a style and a script of their own

# Parts of the names of models -> what they mean; the report explains those that occur in it.
FAMILIES = (
    ("PNCA", "Prototypes: a few learned points stand for each class, and the nearest decides. temperature: how softly "
             "the nearest is chosen in training."),
    ("margin LVQ", "Prototypes: a few learned points stand for each class, and the nearest decides. They are placed so "
                   "that many training rows are right and proven at the radius. temperature: how far from a border a "
                   "row still counts in training, as a share of the radius."),
    ("CAP", "Neighbours under a learned distance that is kept to few directions (a cap on the others)."),
    ("SCML", "Neighbours under a learned distance that is a sum of few directions, found near the data."),
    ("-PL", "With the perturbation loss: training asks for room around each row, in the units of the columns, before a "
            "neighbour of another class comes nearer."),
    ("(chosen)", "Chosen by cross-validation on the training rows, with its settings: voters (neighbours that vote), "
                 "the margin kept between classes (training rows nearer than that to another class are left out)."),
)  # fmt: skip


def render_html(summary: dict) -> str:
    """Render a summary, as ``summarise`` makes it or ``report.json`` holds it.

    All text is escaped by the template engine. The data for the script is embedded as JSON that cannot end its
    element, and a content security policy lets no script run but the report's own, known by its hash.

    Parameters
    ----------
    summary : dict

    Returns
    -------
    str
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
        finalize=_unbroken,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, number=number, as_given=as_given)
    assert environment.loader is not None
    style, script = (
        "".join(environment.loader.get_source(environment, f"{name}.{kind}")[0] for name in PARTS)
        for kind in ("css", "js")
    )
    return environment.get_template("report.html").render(
        s=summary,
        figures=_figures(summary),
        families=FAMILIES,
        seconds=_seconds(summary),
        embedded=script_json(_script_data(summary)),
        style=style,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _unbroken(value):
    """Text in which a line never ends between a number and its percent sign; what is marked as safe stays as it is."""
    plain = isinstance(value, str) and not hasattr(value, "__html__")
    return value.replace(" %", "\u00a0%") if plain else value


def _seconds(summary: dict) -> dict:
    """What took a tenth of a second or more, by the names of the models."""
    names = {model["key"]: model["method"] for model in summary["models"]}
    named = {" ".join(names.get(word, word) for word in key.split(" ")): s for key, s in summary["seconds"].items()}
    return {key: f"{s:.1f}" for key, s in named.items() if s is not None and s >= 0.1}


def _script_data(summary: dict) -> dict:
    """The part of the summary that hovering and the slider use."""
    curve, metric = summary["curve"], summary["metric"]
    return {
        "models": [{"key": model["key"], "method": model["method"]} for model in summary["models"]],
        "rows": summary["data"]["n_test"],
        "units": units_of(summary),
        "radii": curve["radii"],
        "at": curve["at"],
        "curves": {
            key: {kind: own[kind] for kind in ("certified", "attacked")} for key, own in curve["models"].items()
        },
        "by_row": summary["rows"],
        "features": metric["features"] if metric else [],
        "matrices": {key: own["matrix"] for key, own in metric["models"].items()} if metric else {},
    }


def script_json(data: dict) -> str:
    """JSON for a script element: nothing in it can end the element or begin a comment.

    >>> script_json({"name": "</script><!--&"})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u003c!--\\\\u0026"}'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # ASCII only
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _figures(summary: dict) -> dict:
    """The figures the summary has data for."""
    models = summary["models"]
    figures: dict = {"curve": {"wide": accuracy_chart(summary, 912, 360), "narrow": accuracy_chart(summary, 400, 300)}}
    radii = summary["radii"]
    figures["radii"] = histograms(
        models,
        radii["edges"],
        {key: {**own, "counts": own["right"]} for key, own in radii["models"].items()},
        f"certified radius, in {units_of(summary)}",
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
    if (training := _training_figure(summary)) is not None:
        figures["training"] = training
    return figures


def _training_figure(summary: dict):
    """The objectives relative to their starts; None if no learner has one."""
    traces, ends = [], []
    for k, model in enumerate(summary["models"]):
        trace = summary["training"].get(model["key"])
        if trace and None not in trace["objective"] and trace["objective"][0] > 0:
            relative = [value / trace["objective"][0] for value in trace["objective"]]
            traces.append((f"m{k}", trace["iteration"], relative))
            ends.append(f"{model['method']} ends at {percent(relative[-1])}")
    if not traces:
        return None
    label = f"Training objective relative to its start. {'; '.join(ends)}."
    return lines(traces, "iteration", label, lambda value: f"{100 * value:.0f} %")


def _metric_figures(models: list[dict], metric: dict) -> dict:
    """Heat maps and spectra of the metrics."""
    shown = [(k, m, metric["models"][m["key"]]) for k, m in enumerate(models) if m["key"] in metric["models"]]
    heat = {
        m["key"]: heat_map(metric["features"], own["matrix"], f"Heat map of the metric of {m['method']}.")
        for _, m, own in shown
    }
    spectra = [(f"m{k}", list(range(1, len(own["spectrum"]) + 1)), own["spectrum"]) for k, _, own in shown]
    strongest = "; ".join(f"{m['method']}: strongest {percent(own['spectrum'][0])}" for _, m, own in shown)
    spectrum = lines(
        spectra,
        "direction, strongest first",
        f"Share of each direction in the metric, falling. {strongest}.",
        lambda value: f"{100 * value:.0f} %",
        dots=True,
    )
    return {"heat": heat, "spectrum": spectrum}


class Summarised(Protocol):
    """An audit, as a report sees it: something that can be summarised."""

    def summary(self) -> dict:
        """Everything a report shows, as one dict of JSON types."""


def summarise(result: Summarised) -> dict:
    """Everything a report shows, as one dict of JSON types.

    Parameters
    ----------
    result : AuditResult

    Returns
    -------
    dict
        See :func:`holdfast.auditing.summarise`.
    """
    return result.summary()


def write_report(result: Summarised | dict, folder, force: bool = False) -> dict[str, Path]:
    """Write ``report.html``, ``report.json`` and ``report.md``.

    Everything is rendered first and each file is put in place in one step, so that an interruption leaves no
    half-written file.

    Parameters
    ----------
    result : AuditResult or dict
        A dict is a summary, as in ``report.json``.
    folder : path
        Made if it is missing.
    force : bool, default=False
        Replace existing files.

    Returns
    -------
    dict of str to Path
        ``"html"``, ``"json"``, ``"md"``.
    """
    folder = Path(folder)
    paths = {kind: folder / f"report.{kind}" for kind in ("html", "json", "md")}
    existing = [path for path in paths.values() if path.exists()]
    if existing and not force:
        raise FileExistsError(f"{existing[0]} is already there: choose another folder, or say force=True.")
    texts = _render(result) if isinstance(result, dict) else _texts(result.summary())
    folder.mkdir(parents=True, exist_ok=True)
    for kind, path in paths.items():
        with written_atomically(path) as file:
            file.write(texts[kind].encode())
    return paths


def _texts(summary: dict) -> dict[str, str]:
    return {
        "html": render_html(summary),
        "json": json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=1) + "\n",
        "md": render_markdown(summary),
    }


def _render(summary: dict) -> dict[str, str]:
    """The texts of a summary that may come from anywhere: one that cannot be rendered is refused as damaged."""
    check_summary(summary)
    try:
        return _texts(summary)
    except (ImportError, OSError, MemoryError):
        raise
    except Exception as broken:  # whatever a template or a figure makes of missing or wrong parts
        reason = " ".join(f"{type(broken).__name__}: {broken}".split())[:200]
        raise ValueError(f"The summary is damaged: part of it is missing or of the wrong type ({reason}).") from broken
