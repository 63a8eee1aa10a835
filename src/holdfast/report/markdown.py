"""The report in a page of Markdown."""

import re

from holdfast.report.html import check_summary
from holdfast.report.numbers import number, percent


def render_markdown(summary: dict) -> str:
    """The verdict, the errors at the radius, the weakest predictions and where it all came from.

    Parameters
    ----------
    summary : dict
        As made by ``summarise`` or read from ``report.json``.

    Returns
    -------
    str
    """
    check_summary(summary)
    data, radius = summary["data"], summary["radius"]["value"]
    lines = [
        f"# Audit of {text(data['name'])}",
        "",
        f"**{text(summary['verdict']['sentence'])}** {text(summary['verdict']['detail'])}",
        "",
        f"## Errors within {number(radius)} standard deviations",
        "",
        "| model | clean error | attacked error | certified error | median radius |",
        "|---|---:|---:|---:|---:|",
    ]
    for model in summary["models"]:
        own = summary["at_radius"][model["key"]]
        errors = " | ".join(percent(own[f"{kind}_error"]) for kind in ("clean", "attacked", "certified"))
        median = number(summary["radii"]["models"][model["key"]]["median"])
        lines.append(f"| {text(model['method'])} | {errors} | {median} |")
    lines += [
        "",
        "Clean ≤ attacked ≤ certified; the error under the worst attack lies between the last two.",
        "",
        f"## Easiest to change ({text(summary['models'][-1]['method'])})",
        "",
    ]
    for each in summary["predictions"][summary["models"][-1]["key"]]["least"][:5]:
        becomes = f", and {text(each['prediction'])} becomes {text(each['becomes'])}" if each["becomes"] else ""
        others = f" (and {each['others']} other features by less)" if each["others"] else ""
        lines.append(
            f"- Test row {each['row']} (radius {number(each['radius'])}): {text(each['sentence'])}{others}{becomes}."
        )
    lines += ["", "## Where this comes from", ""]
    lines += [f"- {text(note)}" for note in summary["notes"]]
    lines.append(
        f"- {data['n_train']} training rows, {data['n_test']} test rows, {data['n_features']} features, "
        f"{data['n_classes']} classes of {text(data['target'])}; SHA-256 of the data: `{text(data['hash'] or '–')}`."
    )
    versions = ", ".join(f"{text(k)} {text(v)}" for k, v in summary["versions"].items())
    lines.append(f"- Made {text(summary['created'])}" + (f" with {versions}." if versions else "."))
    return "\n".join(lines) + "\n"


def text(value) -> str:
    """Text in which Markdown and HTML see no marks of their own.

    Examples
    --------
    >>> text("a|b <i> [x](y)")
    'a\\\\|b &lt;i&gt; \\\\[x\\\\](y)'
    """
    safe = str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#])", r"\\\1", " ".join(safe.split()))
