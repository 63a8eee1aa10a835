"""Lines of Markdown: what was allowed to move, and whether answers depend on sensitive columns."""

from collections.abc import Callable

from holdfast.numerics.formatting import number, percent
from holdfast.report.summary_format import units_of


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
