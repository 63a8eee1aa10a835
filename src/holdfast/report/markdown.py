"""The report as a page of Markdown, and which summaries this version can show."""

import re
from collections.abc import Callable

from holdfast.base.text import listed, number, percent, printable

KIND = "holdfast audit"
FORMAT = 2


def check_summary(summary: dict) -> None:
    """Raise ``ValueError`` unless this is a summary this version can show."""
    if not isinstance(summary, dict) or summary.get("kind") != KIND:
        raise ValueError("This is not the summary of a holdfast audit: it is made by holdfast.auditing.summarise.")
    if summary.get("format") != FORMAT:
        raise ValueError(
            f"The summary has format {summary.get('format')!r}, but this version of holdfast reads {FORMAT}: "
            "use the version that wrote it, or run the audit again."
        )


def units_of(summary: dict) -> str:
    """The units of the radii of a summary."""
    return summary["radius"].get("units", "standard deviations")


def budget_lines(summary: dict, escape: Callable[[object], str]) -> list[str]:
    """What the budget left undecided, and what to do; nothing if it left nothing."""
    sentences = summary.get("budget", {}).get("sentences", [])
    return ["", *(f"- {escape(sentence)}" for sentence in sentences)] if sentences else []


def allowed_lines(summary: dict, escape: Callable[[object], str]) -> list[str]:
    """The section "What was allowed to move"; nothing if the summary has none."""
    threat = summary.get("threat")
    return ["", "## What was allowed to move", "", *(f"- {escape(s)}" for s in threat["sentences"])] if threat else []


def dependence_lines(summary: dict, escape: Callable[[object], str]) -> list[str]:
    """The sections "Does the answer depend on …?", one for each sensitive column."""
    lines = []
    for column in summary.get("dependence", []):
        name = escape(column["column"])
        besides = f"and other features by {number(column['at'])} {units_of(summary)}"
        lines += [
            "",
            f"## Does the answer depend on {name}?",
            "",
            f"On every test row {name} is changed to {escape(column.get('values', 'its other values'))}, one after the "
            "other.",
            "",
            "| model | what changes | rows | no, proven | yes | undecided |",
            "|---|---|---:|---:|---:|---:|",
        ]
        for model in summary["models"]:
            for kind, word in (("alone", f"{name} alone"), ("within", besides)):
                own = column["models"][model["key"]][kind]
                shares = " | ".join(percent(own[share]) for share in ("independent", "dependent", "undecided"))
                lines.append(f"| {escape(model['method'])} | {word} | {own['rows']} | {shares} |")
        lines += [""] if column["examples"] else []
        for each in column["examples"]:
            named = f" ({escape(each['id'])})" if each["id"] is not None else ""
            others = f" (and {each['others']} other features by less)" if each["others"] else ""
            lines.append(
                f"- Row {each['row']}{named}: {escape(each['sentence'])}{others}, and {escape(each['prediction'])} "
                f"becomes {escape(each['becomes'])}."
            )
    return lines


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
        f"## The models within {number(radius)} {units_of(summary)}",
        "",
        "| model | right | balanced | not attacked | proven | proven, balanced | undecided | median radius |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    best = next(model for model in summary["models"] if model["key"] == summary["recommended"])
    for model in summary["models"]:
        median = summary["radii"]["models"][model["key"]]["median"]
        lines.append(_row(model["method"], summary["scores"][model["key"]], _radius(median, data["extent"])))
    lines.append(_row(f"always {summary['majority']['label']}", summary["majority"], "–"))
    lines += [
        "",
        "Proven ≤ not attacked ≤ right; the truth under the worst attack lies between the first two. Balanced: every "
        "class counts alike.",
        *budget_lines(summary, escape),
        "",
        f"## Class by class ({escape(best['method'])}), the worst first",
        "",
    ]
    for each in summary["classes"]["rows"][:20]:
        own = each["models"][best["key"]]
        lines.append(
            f"- {escape(each['label'])} ({escape(each['support'])} rows): {percent(own['accuracy'])} found, "
            f"{percent(own['certified'])} proven."
        )
    lines += allowed_lines(summary, escape) + dependence_lines(summary, escape)
    if summary["findings"]:
        lines += ["", "## Look at the data first", ""]
        for finding in summary["findings"]:
            column = f"{escape(finding['column'])} " if finding["column"] else ""
            lines.append(f"- {column}{escape(finding['sentence'])}. {escape(finding['flag'])}".rstrip())
    lines += ["", f"## Easiest to change ({escape(best['method'])})", ""]
    for each in summary["predictions"][best["key"]]["least"][:5]:
        becomes = f", and {escape(each['prediction'])} becomes {escape(each['becomes'])}" if each["becomes"] else ""
        others = f" (and {escape(each['others'])} other features by less)" if each["others"] else ""
        named = f" ({escape(each['id'])})" if each["id"] is not None else ""
        where = f"Row {escape(each['row'])}{named} (radius {_radius(each['radius'], data['extent'])})"
        lines.append(f"- {where}: {escape(each['sentence'])}{others}{becomes}.")
    lines += counterfactual_lines(summary)
    lines += ["", "## Where this comes from", ""]
    lines += [f"- {escape(note)}" for note in [*summary["notes"], *summary.get("thinned", [])]]
    lines.append(
        f"- {escape(data['n_train'])} training rows, {escape(data['n_test'])} test rows, "
        f"{escape(data['n_columns'])} columns, {escape(data['n_classes'])} classes of {escape(data['target'])}; "
        f"SHA-256 of the data: `{escape(data['hash'] or '–')}`."
    )
    versions = ", ".join(f"{escape(k)} {escape(v)}" for k, v in summary["versions"].items())
    lines.append(f"- Made {escape(summary['created'])}" + (f" with {versions}." if versions else "."))
    return "\n".join(lines) + "\n"


def counterfactual_lines(summary: dict) -> list[str]:
    """What would have to change, of the least and the most certain rows."""
    explained = summary.get("counterfactuals")
    if not explained:
        return []
    method = next(model["method"] for model in summary["models"] if model["key"] == explained["model"])
    lines = [
        "",
        f"## What would have to change ({escape(method)})",
        "",
        f"The smallest changes{' within the range of the training rows' if explained['within_data'] else ''}, for "
        f"{len(explained['rows'])} of {explained['of']} test rows{_whole(explained)}. {explained['closest']} of "
        f"{explained['answers']} are proven to be the smallest, to {percent(explained['rounding'], 0)}."
        f"{_no_single(explained)}",
    ]
    for title, chosen in (("The least certain rows", explained["least"]), ("The most certain rows", explained["most"])):
        if not chosen:
            continue
        lines += ["", f"{title}:", ""]
        for each in (explained["rows"][k] for k in chosen):
            named = f" ({escape(each['id'])})" if each["id"] is not None else ""
            alone = each["single"]["sentence"] if each["single"] and each["status"] != "already" else ""
            single = f" {escape(alone[0].upper() + alone[1:])}." if alone else ""
            lines.append(f"- Row {escape(each['row'])}{named}: {escape(each['sentence'])}.{single}")
    return lines


def _no_single(explained: dict) -> str:
    """Why no change of one column alone is listed; nothing if there is one."""
    why = explained.get("no_single")
    return f" A change of one column alone was not looked for: {escape(why)}." if why else ""


def _whole(explained: dict) -> str:
    """The columns that stay whole; nothing if there are none."""
    if not explained["whole"]:
        return ""
    names = listed(map(escape, explained["whole"]), 8)
    return f"; whole numbers in {explained.get('whole_in', 'the rows of training')} stay whole ({names})"


def _row(name: str, scores: dict, median: str) -> str:
    """One line of the table of models."""
    kinds = ("accuracy", "balanced_accuracy", "attacked", "certified", "balanced_certified", "undecided")
    return f"| {escape(name)} | {' | '.join(percent(scores[kind]) for kind in kinds)} | {median} |"


def _radius(radius: float | None, extent: float | None) -> str:
    """A radius; one larger than the data themselves is said to be."""
    return "beyond the data" if radius is None or (extent and radius > extent) else number(radius)


def escape(value) -> str:
    """Escape text so that nothing in it is Markdown or HTML.

    >>> escape("a|b <i> [x](y)")
    'a\\\\|b &lt;i&gt; \\\\[x\\\\](y)'
    """
    safe = printable(" ".join(str(value).split())).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_~\[\]|#])", r"\\\1", safe)
