"""The report as a page of Markdown."""

import re

from holdfast.numerics.formatting import number, percent, printable
from holdfast.report.summary_format import check_summary


def render_markdown(summary: dict) -> str:
    """Render verdict, errors at the radius, weakest predictions and origin of a summary.

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
        f"# Audit of {escape(data['name'])}",
        "",
        f"**{escape(summary['verdict']['sentence'])}** {escape(summary['verdict']['detail'])}",
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
        lines.append(f"| {escape(model['method'])} | {errors} | {median} |")
    lines += [
        "",
        "Clean ≤ attacked ≤ certified; the error under the worst attack lies between the last two.",
        "",
        f"## Easiest to change ({escape(summary['models'][-1]['method'])})",
        "",
    ]
    for each in summary["predictions"][summary["models"][-1]["key"]]["least"][:5]:
        becomes = f", and {escape(each['prediction'])} becomes {escape(each['becomes'])}" if each["becomes"] else ""
        others = f" (and {escape(each['others'])} other features by less)" if each["others"] else ""
        where = f"Test row {escape(each['row'])} (radius {number(each['radius'])})"
        lines.append(f"- {where}: {escape(each['sentence'])}{others}{becomes}.")
    lines += ["", "## Where this comes from", ""]
    lines += [f"- {escape(note)}" for note in summary["notes"]]
    lines.append(
        f"- {escape(data['n_train'])} training rows, {escape(data['n_test'])} test rows, "
        f"{escape(data['n_features'])} features, {escape(data['n_classes'])} classes of {escape(data['target'])}; "
        f"SHA-256 of the data: `{escape(data['hash'] or '–')}`."
    )
    versions = ", ".join(f"{escape(k)} {escape(v)}" for k, v in summary["versions"].items())
    lines.append(f"- Made {escape(summary['created'])}" + (f" with {versions}." if versions else "."))
    return "\n".join(lines) + "\n"


def escape(value) -> str:
    """Escape text so that nothing in it is Markdown or HTML.

    Examples
    --------
    >>> escape("a|b <i> [x](y)")
    'a\\\\|b &lt;i&gt; \\\\[x\\\\](y)'
    """
    safe = printable(" ".join(str(value).split())).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_~\[\]|#])", r"\\\1", safe)
